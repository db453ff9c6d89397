"""The desk over HTTP: grading in groups, rubrics, changed marks, undo, and who may do what."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from grader.model.course import Role
from grader.model.desk import PartId
from grader.web.desk.access import AccessLinks, Person
from tests.helpers.commands import ok
from tests.helpers.desk import Reader, a_desk, form_of, signed_in

WHY = "/part/sample/why"
PART = PartId("sample", "why")


@pytest.fixture
def kim(results: Path) -> Iterator[Reader]:
    with a_desk(results) as links:
        yield signed_in(links["kim"])


def points_of(results: Path) -> dict[str, float]:
    with Gradebook.open(results) as book:
        return {one.student: one.points for one in book.overrides()}


def add_item(reader: Reader, text: str, points: str) -> None:
    token = form_of(reader.get(WHY)[1], "/item")["form_token"]
    fields = {"problem": "sample", "part": "why", "text": text, "points": points}
    assert reader.post("/item", {**fields, "form_token": token})[0] == 200


def test_equal_answers_are_graded_together(kim: Reader, results: Path) -> None:
    _, page = kim.get(WHY)
    assert "Answer 1 of 3" in page
    assert "3 students" in page
    status, page = kim.send(WHY, "/grade", points="3", comment="Names the cause.")
    assert status == 200
    assert "2 answers left" in page
    assert points_of(results) == {"s0": 3, "s1": 3, "s2": 3}


@pytest.mark.thorough
def test_a_rubric_item_that_changes_changes_all_who_have_it(kim: Reader, results: Path) -> None:
    add_item(kim, "names the lock", "2")
    add_item(kim, "says what waits", "1")
    items = [one.number for one in _items(results)]
    kim.send(WHY, "/grade", item=items)
    assert set(points_of(results).values()) == {3}
    fields = {"problem": "sample", "part": "why", "number": items[0], "text": "names it"}
    token = form_of(kim.get(WHY)[1], "/item")["form_token"]
    kim.post("/item", {**fields, "points": "0.5", "form_token": token})
    assert set(points_of(results).values()) == {1.5}
    with Gradebook.open(results) as book:
        assert "names it" in book.overrides()[0].reason


def _items(results: Path) -> tuple:  # type: ignore[type-arg]
    with Gradebook.open(results) as book:
        return book.rubrics.items(PART)


def test_the_sum_stays_between_zero_and_the_maximum(kim: Reader, results: Path) -> None:
    for text, points in (("all of it", "4"), ("an example", "1"), ("wrong term", "-4")):
        add_item(kim, text, points)
    all_of_it, example, wrong = (one.number for one in _items(results))
    kim.send(WHY, "/grade", item=[all_of_it, example])
    assert set(points_of(results).values()) == {4}
    kim.send(f"{WHY}?group=1", "/grade", item=[example, wrong])
    assert set(points_of(results).values()) == {4, 0}


@pytest.mark.thorough
def test_undo_brings_back_what_was_there_before(kim: Reader, results: Path) -> None:
    kim.send(WHY, "/grade", points="3")
    _, page = kim.send(f"{WHY}?group=0", "/grade", points="1")
    assert set(points_of(results).values()) == {1}
    kim.post("/undo", form_of(page, "/undo"))
    assert set(points_of(results).values()) == {3}
    with Gradebook.open(results) as book:
        first = min(one.batch for one in book.decisions.current().values())
    kim.post("/undo", {**form_of(page, "/undo"), "batch": first})
    assert points_of(results) == {}


@pytest.mark.thorough
def test_two_people_in_one_answer_lose_nothing(results: Path) -> None:
    people = {name: Person(id=name, role=Role.GRADER) for name in ("kim", "lin")}
    with a_desk(results, AccessLinks({f"token-{n}": p for n, p in people.items()})) as links:
        kim, lin = signed_in(links["kim"]), signed_in(links["lin"])
        theirs = form_of(lin.get(WHY)[1], "/grade")
        kim.send(WHY, "/grade", points="3", comment="kim's")
        _, page = lin.post("/grade", {**theirs, "points": "1", "comment": "lin's"})
    assert "Some answers were not saved, because kim graded them in the meantime" in page
    assert set(points_of(results).values()) == {3}


def test_a_changed_mark_shows_the_graders_own_and_survives_a_regrade(
    kim: Reader, results: Path
) -> None:
    kim.send("/student/s0", "/override", points="0.5", comment="Wrong unit, see lecture 3.")
    _, page = kim.get("/student/s0")
    assert "by kim; automatic grade: 2" in page
    ok("score", results, "--bank", results.parent / "bank")
    grade = json.loads((results / "grades" / "s0.json").read_text())
    assert grade["marks"][0]["points"] == 0.5
    assert "Wrong unit, see lecture 3." in grade["marks"][0]["feedback"]


def test_a_decision_stays_when_the_graders_mark_changes_and_the_page_says_so(
    kim: Reader, results: Path
) -> None:
    kim.send("/student/s0", "/override", points="0.5", comment="see lecture 3")
    with Gradebook.open(results) as book:
        grade = book.grade("s0")
        assert grade is not None
        first = replace(grade.marks[0], points=1.0)
        book.put_grades([replace(grade, marks=(first, *grade.marks[1:]))], why="corrected")
    _, page = kim.get("/student/s0")
    assert "has changed since kim decided; it was 2 then" in page
    assert points_of(results) == {"s0": 0.5}


def test_what_students_write_is_text(kim: Reader) -> None:
    for path in (f"{WHY}?group=1", f"{WHY}?group=2", "/student/s3"):
        _, page = kim.get(path)
        assert "<script>alert" not in page
        assert "<b>processes" not in page


def test_without_the_link_nothing_can_be_read_or_written(results: Path) -> None:
    with a_desk(results) as links:
        address = links["kim"].partition("/enter")[0]
        stranger = Reader(address)
        before = points_of(results)
        for path in ("/", "/students", "/student/s0", WHY, "/audit", "/enter?token=", "/enter"):
            status, text = stranger.get(path)
            assert status == 403
            assert "Student" not in text
        for path in ("/grade", "/override", "/item", "/undo", "/write"):
            status, _ = stranger.post(path, {"points": "4"})
            assert status == 403
        assert points_of(results) == before
        kim = signed_in(links["kim"])
        fields = form_of(kim.get(WHY)[1], "/grade")
        other = {**fields, "form_token": "x", "points": "4"}
        assert kim.post("/grade", other)[0] == 403
        assert kim.get("/", Host="evil.example")[0] == 400
        assert kim.post("/grade", {**fields, "comment": "x" * 3_000_000})[0] == 413
        assert points_of(results) == before


def test_roles_and_sections(results: Path) -> None:
    people = {
        "o": Person(id="oda", role=Role.OBSERVER),
        "g": Person(id="gil", role=Role.GRADER, sections=("A",)),
    }
    with a_desk(results, AccessLinks(people)) as links:
        oda, gil = signed_in(links["oda"]), signed_in(links["gil"])
        assert "Save for" not in oda.get(WHY)[1]
        assert oda.post("/grade", {})[0] == 403
        assert gil.get("/audit")[0] == 403
        assert "/student/s1" not in gil.get("/students")[1]
        assert gil.get("/student/s1")[0] == 400
        gil.send(WHY, "/grade", points="2")
    assert set(points_of(results)) == {"s0", "s2"}, "section B is untouched"


def test_anonymous_grading_shows_no_name_anywhere(results: Path) -> None:
    with a_desk(results, anonymous=True) as links:
        kim = signed_in(links["kim"])
        _, page = kim.get("/students")
        someone = page.split('href="/student/')[1].split('"')[0]
        pages = [page, kim.get("/")[1], kim.get(WHY)[1], kim.get(f"/student/{someone}")[1]]
        for text in pages:
            assert "Student 0" not in text
            assert not any(f">{id_}<" in text or f"({id_})" in text for id_ in ("s0", "s1"))
        kim.send(WHY, "/grade", points="2")
        assert kim.get("/student/s0")[0] == 400
    assert set(points_of(results)) == {"s0", "s1", "s2"}


@pytest.mark.parametrize("points", ["5", "-1", "many", "nan", "inf", "1e999"])
def test_points_that_cannot_be_given_are_refused(kim: Reader, results: Path, points: str) -> None:
    status, page = kim.send(WHY, "/grade", points=points)
    assert status == 400
    assert "enter a number" in page.casefold()
    assert points_of(results) == {}


def test_odd_forms_and_addresses_are_refused_without_a_traceback(kim: Reader) -> None:
    token = form_of(kim.get(WHY)[1], "/grade")["form_token"]
    for path in ("/grade", "/override", "/item", "/undo", "/write"):
        for fields in ({}, {"answer": "x"}, {"problem": "\0", "part": "'"}, {"batch": "9" * 99}):
            status, text = kim.post(path, {**fields, "form_token": token})
            assert status in (200, 400, 404), (path, fields, text)
            assert "Traceback" not in text
    for path in ("/part/x/y", "/student/%00", "/part/sample/why?group=99999999999999999999"):
        assert kim.get(path)[0] in (200, 400, 404)


def test_the_files_are_written_from_the_decisions(kim: Reader, results: Path) -> None:
    kim.send(WHY, "/grade", points="3", comment="Names the cause.")
    _, page = kim.send("/", "/write")
    assert "5 students" in page
    assert "Names the cause." in (results / "feedback" / "s0.html").read_text()


def test_a_student_leads_to_the_next_one_in_the_list(results: Path) -> None:
    people = {"a": Person(id="kim", role=Role.INSTRUCTOR, sections=("B",))}
    with a_desk(results, AccessLinks(people)) as links:
        kim = signed_in(links["kim"])
        listed = re.findall(r'href="/student/(\w+)"', kim.get("/students")[1])
        assert listed == ["s1", "s3"]
        for here, before, after in (("s1", None, "s3"), ("s3", "s1", None)):
            page = kim.get(f"/student/{here}")[1]
            for key, other in (("k", before), ("j", after)):
                found = re.findall(rf'href="/student/(\w+)" data-key="{key}"', page)
                assert found == [other] * (other is not None)


def test_undo_brings_back_points_that_were_given_by_a_command(kim: Reader, results: Path) -> None:
    arguments = (results, "--student", "s3", "--answer", "q1_why", "--points", "1.5")
    ok("mark", *arguments, "--why", "read on paper")
    _, page = kim.get(WHY)
    assert "4 answers left" in page, "the page knows that s3 has points"
    kim.send("/student/s3", "/override", points="0.5", comment="see lecture 3")
    with Gradebook.open(results) as book:
        batch = max(one.batch for one in book.decisions.current().values())
    token = form_of(page, "/grade")["form_token"]
    _, student = kim.get("/student/s3")
    assert "gave 1.5" in student
    kim.send("/student/s3", "/override", points="0", comment="twice")
    for number in (batch + 1, batch):
        assert kim.post("/undo", {"form_token": token, "batch": number})[0] == 200
    assert set(points_of(results).values()) == {1.5}


@pytest.mark.thorough
def test_points_given_by_a_command_meanwhile_are_not_overwritten(
    kim: Reader, results: Path
) -> None:
    fields = form_of(kim.get(WHY)[1], "/grade")
    _, page = kim.send(WHY, "/grade", points="3")
    undo = form_of(page, "/undo")
    arguments = (results, "--student", "s0", "--answer", "q1_why", "--points", "1")
    ok("mark", *arguments, "--why", "read on paper")
    _, page = kim.post("/grade", {**fields, "points": "4"})
    assert "Some answers were not saved" in page
    kim.post("/undo", undo)
    assert points_of(results) == {"s0": 1}
    ok("mark", results, "--student", "s0", "--answer", "q1_why", "--withdraw", "--why", "wrong")
    with Gradebook.open(results) as book:
        assert book.decisions.current() == {}


def test_points_of_a_gradebook_without_decisions_become_decisions(results: Path) -> None:
    arguments = (results, "--student", "s0", "--answer", "q1_why", "--points", "1")
    ok("mark", *arguments, "--why", "read on paper")
    with sqlite3.connect(results / "gradebook.sqlite") as file:
        file.execute("DROP TABLE decisions")
        file.execute("UPDATE schema_version SET version = 1")
    with Gradebook.open(results) as book:
        (found,) = book.decisions.current().values()
    assert (found.points, found.choice.comment) == (1, "read on paper")


@pytest.mark.thorough
def test_an_answer_that_was_handed_in_again_meanwhile_is_not_graded_unread(
    kim: Reader, results: Path
) -> None:
    fields = form_of(kim.get(WHY)[1], "/grade")
    mine = form_of(kim.get("/student/s0")[1].split('id="q1_why"')[1], "/override")
    _put_answer(results, "s0", "q1_why", "something else")
    _, page = kim.post("/grade", {**fields, "points": "4"})
    assert "One answer was not saved" in page
    assert "s0" not in points_of(results)
    status, page = kim.post("/override", {**mine, "points": "1", "comment": "x"})
    assert status == 409
    assert "Meanwhile, this answer was graded or handed in again." in page
    assert 'value="1" required' in page, "the entry is kept in the form"
    assert "s0" not in points_of(results)


def _put_answer(results: Path, student: str, name: str, answer: str) -> None:
    with Gradebook.open(results) as book:
        grade = book.grade(student)
        assert grade is not None
        marks = tuple(replace(m, answer=answer) if m.name == name else m for m in grade.marks)
        book.put_grades([replace(grade, marks=marks)], why="handed in again")


def test_undo_gives_the_points_that_the_items_have_now(kim: Reader, results: Path) -> None:
    add_item(kim, "names the lock", "2")
    (item,) = (one.number for one in _items(results))
    kim.send(WHY, "/grade", item=[item])
    _, page = kim.send(f"{WHY}?group=0", "/grade", points="1", item=[])
    token = form_of(page, "/item")["form_token"]
    fields = {"problem": "sample", "part": "why", "number": item, "text": "names it"}
    kim.post("/item", {**fields, "points": "0.5", "form_token": token})
    assert set(points_of(results).values()) == {1}
    kim.post("/undo", form_of(page, "/undo"))
    assert set(points_of(results).values()) == {0.5}


def test_items_of_another_rubric_are_refused(kim: Reader, results: Path) -> None:
    with Gradebook.open(results) as book:
        other = book.rubrics.add(PartId("sample", "other"), "x", 1, by="kim").number
    status, page = kim.send(WHY, "/grade", item=[other])
    assert status == 400
    assert "not in the rubric" in page
    token = form_of(kim.get(WHY)[1], "/item")["form_token"]
    fields = {"problem": "sample", "part": "why", "number": other, "text": "y", "points": "4"}
    assert kim.post("/item", {**fields, "form_token": token})[0] == 400
    with Gradebook.open(results) as book:
        assert book.rubrics.items(PartId("sample", "other"))[0].text == "x"


def test_a_grader_changes_only_students_of_their_sections(results: Path) -> None:
    people = {
        "k": Person(id="kim", role=Role.INSTRUCTOR),
        "g": Person(id="gil", role=Role.GRADER, sections=("A",)),
        "h": Person(id="hao", role=Role.GRADER),
    }
    with a_desk(results, AccessLinks(people)) as links:
        kim, gil, hao = (signed_in(links[name]) for name in ("kim", "gil", "hao"))
        add_item(kim, "names the lock", "2")
        (item,) = (one.number for one in _items(results))
        _, page = kim.send(WHY, "/grade", item=[item])
        batch = form_of(page, "/undo")["batch"]
        for other in (gil, hao):
            token = form_of(other.get(WHY)[1], "/grade")["form_token"]
            assert other.post("/undo", {"form_token": token, "batch": batch})[0] == 400
        fields = {"problem": "sample", "part": "why", "number": item, "text": "x", "points": "0"}
        token = form_of(gil.get(WHY)[1], "/grade")["form_token"]
        assert gil.post("/item", {**fields, "form_token": token})[0] == 400
        override = {"problem": "sample", "part": "why", "points": "0", "comment": "x"}
        sent = {**override, "student": "s1", "form_token": token}
        assert gil.post("/override", sent)[0] == 400
        assert set(points_of(results).values()) == {2}
        assert '<td class="num">3</td>' in gil.get("/")[1], "the queue counts section A"


def test_anonymous_pages_do_not_tell_names_in_the_log_or_the_code(results: Path) -> None:
    with a_desk(results, anonymous=True) as links:
        kim = signed_in(links["kim"])
        kim.send(WHY, "/grade", points="2")
        _, page = kim.get("/students")
        someone = page.split('href="/student/')[1].split('"')[0]
        log, student = kim.get("/audit")[1], kim.get(f"/student/{someone}")[1]
        with Gradebook.open(results) as book:
            secret = book.setting("pseudonyms")
        for text in (log, student):
            assert not re.search(r"\bs[0-4]\b|Student [0-4]", text), text
            assert str(secret) not in text
        assert "0 entries" in kim.get("/audit?q=s0")[1]


def test_two_desks_on_one_machine_keep_their_sessions(results: Path) -> None:
    with a_desk(results) as one, a_desk(results) as other:
        first = signed_in(one["kim"])
        before = first.cookies()
        assert before.isdisjoint(signed_in(other["kim"]).cookies()), "ports share cookies"


@pytest.mark.thorough
def test_a_results_folder_that_was_moved_away_is_said_plainly(kim: Reader, results: Path) -> None:
    fields = form_of(kim.get(WHY)[1], "/grade")
    results.rename(results.with_name("moved"))
    status, page = kim.post("/grade", {**fields, "points": "2"})
    assert status == 400
    assert "gradebook" in page


@pytest.mark.thorough
def test_an_observer_sees_no_forms(results: Path) -> None:
    with a_desk(results, AccessLinks({"o": Person(id="oda", role=Role.OBSERVER)})) as links:
        oda = signed_in(links["oda"])
        for path in ("/", WHY, "/student/s0"):
            actions = re.findall(r'method="post" action="([^"]*)"', oda.get(path)[1])
            assert actions == ["/sign-out"], path


@pytest.mark.thorough
def test_an_answer_that_cannot_be_read_is_shown_as_written(results: Path) -> None:
    home = results.parent
    for student, text in (("s3", "the <i>GIL</i>"), ("s4", "processes")):
        path = home / "in" / f"{student}.ipynb"
        data = json.loads(path.read_text())
        data["cells"][-1]["source"] = f"q1_why = {text!r}"
        path.write_text(json.dumps(data))
    ok(
        "grade", home / "in", "--release", home / "release", "--out", results,
        "--bank", home / "bank",
    )  # fmt: skip
    with a_desk(results) as links:
        kim = signed_in(links["kim"])
        pages = [kim.get(f"{WHY}?group={at}")[1] for at in range(3)]
        shown = [re.sub(r"\s+", " ", page[page.index('id="answer"') :]) for page in pages]
        sections = [page[: page.index("</section>")] for page in shown]
        assert sum("the &lt;i&gt;GIL&lt;/i&gt;" in section for section in sections) == 1
        assert sum("processes" in section for section in sections) == 1
        assert not any("No answer." in section for section in sections)
        assert "no answer" not in pages[0]
