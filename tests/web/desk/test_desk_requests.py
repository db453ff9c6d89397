"""Regrade requests at the desk: the queue, answers, undo, and who may see what."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from grader.model.course import Role
from grader.model.requests import RegradeRequest
from grader.web.desk.access import AccessLinks, Person
from tests.helpers.browser import CHROMIUM, a_browser
from tests.helpers.commands import ok
from tests.helpers.desk import Reader, a_class, a_desk, form_of, signed_in
from tests.helpers.requests import WHY, request_file

PAGE = "/requests"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("desk")
    results = a_class(home)
    ok("requests", results, "--open", "--bank", home / "bank")
    ok("requests", results, request_file(results, "s3", "q1_why"))
    return home


@pytest.fixture
def results(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "results"


@pytest.fixture
def kim(results: Path) -> Iterator[Reader]:
    with a_desk(results) as links:
        yield signed_in(links["kim"])


def the_request(results: Path) -> RegradeRequest:
    with Gradebook.open(results) as book:
        (request,) = book.requests.every()
    return request


def points_of(results: Path) -> dict[str, float]:
    with Gradebook.open(results) as book:
        return {one.student: one.points for one in book.overrides()}


@pytest.mark.thorough
def test_a_request_is_shown_beside_the_mark_and_accepted(kim: Reader, results: Path) -> None:
    _, page = kim.get(PAGE)
    assert "1 open request" in page
    assert "of their own" in page, "the answer"
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    status, page = kim.send(PAGE, "/request", outcome="accept", points="3", reply="Yes.")
    assert status == 200
    assert "No requests are open" in page
    assert the_request(results).state == "accepted"
    assert points_of(results) == {"s3": 3}
    _, page = kim.post("/undo", form_of(page, "/undo"))
    assert "1 open request" in page
    assert points_of(results) == {}


@pytest.mark.thorough
def test_a_request_about_an_answer_that_a_person_graded_shows_that_mark(
    kim: Reader, results: Path
) -> None:
    kim.send("/student/s3", "/override", points="1", comment="x")  # another answer's mark stays
    fields = form_of(kim.get("/student/s3")[1].split('id="q1_why"')[1], "/override")
    kim.post("/override", {**fields, "points": "3", "comment": "Names half of it."})
    _, page = kim.get(PAGE)
    assert "Partly correct</span>, 3 of 4 points by kim" in page
    assert "Names half of it." in page
    assert "waiting for manual grading" not in page


def test_a_request_is_declined_and_opened_again(kim: Reader, results: Path) -> None:
    _, page = kim.send(PAGE, "/request", outcome="decline", reply="See the rubric.")
    assert the_request(results).state == "declined"
    assert points_of(results) == {}
    _, page = kim.post("/request", form_of(page, "/request"))
    assert "1 open request" in page
    assert "See the rubric." in {one.reply for one in the_request(results).answers}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "fields",
    [
        {"outcome": "accept", "points": "9", "reply": "?"},
        {"outcome": "accept", "points": "", "reply": "?"},
        {"outcome": "accept", "points": "nan", "reply": "?"},
        {"outcome": "accept", "points": "1", "reply": ""},
        {"outcome": "decline", "reply": " "},
        {"outcome": "decline", "reply": "x" * 10_001},
        {"outcome": "reopen"},
        {"outcome": "give", "reply": "?"},
        {"outcome": "accept", "points": "1", "reply": "?", "state": "old"},
        {"outcome": "accept", "points": "1", "reply": "?", "request": "99"},
    ],
)
def test_answers_that_do_not_fit_change_nothing(
    kim: Reader, results: Path, fields: dict[str, str]
) -> None:
    status, page = kim.send(PAGE, "/request", **fields)
    assert status == 400
    assert "Not done" in page
    assert the_request(results).state == "open"
    assert points_of(results) == {}


@pytest.mark.thorough
def test_two_people_in_one_request_lose_nothing(results: Path) -> None:
    people = {name: Person(id=name, role=Role.GRADER) for name in ("kim", "lin")}
    with a_desk(results, AccessLinks({f"token-{n}": p for n, p in people.items()})) as links:
        kim, lin = signed_in(links["kim"]), signed_in(links["lin"])
        theirs = form_of(lin.get(PAGE)[1], "/request")
        kim.send(PAGE, "/request", outcome="accept", points="3", reply="kim's")
        fields = {**theirs, "outcome": "decline", "reply": "lin's"}
        status, page = lin.post("/request", fields)
        assert status == 400
        assert "in the meantime" in page
        undo = form_of(kim.get(PAGE)[1], "/undo")
        token = form_of(lin.get("/part/sample/why")[1], "/grade")["form_token"]
        assert lin.post("/undo", {**undo, "form_token": token})[0] == 400, "not theirs"
    assert points_of(results) == {"s3": 3}


@pytest.mark.thorough
def test_a_mark_that_somebody_changed_meanwhile_is_not_replaced(kim: Reader, results: Path) -> None:
    old = form_of(kim.get(PAGE)[1], "/request")
    kim.send("/student/s3", "/override", points="1", comment="first part")
    kim.send("/part/sample/why?group=1", "/grade", points="2")
    kim.send("/part/sample/why?group=2", "/grade", points="2")
    status, page = kim.post("/request", {**old, "outcome": "accept", "points": "3", "reply": "?"})
    assert status == 400
    assert "changed this mark to 2 points" in page
    assert the_request(results).state == "open"


@pytest.mark.thorough
def test_sections_observers_and_strangers(results: Path) -> None:
    people = {
        "g": Person(id="gil", role=Role.GRADER, sections=("A",)),
        "o": Person(id="oda", role=Role.OBSERVER),
    }
    with a_desk(results, AccessLinks(people)) as links:
        gil, oda = signed_in(links["gil"]), signed_in(links["oda"])
        assert "No requests are open" in gil.get(PAGE)[1]
        token = form_of(gil.get("/part/sample/why")[1], "/grade")["form_token"]
        fields = {"request": 1, "outcome": "decline", "reply": "no", "form_token": token}
        assert gil.post("/request", fields)[0] == 400
        assert "Accept" not in oda.get(PAGE)[1]
        assert oda.post("/request", {"content": "{}"})[0] == 403
        stranger = Reader(links["gil"].partition("/enter")[0])
        assert stranger.get(PAGE)[0] == 403
        assert stranger.post("/request", fields)[0] == 403
    assert the_request(results).state == "open"


@pytest.mark.thorough
def test_pseudonyms_hold_in_requests(results: Path) -> None:
    text = "I am Student 4 (s4), please look again."
    ok("requests", results, request_file(results, "s4", "q1_why", text))
    with a_desk(results, anonymous=True) as links:
        _, page = signed_in(links["kim"]).get(PAGE)
    assert "please look again" in page
    assert "Student 4" not in page
    assert "(s4)" not in page


def test_a_file_is_pasted_at_the_desk(kim: Reader, results: Path) -> None:
    content = request_file(results, "s1", "q1_why").read_text()
    token = form_of(kim.get(PAGE)[1], "/request")["form_token"]
    fields = {"content": content, "form_token": token}
    assert "2 open requests" in kim.post("/request", fields)[1]
    fields["content"] = content.replace("q1_why", "q8_x")
    status, page = kim.post("/request", fields)
    assert status == 400
    assert "pasted text:8:" in page
    assert "no mark for" in page


@pytest.mark.thorough
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_from_the_students_form_to_the_answer(results: Path, tmp_path: Path) -> None:
    with a_desk(results) as links, a_browser(tmp_path / "profile") as browser:
        browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        browser.open((results / "feedback" / "s4.html").as_uri())
        browser.see("document.querySelector('#unfold')?.click()")
        browser.see(
            "document.querySelector('[data-request=q1_why]').closest('details').open = true"
        )
        browser.see("document.querySelector('[data-request=q1_why]').focus()")
        browser.press(*"Look again")
        browser.wait_for("!document.querySelector('[data-save]').disabled")
        assert "```json" in str(browser.see("document.querySelector('[data-issue]').value"))
        browser.see("document.querySelector('[data-save]').click()")
        path = tmp_path / "regrade-request-quiz-s4.json"
        end = time.monotonic() + 20
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert browser.complaints == []
        ok("requests", results, path)
        home = links["kim"].partition("/enter")[0]
        browser.open(links["kim"])
        browser.open(home + PAGE)
        browser.press("c")
        browser.wait_for("document.activeElement.name === 'reply'")
        browser.press(*"Yes")
        browser.see("document.activeElement.blur()")
        browser.press("p")
        browser.wait_for("document.activeElement.name === 'points'")
        browser.press("3")
        browser.see("document.activeElement.blur()")
        browser.press("a")
        browser.wait_for(
            "document.querySelectorAll('main > article').length === 1"
            " && document.readyState === 'complete'"
        )
        assert points_of(results) == {"s3": 3}, "the oldest request comes first"
        for address in (home + PAGE, (results / "feedback" / "s4.html").as_uri()):
            for width, dark in ((1200, False), (390, False), (390, True)):
                browser.open(address, width=width, dark=dark)
                found = browser.measure()
                assert found["scroll"] <= found["width"], (address, width, found["out"])
                assert found["pale"] == [], (address, dark)
        assert browser.complaints == []


def test_the_text_is_what_the_student_wrote(results: Path) -> None:
    assert the_request(results).text == WHY
