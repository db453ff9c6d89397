"""Accounts over HTTP: invitations, passwords, sign-in, and what ends it."""

from __future__ import annotations

import re
import shutil
import stat
import threading
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from grader.course.staff import StaffFile
from grader.errors import SetupError
from grader.web.desk import accounts as account_module
from grader.web.desk.accounts import AccountFile, hash_password, is_password
from grader.web.desk.sign_in import Accounts
from grader.web.safety import is_own_address
from tests.helpers.commands import fails, ok
from tests.helpers.desk import Reader, a_class, a_desk, ask

PASSWORD = "correct horse battery"
COURSE = """\
id: systems
time_zone: Europe/Berlin
sections: [A, B]
staff:
  kim: {role: instructor}
  gil: {role: grader, sections: [A]}
"""


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes of passwords that take a millisecond; they store their parameters."""
    monkeypatch.setattr(account_module, "_COST", 2**8)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("desk")
    a_class(home)
    return home


@dataclass
class Place:
    """A desk with accounts that runs, and its files."""

    home: Path
    address: str = ""
    time: list[float] = field(default_factory=lambda: [1_000_000.0])

    @property
    def course(self) -> Path:
        return self.home / "course.yaml"

    @property
    def file(self) -> Path:
        return self.home / "private" / "accounts.json"

    def invite(self, *people: str) -> dict[str, str]:
        """The paths of new invitations."""
        tokens = AccountFile(self.file).invite(people, self.time[0], days=7)
        return {id_: f"/invitation?token={token}" for id_, token in tokens.items()}

    def join(self, who: str) -> Reader:
        """Somebody who accepts an invitation."""
        reader, path = Reader(self.address), self.invite(who)[who]
        status, page = self.choose(reader, path)
        assert status == 200, page
        return reader

    def choose(self, reader: Reader, path: str, first: str = PASSWORD, again: str = "") -> tuple:  # type: ignore[type-arg]
        status, page = reader.get(path)
        assert status == 200, page
        token = path.partition("token=")[2]
        fields = {"token": token, "password": first, "again": again or first}
        return reader.post("/invitation", fields)

    def sign_in(self, id_: str, password: str = PASSWORD, **fields: str) -> tuple[Reader, int, str]:
        reader = Reader(self.address)
        return reader, *reader.post("/sign-in", {"id": id_, "password": password, **fields})


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Iterator[Place]:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    (tmp_path / "private").mkdir()
    found = Place(tmp_path)
    found.course.write_text(COURSE)
    entrance = Accounts(StaffFile(found.course), AccountFile(found.file), lambda: found.time[0])
    with a_desk(tmp_path / "results", entrance) as links:
        found.address = links[""]
        yield found


@pytest.mark.thorough
def test_an_invited_person_chooses_a_password_and_signs_in_with_it(place: Place) -> None:
    reader, path = Reader(place.address), place.invite("gil")["gil"]
    for first, again, said in (
        ("short", "", "too short"),
        ("a" * 20, "", "easy to guess"),
        (PASSWORD, "another password", "differ"),
    ):
        status, page = place.choose(reader, path, first, again)
        assert (status, said in page) == (400, True), page
    status, page = place.choose(reader, path)
    assert status == 200
    assert "gil, grader" in page
    assert reader.get(path)[0] == 403, "a link works once"
    assert PASSWORD not in place.file.read_text()
    assert path.partition("=")[2] not in place.file.read_text()
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o600

    other, status, page = place.sign_in("gil", next="/part/sample/why?group=1")
    assert status == 200
    assert "Answer 2 of" in page
    _, page = other.post("/sign-out", {"form_token": _token(other)})
    assert "Sign in to the desk" in page
    assert "gil, grader" in reader.get("/")[1], "one browser signs out, the other doesn't"


def _token(reader: Reader) -> str:
    return re.findall(r'name="form_token" value="([^"]*)"', reader.get("/")[1])[0]


def test_who_is_not_signed_in_comes_to_the_page_that_was_wanted(place: Place) -> None:
    status, headers, _ = ask(place.address, "GET", "/part/sample/why?group=1")
    assert status == 303
    assert headers["location"] == "/sign-in?next=%2Fpart%2Fsample%2Fwhy%3Fgroup%3D1"
    status, _, text = ask(place.address, "POST", "/grade", b"points=4")
    assert status == 403
    assert "nothing was saved" in text
    place.join("kim")
    for evil in ("//evil.example", "https://evil.example", "/\\evil.example"):
        body = urllib.parse.urlencode({"id": "kim", "password": PASSWORD, "next": evil}).encode()
        status, headers, _ = ask(place.address, "POST", "/sign-in", body)
        assert (status, headers["location"]) == (303, "/")


def test_a_wrong_account_looks_like_a_wrong_password(place: Place) -> None:
    place.join("kim")
    place.invite("gil")
    answers = set()
    for id_ in ("kim", "gil", "nobody", "<b>x</b>"):
        _, status, page = place.sign_in(id_, "a wrong password")
        assert "<b>x" not in page
        answers.add((status, re.sub(r'value="[^"]*"', "", page)))
    assert len(answers) == 1, answers


def test_the_page_that_was_asked_for_may_have_any_letters(place: Place) -> None:
    _, headers, _ = ask(place.address, "GET", "/student/jos%C3%A9?all=1")
    (wanted,) = urllib.parse.parse_qs(urllib.parse.urlsplit(headers["location"]).query)["next"]
    assert wanted == "/student/jos%C3%A9?all=1"
    assert is_own_address(wanted)


def test_guessing_is_slowed_down_for_accounts_that_exist_or_not(place: Place) -> None:
    place.join("kim")
    for id_ in ("kim", "nobody"):
        seen = [place.sign_in(id_, f"wrong {n}")[1] for n in range(7)]
        assert seen == [403] * 5 + [429] * 2
        _, headers, text = ask(place.address, "POST", "/sign-in", f"id={id_}".encode())
        assert "retry-after" in headers
        assert "Try again in 1 seconds" in text or "Try again in 1 second" in text
        place.time[0] += 1
        assert place.sign_in(id_, "wrong")[1] == 403
        assert place.sign_in(id_, PASSWORD)[1] == 429, "the right one waits, too"
        place.time[0] += 2
    assert place.sign_in("kim")[1] == 200
    assert place.sign_in("kim", "wrong")[1] == 403, "the count starts again"


def test_one_address_cannot_try_many_accounts(place: Place) -> None:
    seen = [place.sign_in(f"person{n}", "wrong")[1] for n in range(22)]
    assert seen == [403] * 20 + [429] * 2
    assert Reader(place.address).get("/invitation?token=x")[0] == 429, "tokens count, too"


def test_attempts_at_the_same_time_do_not_get_around_the_limit(place: Place) -> None:
    place.join("kim")
    seen: list[int] = []
    threads = [
        threading.Thread(target=lambda: seen.append(place.sign_in("kim", "wrong")[1]))
        for _ in range(12)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(seen) == [403] * 5 + [429] * 7


def test_leaving_the_staff_ends_access_at_once(place: Place) -> None:
    gil, kim = place.join("gil"), place.join("kim")
    assert gil.get("/students")[0] == 200
    place.course.write_text(COURSE.replace("role: grader", "role: observer"))
    assert gil.post("/grade", {"form_token": _token(gil)})[0] == 403
    assert "gil, observer" in gil.get("/")[1]
    place.course.write_text(COURSE.partition("  gil:")[0])
    assert "Sign in to the desk" in gil.get("/students")[1]
    assert place.sign_in("gil")[1] == 403
    assert kim.get("/")[0] == 200
    place.course.write_text(COURSE)
    assert "Sign in to the desk" in gil.get("/students")[1], "the session is over"
    assert place.sign_in("gil")[1] == 200


def test_a_new_invitation_ends_sessions_and_the_old_password(place: Place) -> None:
    gil = place.join("gil")
    first = place.invite("gil")["gil"]
    assert "Sign in to the desk" in gil.get("/")[1]
    assert place.sign_in("gil")[1] == 403
    second = place.invite("gil")["gil"]
    assert Reader(place.address).get(first)[0] == 403
    place.time[0] += 8 * 86_400
    assert Reader(place.address).get(second)[0] == 403, "it is too old"


def test_an_invitation_of_somebody_who_left_is_void(place: Place) -> None:
    path = place.invite("gil")["gil"]
    place.course.write_text(COURSE.partition("  gil:")[0])
    assert Reader(place.address).get(path)[0] == 403
    fields = {"token": path.partition("=")[2], "password": PASSWORD, "again": PASSWORD}
    assert Reader(place.address).post("/invitation", fields)[0] == 403


def test_forms_of_other_sites_sign_nobody_in(place: Place) -> None:
    place.join("kim")
    path = place.invite("gil")["gil"]
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        reader = Reader(place.address)
        assert reader.post("/sign-in", {"id": "kim", "password": PASSWORD}, **headers)[0] == 403
        token = path.partition("=")[2]
        fields = {"token": token, "password": PASSWORD, "again": PASSWORD}
        assert reader.post("/invitation", fields, **headers)[0] == 403
        assert reader.cookies() == set()
    assert Reader(place.address).post("/sign-in", {"id": "x" * 400_000})[0] == 413
    assert Reader(place.address).get(path)[0] == 200


def test_a_broken_course_file_stops_everybody_until_it_is_repaired(place: Place) -> None:
    kim = place.join("kim")
    place.course.write_text("staff: [")
    status, text = kim.get("/")
    assert status == 503
    assert "course.yaml" not in text
    assert place.sign_in("kim")[1] == 503
    place.course.write_text(COURSE)
    assert kim.get("/")[0] == 200


def test_accounts_that_others_can_read_are_refused(place: Place) -> None:
    kim = place.join("kim")
    place.file.chmod(0o644)
    text = place.file.read_text()
    place.file.write_text(text + " ")
    assert kim.get("/")[0] == 503
    with pytest.raises(SetupError, match="other users of this machine"):
        AccountFile(place.file).accepts("kim", PASSWORD)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "x"}', "\0", '{"people": 3}'])
def test_a_file_that_is_something_else_is_said_plainly(tmp_path: Path, text: str) -> None:
    path = tmp_path / "accounts.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(SetupError, match="not a file with accounts"):
        AccountFile(path).invite(["kim"], 0, 7)
    assert path.read_text() == text


def test_passwords_are_compared_however_the_keyboard_composes_them() -> None:
    stored = hash_password("Caf\u00e9 au lait, bitte")
    assert stored != hash_password("Caf\u00e9 au lait, bitte"), "each has its salt"
    assert is_password("Cafe\u0301 au lait, bitte", stored)
    for wrong in ("", "Cafe au lait, bitte", "\udc80"):
        assert not is_password(wrong, stored)
    assert not is_password("", "")


@pytest.mark.thorough
def test_hashes_are_as_expensive_as_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    stored = hash_password(PASSWORD)
    assert stored.startswith("scrypt$32768$8$3$")
    assert is_password(PASSWORD, stored)


def test_behind_a_proxy_cookies_are_for_https_alone(place: Place, made: Path) -> None:
    entrance = Accounts(StaffFile(place.course), AccountFile(place.file), lambda: place.time[0])
    place.join("kim")
    body = urllib.parse.urlencode({"id": "kim", "password": PASSWORD}).encode()
    hosts = ("grading.example.edu",)
    with a_desk(made / "results", entrance, hosts=hosts, behind_proxy=True) as links:
        here = {"Host": "grading.example.edu", "X-Forwarded-For": "203.0.113.9"}
        status, headers, text = ask(links[""], "POST", "/sign-in", body, **here)
        assert status == 400
        assert "X-Forwarded-Proto" in text
        https = {**here, "X-Forwarded-Proto": "https", "Origin": "https://grading.example.edu"}
        status, headers, _ = ask(links[""], "POST", "/sign-in", body, **https)
        assert status == 303
        cookie = headers["set-cookie"]
        assert {"Secure", "HttpOnly", "SameSite=lax"} <= set(cookie.split("; ")), cookie
        wrong = body.replace(b"kim", b"lou")
        for n in range(20):
            ask(links[""], "POST", "/sign-in", wrong.replace(b"lou", b"p%d" % n), **https)
        assert ask(links[""], "POST", "/sign-in", body, **https)[0] == 429
        https["X-Forwarded-For"] = "198.51.100.7"
        assert ask(links[""], "POST", "/sign-in", body, **https)[0] == 303, "another address"


def test_without_a_proxy_nobody_believes_forwarded_headers(place: Place) -> None:
    for n in range(20):
        forged = {"X-Forwarded-For": f"203.0.113.{n}", "X-Forwarded-Proto": "https"}
        ask(place.address, "POST", "/sign-in", f"id=p{n}&password=x".encode(), **forged)
    assert place.sign_in("another", "wrong")[1] == 429


def test_the_command_invites_who_has_no_password(place: Place) -> None:
    command = ("course", "invite", "--accounts", place.file, "--address", "http://x.example/")
    course = ("--course", place.course)
    ok(*command, *course)
    place.join("kim")
    lines = ok(*command, *course).stdout.splitlines()
    assert [line.partition("=")[0] for line in lines] == ["gil: http://x.example/invitation?token"]
    (line,) = ok(*command, "kim", *course).stdout.splitlines()
    assert line.startswith("kim: ")
    assert place.sign_in("kim")[1] == 403, "the password was reset"


def test_the_commands_refuse_what_is_not_safe(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    course = ("--course", place.course)
    invite = ("course", "invite", "--accounts", place.file, *course)
    assert "no staff member 'lou'" in fails(
        capsys, *invite, "lou", "--address", "https://x.example"
    )
    assert "not an address" in fails(capsys, *invite, "--address", "x.example")
    desk = ("desk", place.home / "results")
    accounts = ("--accounts", place.file)
    assert "--course FILE" in fails(capsys, *desk, *accounts)
    public = ("--host", "0.0.0.0", "--name", "x.example")
    assert "--proxy ADDRESS" in fails(capsys, *desk, *accounts, *course, *public)
    inside = ("--accounts", place.home / "results" / "accounts.json")
    assert "no place for" in fails(capsys, *desk, *inside, *course)
    assert "let JupyterHub start it" in fails(capsys, *desk, "--hub", *course)
