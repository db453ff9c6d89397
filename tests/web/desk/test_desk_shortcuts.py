"""Criteria of the spec as rubric items, points with one key, and what the queue wants looked at."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from grader.kinds.criteria import split_rubric, summarize_criterion
from grader.model.desk import PartId
from grader.web.desk.app import DeskApp
from tests.helpers.banks import ESSAY, a_bank
from tests.helpers.browser import CHROMIUM, Browser, a_browser
from tests.helpers.commands import ok
from tests.helpers.desk import a_desk, form_of, signed_in

WHY = "/part/sample/why"
RUBRIC = (
    "ask: 'Why?', points: 4, rubric: \"**1 point** for the lock: {{ gpus }} threads share it."
    ' Half for one.\\n\\n**3 points** for what waits."'
)


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """Results of two students whose spec has criteria."""
    spec = ESSAY.replace("ask: 'Why?', points: 4", RUBRIC)
    bank = a_bank(tmp_path / "bank", spec)
    (tmp_path / "roster.csv").write_text("id,name\nada,Ada Okafor\nbo,Bo Lindqvist\n")
    ok("render", "quiz", "--roster", tmp_path / "roster.csv", "--out", tmp_path / "release",
       "--bank", bank)  # fmt: skip
    for id_ in ("ada", "bo"):
        path = tmp_path / "in" / f"{id_}.ipynb"
        ok("solve", tmp_path / "release", "--student", id_, "--out", path, "--bank", bank)
        path.write_text(path.read_text().replace("A person reads this", f"The lock of {id_} waits"))
    ok("grade", tmp_path / "in", "--release", tmp_path / "release", "--out",
       tmp_path / "results", "--bank", bank)  # fmt: skip
    return tmp_path / "results"


def points_of(results: Path) -> dict[str, float]:
    with Gradebook.open(results) as book:
        return {one.student: one.points for one in book.overrides()}


def test_paragraphs_of_a_rubric_share_the_points_of_the_part() -> None:
    rubric = "**1 point** for the lock.\n\n**3 points** for what waits."
    assert [one.points for one in split_rubric(rubric, 4)] == [1, 3]
    assert [one.points for one in split_rubric(rubric, 2)] == [0.5, 1.5]
    assert [one.points for one in split_rubric("First.\n\nSecond.", 3)] == [1.5, 1.5]
    assert split_rubric("", 3) == ()
    said = summarize_criterion("**3 points** for {{ n | unit }} GPUs. Nothing for more.")
    assert said == "[n] GPUs."


@pytest.mark.thorough
def test_criteria_of_the_spec_become_items_once(graded: Path) -> None:
    with a_desk(graded) as links:
        kim = signed_in(links["kim"])
        _, page = kim.get(WHY)
        assert "Use the criteria" in page
        token = form_of(page, "/grade")["form_token"]
        fields = {"problem": "sample", "part": "why", "criteria": "1", "form_token": token}
        assert kim.post("/item", fields)[0] == 200
        with Gradebook.open(graded) as book:
            items = book.rubrics.items(PartId("sample", "why"))
        assert [(one.text, one.points) for one in items] == [
            ("The lock: [gpus] threads share it.", 1),
            ("What waits.", 3),
        ]
        status, page = kim.post("/item", fields)
        assert status == 400
        assert "has items already" in page


@pytest.mark.thorough
def test_full_and_no_points_leave_out_items(results: Path) -> None:
    with a_desk(results) as links:
        kim = signed_in(links["kim"])
        token = form_of(kim.get(WHY)[1], "/item")["form_token"]
        fields = {"problem": "sample", "part": "why", "text": "names it", "points": "1"}
        kim.post("/item", {**fields, "form_token": token})
        kim.send(WHY, "/grade", item="1", points="", quick="4.0")
        assert set(points_of(results).values()) == {4}
        with Gradebook.open(results) as book:
            assert {d.choice.items for d in book.decisions.current().values()} == {()}
        assert kim.send(WHY, "/grade", quick="5")[0] == 400, "more than the part is worth"


@pytest.mark.thorough
def test_a_text_that_is_too_long_is_not_stored_in_part(results: Path) -> None:
    with a_desk(results) as links:
        kim = signed_in(links["kim"])
        status, page = kim.send(WHY, "/grade", points="3", comment=" " + "é" * 10_001)
        assert status == 400
        assert "shorten it to 10,000 characters" in page
        assert kim.send(WHY, "/grade", points="3", comment="é" * 10_000 + "\r\n")[0] == 200
        item = {"text": "names it", "points": "1"}
        assert kim.send(WHY, "/item", **item, feedback="x" * 10_001)[0] == 400
        assert kim.send(WHY, "/item", text="x" * 10_001, points="1")[0] == 400
    with Gradebook.open(results) as book:
        assert {len(d.choice.comment) for d in book.decisions.current().values()} == {10_000}
        assert book.rubrics.items() == ()


def test_a_group_of_ten_thousand_answers_can_be_graded(results: Path) -> None:
    with a_desk(results) as links:
        kim = signed_in(links["kim"])
        fields = form_of(kim.get(WHY)[1], "/grade")
        others = [f"student-{n:08x}:0:0:0123456789abcdef" for n in range(10_000)]
        answers = [*fields["answer"], *others]
        assert kim.post("/grade", {**fields, "answer": answers, "points": "3"})[0] == 200
    assert set(points_of(results).values()) == {3}


def test_the_queue_lists_decisions_whose_automatic_grade_changed(results: Path) -> None:
    with a_desk(results) as links:
        kim = signed_in(links["kim"])
        kim.send("/student/s0", "/override", points="0.5", comment="see lecture 3")
        assert "no second opinions, no conflicts" in kim.get("/")[1]
        with Gradebook.open(results) as book:
            grade = book.grade("s0")
            assert grade is not None
            first = replace(grade.marks[0], points=1.0)
            book.put_grades([replace(grade, marks=(first, *grade.marks[1:]))], why="corrected")
        _, page = kim.get("/")
        assert "Answer or automatic grade changed after a decision" in page
        assert f'href="/student/s0#{grade.marks[0].name}"' in page
        kim.send("/student/s0", "/override", points="0.5", comment="still right")
        assert "no second opinions, no conflicts" in kim.get("/")[1]


def test_the_queue_lists_decisions_about_another_answer(results: Path) -> None:
    with a_desk(results) as links:
        kim = signed_in(links["kim"])
        for student in ("s0", "s1"):
            kim.send(f"/student/{student}", "/override", points="0.5", comment="see lecture 3")
        with sqlite3.connect(results / "gradebook.sqlite") as database:
            database.execute("UPDATE grades SET at = '2026-01-01T00:00:00Z'")
            database.execute("UPDATE decisions SET at = '2026-01-02T00:00:00+00:00'")
        with Gradebook.open(results) as book:
            grade = book.grade("s0")
            assert grade is not None
            first = replace(grade.marks[0], answer="written later")
            book.put_grades([replace(grade, marks=(first, *grade.marks[1:]))], why="newer file")
        _, page = kim.get("/")
        assert f'href="/student/s0#{grade.marks[0].name}"' in page
        assert 'href="/student/s1#' not in page, "the answer of s1 is the same"
        kim.send("/student/s0", "/override", points="0.5", comment="still right")
        assert "no second opinions, no conflicts" in kim.get("/")[1]


@pytest.mark.thorough
def test_writing_the_files_does_not_keep_others_from_grading(results: Path) -> None:
    apps: list[DeskApp] = []
    with a_desk(results, app_made=apps.append) as links:
        kim = signed_in(links["kim"])
        with apps[0]._exporting:  # as while somebody writes the files
            assert kim.send(WHY, "/grade", points="3")[0] == 200
        assert len(points_of(results)) == 3
        waiting = threading.Thread(target=kim.send, args=("/", "/write"))
        with apps[0]._changing:
            waiting.start()
            waiting.join(60)
            assert not waiting.is_alive()


@pytest.mark.thorough
def test_the_notebook_shows_what_each_cell_printed_when_it_was_graded(graded: Path) -> None:
    data = (graded.parent / "in" / "ada.ipynb").read_text()
    added = data.replace("q1_why = ", "print('<i>seen</i>')\\nq1_why = 1 / 0 or ")
    (graded.parent / "in" / "ada.ipynb").write_text(added)
    bank = graded.parent / "bank"
    ok("grade", graded.parent / "in", "--release", graded.parent / "release", "--out", graded,
       "--bank", bank)  # fmt: skip
    with a_desk(graded) as links:
        _, page = signed_in(links["kim"]).get("/student/ada")
    assert "<samp>&lt;i&gt;seen&lt;/i&gt;" in page
    assert "ZeroDivisionError" in page
    number = page.split('href="#cell-')[1].split('"')[0]
    assert f'id="cell-{number}"' in page


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_one_key_grades_a_group(graded: Path, tmp_path: Path) -> None:
    with a_desk(graded) as links, a_browser(tmp_path / "profile") as browser:
        browser.open(links["kim"])
        browser.press("g")
        browser.wait_for(f"location.pathname === '{WHY}' && document.readyState === 'complete'")
        browser.press("i")
        browser.wait_for(
            "document.querySelectorAll('#grade [name=item]').length === 2"
            " && document.readyState === 'complete'"
        )
        _press_shift_digit(browser, 2)
        _wait_until_saved(browser, "1 answer left")
        browser.press("0")
        _wait_until_saved(browser, "every answer has points")
        browser.press("u")
        browser.wait_for(_says("1 answer left"))
        browser.press("m")
        _wait_until_saved(browser, "every answer has points")
        assert sorted(points_of(graded).values()) == [3, 4]
        assert browser.complaints == []


COUNTS = """
document.addEventListener("submit", (event) => {
  document.title += event.defaultPrevented ? "" : "!";
  event.preventDefault();
});
document.title = "";
"""


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_key_sends_a_form_once_and_not_while_it_is_held(graded: Path, tmp_path: Path) -> None:
    with a_desk(graded) as links, a_browser(tmp_path / "profile") as browser:
        browser.open(links["kim"])
        browser.open(links["kim"].partition("/enter")[0] + WHY)
        browser.see(COUNTS)
        key = {"type": "keyDown", "key": "m", "text": "m", "windowsVirtualKeyCode": 77}
        browser.call("Input.dispatchKeyEvent", **key, autoRepeat=True)
        assert browser.see("document.title") == "", "held since the page before"
        browser.press("m", "m", "Enter")
        assert browser.see("document.title") == "!"
        browser.see("window.dispatchEvent(new Event('pageshow')); 0")  # as on the way back
        browser.press("Enter")
        assert browser.see("document.title") == "!!"


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_ctrl_and_enter_do_not_choose_between_two_buttons(graded: Path, tmp_path: Path) -> None:
    with a_desk(graded) as links, a_browser(tmp_path / "profile") as browser:
        browser.open(links["kim"])
        browser.open(links["kim"].partition("/enter")[0] + WHY)
        browser.see(COUNTS)
        enter = {"type": "keyDown", "key": "Enter", "windowsVirtualKeyCode": 13, "modifiers": 2}
        browser.see("document.querySelector('#grade button.main').name = 'outcome'; 0")
        browser.see("document.querySelector('#grade textarea').focus()")
        browser.call("Input.dispatchKeyEvent", **enter)
        assert browser.see("document.title") == "", "a request is accepted or declined"
        browser.see("document.querySelector('#grade button.main').name = ''; 0")
        browser.call("Input.dispatchKeyEvent", **enter)
        assert browser.see("document.title") == "!"


def _press_shift_digit(browser: Browser, digit: int) -> None:
    key = {"code": f"Digit{digit}", "windowsVirtualKeyCode": 48 + digit, "modifiers": 8}
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="@", **key)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key="@", **key)


def _says(text: str) -> str:
    return (
        f"(document.querySelector('h1 + p')?.textContent ?? '').includes('{text}')"
        " && document.readyState === 'complete'"
    )


def _wait_until_saved(browser: Browser, text: str) -> None:
    browser.wait_for(f"document.querySelector('.notice') !== null && {_says(text)}")


@pytest.mark.thorough
def test_attempts_show_when_they_were_handed_in_and_what_it_costs(graded: Path) -> None:
    home = graded.parent
    (home / "course.yaml").write_text(
        "id: systems\ntime_zone: Europe/Berlin\nstaff: {kim: {role: instructor}}\n"
        "late: {deduct: 10%}\nattempts: {count: best}\nsets:\n  quiz: {due: 2026-10-05 23:59}\n"
        "grants:\n- {student: bo, set: quiz, exempt: true, why: transfer, by: kim}\n"
    )
    (home / "times.csv").write_text("student,received\nada,2026-10-06 12:00\n")
    shutil.rmtree(graded)
    summary = ok(
        "grade", home / "in", "--release", home / "release", "--out", graded, "--bank",
        home / "bank", "--course", home / "course.yaml", "--times", home / "times.csv",
    ).stdout  # fmt: skip
    assert "of the settled points of 1 student." in summary, "exempt students don't count"
    with a_desk(graded) as links:
        kim = signed_in(links["kim"])
        _, page = kim.get("/student/ada/attempts")
        assert ">Oct 6, 2026, 12:00 CEST</time>" in page
        assert "(platform)" in page
        assert "12 h after the due date" in page
        assert "no trusted time" in kim.get("/student/bo/attempts")[1]
