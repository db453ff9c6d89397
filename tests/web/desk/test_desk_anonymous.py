"""Anonymous grading: no page, address, or header of the desk shows who may not see it a name."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from grader.grading.sources import NOTICES
from grader.model.course import Role
from grader.web.desk.access import AccessLinks, Person
from tests.helpers.banks import ESSAY, a_bank
from tests.helpers.commands import ok
from tests.helpers.desk import Reader, a_desk, ask, form_of, signed_in
from tests.helpers.requests import request_file

ROSTER = """\
id,name,email,section
al123,Ada Lovelace,countess@analytical.example,A
gh7,Grace Brewster Hopper,grace.hopper@navy.example,A
kj55,Katherine Johnson,kj@langley.example,B
"""
WHY = "/part/sample/why?group=0"
# A part of each id, name, address, and file name of the class.
NAMES = re.compile(
    r"al123|gh7|kj55|ada\b|lovelace|countess|analytical|grace|brewster|hopper|navy|kather|kitty"
    r"|johnson|langley|amazing",
    re.IGNORECASE,
)
# Random, so that it may contain an id by chance.
TOKEN = re.compile(r"[\w-]{32,}")
TEXTS = {
    "al123": "Ada here: the lock. ADA LOVELACE, al123",
    "gh7": "Grace thinks that ada lovelace <is right>; mail Grace.Hopper@navy.example",
    "kj55": "See Katherine's notes. The lock, says Johnson.",
}
FILES = {
    "al123": ["Ada Lovelace final (2).ipynb", "my-amazing-exam.ipynb"],
    "gh7": ["hopper_grace_hw1.ipynb", "broken-brewster.ipynb"],
    "kj55": ["Kitty's exam.ipynb"],
}
PEOPLE = {
    "oda": Person(id="oda", role=Role.OBSERVER),
    "gil": Person(id="gil", role=Role.GRADER, sections=("A",)),
    "hao": Person(id="hao", role=Role.HEAD_GRADER),
    "kim": Person(id="kim", role=Role.INSTRUCTOR),
}


def lines_with_names(text: str) -> list[str]:
    return [line for line in text.splitlines() if NAMES.search(TOKEN.sub("", line))]


@dataclass
class Browser:
    """Somebody's session, with everything that the desk has answered."""

    link: str
    cookie: str = ""
    answers: str = ""

    def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, str]:
        status, headers, text = ask(self.link, method, path, body, Cookie=self.cookie)
        self.cookie = headers.get("set-cookie", self.cookie).partition(";")[0]
        self.answers += f"\n{method} {path.partition('?token')[0]} {status} {headers}\n{text}"
        return status, text

    def visit(self) -> set[str]:
        """Opens every page that a page links to; returns the addresses."""
        done: set[str] = set()
        found = {"/"}
        while found - done:
            path = sorted(found - done)[0]
            done.add(path)
            _, text = self.ask("GET", path)
            links = (link.replace("&amp;", "&") for link in re.findall(r'href="([^"]*)"', text))
            found |= {link.partition("#")[0] for link in links if link.startswith("/")}
        return done


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("desk")
    bank = a_bank(home / "bank", ESSAY)
    (home / "roster.csv").write_text(ROSTER)
    ok(
        "render", "quiz", "--roster", home / "roster.csv", "--out", home / "release",
        "--bank", bank,
    )  # fmt: skip
    for id_, text in TEXTS.items():
        solved = home / "solved.ipynb"
        ok("solve", home / "release", "--student", id_, "--out", solved, "--bank", bank)
        data = json.loads(solved.read_text())
        cell = next(c for c in reversed(data["cells"]) if c["cell_type"] == "code")
        source = f"# by {TEXTS[id_]}\nq1_why = {text!r}"
        data["cells"].append({**cell, "id": "added", "source": source, "metadata": {}})
        for name in FILES[id_]:
            path = home / "in" / id_ / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{" if "broken" in name else json.dumps(data))
    ok(
        "grade", home / "in", "--release", home / "release", "--out", home / "results",
        "--bank", bank,
    )  # fmt: skip
    results = home / "results"
    ok("requests", results, "--open", "--bank", bank)
    ok("requests", results, request_file(results, "al123", "q1_why", "Ada asks; al123."))
    arguments = ("--student", "kj55", "--answer", "q1_why", "--points", "1")
    ok("mark", results, *arguments, "--why", "Katherine Johnson named the lock")
    with Gradebook.open(results) as book:
        book.record("checked", by="kim", why="'Kitty's amazing exam (2).ipynb', read by hand")
        notices = book.setting(NOTICES)
        assert isinstance(notices, list)
        text = "the newest is graded, not my-amazing exam.ipynb"
        mine = next(one for one in notices if one["student"] == "al123")
        book.set_setting(NOTICES, [*notices, {**mine, "level": "warning", "text": text}])
    return results


@pytest.fixture
def browsers(results: Path) -> Iterator[dict[str, Browser]]:
    access = AccessLinks({f"token-{id_}": one for id_, one in PEOPLE.items()})
    with a_desk(results, access, anonymous=True) as links:
        found = {id_: Browser(link) for id_, link in links.items()}
        for one in found.values():
            one.ask("GET", one.link[one.link.index("/enter") :])
        yield found


@pytest.mark.thorough
def test_nobody_sees_a_name_on_any_page(browsers: dict[str, Browser]) -> None:
    for who, one in browsers.items():
        seen = one.visit()
        assert len([path for path in seen if path.startswith("/student/")]) >= 6, seen
        assert ("/audit" in seen) == (who in ("hao", "kim"))
        one.ask("GET", "/student/nobody")
        one.ask("GET", "/part/sample/nothing")
        assert "graded, [file name]" in one.answers, "a warning names a file"
        assert not lines_with_names(one.answers), who


@pytest.mark.thorough
def test_what_people_do_shows_no_name_either(browsers: dict[str, Browser]) -> None:
    kim = browsers["kim"]
    _, page = kim.ask("GET", "/requests")
    token = form_of(page, "/sign-out")["form_token"][0]
    for path in ("/write", "/request", "/grade", "/override", "/undo", "/item"):
        kim.ask("POST", path, f"form_token={token}&problem=sample&part=why".encode())
    text = json.dumps({"format": "grader-regrade-request/1", "student": "al123"})
    kim.ask("POST", "/request", f"form_token={token}&content={text}".encode())
    assert "Grades and feedback pages written" in kim.answers
    assert not lines_with_names(kim.answers)


def test_an_instructor_can_show_the_names_and_the_log_says_so(
    browsers: dict[str, Browser], results: Path
) -> None:
    kim, gil = browsers["kim"], browsers["gil"]
    _, page = kim.ask("GET", "/")
    assert "Show names" in page
    token = form_of(page, "/names")["form_token"][0]
    kim.ask("POST", "/names", f"form_token={token}&show=1".encode())
    _, page = kim.ask("GET", "/students")
    assert "Ada Lovelace" in page
    assert "Hide names" in page
    _, page = gil.ask("GET", "/students")
    assert not lines_with_names(page), "the others still don't see them"
    with Gradebook.open(results) as book:
        assert [(one.what, one.who) for one in book.audit()][-1] == ("names shown", "kim")
    kim.ask("POST", "/names", f"form_token={token}".encode())
    assert not lines_with_names(kim.ask("GET", "/students")[1])
    for who in ("gil", "hao", "oda"):
        _, page = browsers[who].ask("GET", "/")
        assert "Show names" not in page
        token = form_of(page, "/sign-out")["form_token"][0]
        assert browsers[who].ask("POST", "/names", f"form_token={token}&show=1".encode())[0] == 403


@pytest.mark.thorough
def test_a_saved_comment_keeps_its_names_and_words(results: Path) -> None:
    words = "Take the gh7 lock,\nas Ada Lovelace says."
    access = AccessLinks({f"token-{id_}": one for id_, one in PEOPLE.items()})

    def choice(at: Reader) -> tuple[dict[str, list[str]], str]:
        page = at.get(WHY)[1]
        shown = re.search(r'<textarea name="comment"[^>]*>(.*?)</textarea>', page, re.DOTALL)
        assert shown
        assert not lines_with_names(shown[1])
        return form_of(page, "/grade"), html.unescape(shown[1])

    def stored() -> set[str]:
        with Gradebook.open(results) as book:
            return {one.reason for one in book.overrides()}

    with a_desk(results, access, anonymous=True) as links:
        hao, kim = signed_in(links["hao"]), signed_in(links["kim"])
        fields, _ = choice(hao)
        assert hao.post("/grade", {**fields, "points": "1", "comment": words})[0] == 200
        fields, shown = choice(hao)
        sent = {**fields, "points": "2", "comment": shown.replace("\n", "\r\n")}
        assert hao.post("/grade", sent)[0] == 200
        assert words in stored()
        # Somebody else's comment in the meantime: the form shows what kim sent.
        fields, shown = choice(kim)
        assert hao.send(WHY, "/grade", points="1", comment="See kj55.")[0] == 200
        for comment in ("gh7 is right", shown):
            status, page = kim.post("/grade", {**fields, "points": "2", "comment": comment})
            assert status == 409
            assert f">{html.escape(comment)}</textarea>" in page
        again = form_of(page, "/grade")
        assert kim.post("/grade", {**again, "points": "2", "comment": shown})[0] == 200
        assert words in stored()
