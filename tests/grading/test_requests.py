"""Regrade requests: the files that are taken in or refused, and what goes back to the student."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from grader.gradebook import Gradebook
from grader.integrations.github.actions import feedback_files
from grader.model.desk import AnswerToDecide
from grader.model.exported import Result
from tests.helpers.commands import fails, ok
from tests.helpers.desk import a_class
from tests.helpers.report import a_feedback
from tests.helpers.requests import WHY, form_data, request_file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("requests")
    results = a_class(home)
    ok("requests", results, "--open", "--bank", home / "bank")
    return home


@pytest.fixture
def results(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "results"


def _asked(results: Path) -> list[tuple[str, str, str]]:
    with Gradebook.open(results) as book:
        return [(one.student, one.name, one.text) for one in book.requests.every()]


@pytest.mark.thorough
def test_a_file_is_taken_in_once(results: Path) -> None:
    path = request_file(results, "s3", "q1_why")
    assert "1 new request" in ok("requests", results, path).output
    assert "0 new requests" in ok("requests", results, path).output
    assert _asked(results) == [("s3", "q1_why", WHY)]
    assert "q1_why" in ok("requests", results).output
    (line,) = json.loads(ok("requests", results, "--json").stdout)
    assert line["state"] == "open"


def test_the_text_of_an_issue_is_read(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = request_file(results, "s3", "q1_why")
    issue = results.parent / "issue.md"
    issue.write_text(f"Regrade request\r\n\r\n```json\r\n{path.read_text()}\r\n```\r\nThanks!")
    ok("requests", results, issue)
    assert _asked(results) == [("s3", "q1_why", WHY)]
    broken = path.read_text().replace('"part": "q1_why"', '"part": "q9_x"')
    issue.write_text(f"Regrade request\n\n```json\n{broken}\n```\n")
    assert "issue.md:11:" in fails(capsys, "requests", results, issue)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"student": "s1"}, "does not come from the feedback page of 's1'"),
        ({"student": "s1"}, "if the page is from other results, name their folder"),
        ({"student": "nobody"}, "does not come from the feedback page of 'nobody'"),
        ({"token": ""}, "does not come from the feedback page"),
        ({"token": "\ud800"}, "not valid Unicode"),
        ({"set": "final"}, "for the set 'final'"),
        ({"requests": []}, "0 requests"),
        ({"requests": [{"part": "q7_x", "text": "?"}]}, "no mark for 'q7_x'"),
        ({"requests": [{"part": "q1_why", "text": " "}]}, "0 characters"),
        ({"requests": [{"part": "q1_why", "text": "x" * 4001}]}, "4,001 characters"),
        ({"requests": [{"part": "q1_why", "text": "x"}] * 101}, "101 requests"),
        ({"requests": [{"part": "q1_why", "text": 3}]}, "text"),
        ({"requests": "all"}, "requests"),
        ({"points": 100}, "points"),
        ({"format": "2"}, "format"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(
    results: Path, changes: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = request_file(results, "s3", "q1_why", **changes)
    text = fails(capsys, "requests", results, path)
    assert said in text
    line = text.split(f"{path.name}:", 1)[1]
    assert line.split(":")[0].isdecimal(), "the line is named"
    assert line.split(":")[1].isdecimal(), "the column is named"
    assert _asked(results) == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not JSON"),
        (b'{"format": ', ":1:12: not JSON"),
        (b"\n\n  \xff", ":3:3: the file is not UTF-8"),
        (b"[" * 90_000, "nested too deeply"),
        (b'{"a": 1, "a": 2}', "a key is repeated"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b"[]", "expected keys and values"),
        (b" " * 300_000, "more than 200,000 bytes"),
    ],
)
def test_damaged_files_are_refused(
    results: Path, capsys: pytest.CaptureFixture[str], data: bytes, said: str
) -> None:
    path = results.parent / "odd.json"
    path.write_bytes(data)
    assert said in fails(capsys, "requests", results, path)


def test_a_folder_as_macos_and_windows_leave_it_is_read(results: Path) -> None:
    folder = results.parent / "requests"
    folder.mkdir()
    made = request_file(results, "s3", "q1_why")
    shutil.move(made, folder / "REQUEST.JSON")
    (folder / "._request.json").write_bytes(b"\0\5\x16\7")
    done = ok("requests", results, folder)
    assert "1 file: 1 new request." in done.output


def test_one_bad_file_stores_nothing(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = results.parent / "requests"
    folder.mkdir()
    shutil.move(request_file(results, "s3", "q1_why"), folder)
    shutil.move(request_file(results, "s4", "q9_x"), folder)
    fails(capsys, "requests", results, folder)
    assert _asked(results) == []


def _answer(results: Path, outcome: str) -> None:
    with Gradebook.open(results) as book:
        grade = book.grade("s3")
        assert grade is not None
        mark = next(mark for mark in grade.marks if mark.name == "q1_why")
        (request,) = book.requests.every()
        if outcome == "declined":
            book.requests.decline(request.number, "No: <b>see</b> the rubric.", by="kim")
            return
        answer = AnswerToDecide(
            student="s3",
            name="q1_why",
            max_points=mark.max_points,
            engine_points=mark.points,
            last_decision=0,
        )
        book.requests.accept(request.number, answer, 3, "Yes, <b>you</b> named it.", by="kim")


def _page_and_grade(results: Path) -> tuple[str, dict[str, Any]]:
    ok("report", results, "--bank", results.parent / "bank")
    page = (results / "feedback" / "s3.html").read_text()
    return page, json.loads((results / "grades" / "s3.json").read_text())


@pytest.mark.parametrize("outcome", ["accepted", "declined"])
def test_the_answer_goes_back_to_the_student(results: Path, outcome: str) -> None:
    ok("requests", results, request_file(results, "s3", "q1_why"))
    page, grade = _page_and_grade(results)
    assert grade["regrade_requests"][0]["state"] == "open"
    before = grade["score"]
    _answer(results, outcome)
    page, grade = _page_and_grade(results)
    (line,) = grade["regrade_requests"]
    assert line["state"] == outcome
    assert "kim" not in json.dumps(line), "students don't see who answered"
    assert "<script>alert(1)" not in page
    assert "&lt;b&gt;" in page
    assert f'<span class="tag">{outcome}</span>' in page
    assert (grade["score"] != before) == (outcome == "accepted")
    with Gradebook.open(results) as book:
        said = [(line.what, line.who) for line in book.audit()]
    assert ("regrade requested", "s3") in said
    assert (f"regrade request {outcome}", "kim") in said


def test_undo_opens_the_request_again(results: Path) -> None:
    ok("requests", results, request_file(results, "s3", "q1_why"))
    _answer(results, "accepted")
    with Gradebook.open(results) as book:
        (request,) = book.requests.every()
        assert request.answer is not None
        assert request.answer.batch is not None
        book.double.undo(request.answer.batch, by="kim", may=lambda *_: True)
        (request,) = book.requests.every()
        assert request.state == "open"
        assert len(request.answers) == 1, "the history keeps it"
        assert book.overrides() == ()
        book.requests.decline(request.number, "no", by="kim")
        book.requests.reopen(request.number, by="kim")
        (request,) = book.requests.every()
        assert request.state == "open"
        assert len(request.answers) == 2


def test_without_requests_nothing_on_the_pages_changes(results: Path) -> None:
    ok("requests", results, "--close", "--bank", results.parent / "bank")
    for path in (results / "feedback").iterdir():
        assert "request" not in path.read_text().partition("</style>")[2]
    assert "regrade_requests" not in (results / "grades" / "s3.json").read_text()


def test_a_token_is_of_one_student_and_not_in_the_audit_log(results: Path) -> None:
    tokens = {form_data(results, f"s{n}")["token"] for n in range(5)}
    assert len(tokens) == 5
    with Gradebook.open(results) as book:
        secret = str(book.setting("request_secret"))
        assert not any(secret in str(line.detail) for line in book.audit())


def test_a_gradebook_without_the_tables_gets_them(results: Path) -> None:
    with sqlite3.connect(results / "gradebook.sqlite") as connection:
        connection.execute("DROP TABLE request_answers")
        connection.execute("DROP TABLE requests")
        connection.execute("UPDATE schema_version SET version = 1")
    connection.close()
    assert _asked(results) == []


def test_the_readme_in_a_repository_leads_to_an_issue(results: Path) -> None:
    page = results / "feedback" / "ada.html"
    result = Result(feedback=a_feedback())
    for body, leads in ((b"<p>no form</p>", False), (b'<h2 id="requests">Requests</h2>', True)):
        page.write_bytes(body)
        readme = feedback_files(result, results)["README.md"]
        assert (b"../../issues/new" in readme) == leads
