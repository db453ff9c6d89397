"""The page of wrong ideas: a search of a real class, which no page waits for."""

from __future__ import annotations

import os
import random
import re
import shutil
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from grader.kinds.numeric import evaluate_answer
from grader.model.course import Role
from grader.web.desk import idea_search
from grader.web.desk.access import AccessLinks, Person
from tests.helpers.browser import CHROMIUM, a_browser
from tests.helpers.commands import ok
from tests.helpers.desk import Reader, a_desk, signed_in
from tests.helpers.simulated_class import SimulatedClass, a_bank_of_transfers, a_class, number_keys

HOLDERS = 6


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of 24 in which six students multiplied where they had to divide."""
    home = tmp_path_factory.mktemp("ideas")
    made = a_class("quiz", 24, 1, banks=(str(a_bank_of_transfers(home / "bank", 2)),))
    plant(made)
    results = made.write(home / "class")
    return (home / "bank").rename(home / "class" / "bank").parent / results.name


def plant(made: SimulatedClass) -> None:
    dice = random.Random(2)
    for number, student in enumerate(made.students.values()):
        for name, key in number_keys(student.paper).items():
            value = float(key.value)
            if number < HOLDERS and name.startswith("q1_"):
                value = float(
                    evaluate_answer("size * rate * s", key.unit, key.draw, key.draw.scope)
                )
            elif number < 2 * HOLDERS:
                value *= 10 ** dice.uniform(-1.5, 1.5)
            student.answers[name] = float(f"{value:.4g}")


def searched(reader: Reader, fewest: str = "3") -> str:
    """Searches the class, and returns the page with the result."""
    status, page = reader.send("/ideas", "/ideas", fewest=fewest)
    assert status == 200
    end = time.monotonic() + 120
    while 'id="running"' in page:
        assert time.monotonic() < end, page
        time.sleep(0.2)
        page = reader.get("/ideas")[1]
    return page


@pytest.mark.thorough
def test_a_search_finds_the_idea_of_six_students(results: Path) -> None:
    with a_desk(results) as links:
        kim = signed_in(links["kim"])
        assert "Search this class" in kim.get("/ideas")[1]
        page = searched(kim)
        assert "1 idea explains 6 of" in page, page
        assert "transfer-1/time" in page
        assert re.search(r"- id: idea-1\n +value: .+\n +feedback: TODO", page)
        assert '<a href="/student/s000#q1_time">s000</a>' in page
        assert "and 1 more student<" in page
        assert "have changed since" not in page


@pytest.mark.thorough
def test_the_next_desk_shows_the_result_and_whether_marks_have_changed(
    results: Path, tmp_path: Path
) -> None:
    mine = Path(shutil.copytree(results.parent, tmp_path / "class")) / results.name
    with a_desk(mine) as links:
        before = searched(signed_in(links["kim"]))
    assert (mine / "ideas.json").stat().st_mode & 0o777 == 0o600
    with a_desk(mine) as links:
        kim = signed_in(links["kim"])
        again = kim.get("/ideas")[1]
        day = datetime.now(UTC).strftime("%b")
        assert re.search(rf"Searched <time [^>]*>{day} \d", again)
        assert "for ideas of at least 3 students" in again
        results_of = re.compile(r"<section>.*</section>", re.DOTALL)
        assert results_of.findall(again) == results_of.findall(before) != []
        assert "have changed since" not in again
        kim.send("/", "/write")
        assert "have changed since" not in kim.get("/ideas")[1], "no mark has"
        with Gradebook.open(mine) as book:
            grade = next(iter(book.grades()))
            first, *others = grade.marks
            changed = replace(first, feedback="Another text.")
            book.put_grades([replace(grade, marks=(changed, *others))], why="test")
        assert "Marks have changed since" in kim.get("/ideas")[1]
        ok("forget", mine, "s000", "--why", "asked for it", "--bank", mine.parent / "bank")
        assert not (mine / "ideas.json").exists(), "it names the student"
    for text in ("", "[]", "{}", '{"version": 1}', '{"version": 99, "parts": []}'):
        (mine / "ideas.json").write_text(text)
        with a_desk(mine) as links:
            status, page = signed_in(links["kim"]).get("/ideas")
            assert (status, "Search this class" in page) == (200, True), text


@pytest.mark.thorough
def test_the_minimum_number_of_students_can_be_chosen(results: Path) -> None:
    with a_desk(results) as links:
        kim = signed_in(links["kim"])
        page = searched(kim, str(HOLDERS + 1))
        assert f"No expression explains the wrong numbers of {HOLDERS + 1} or more" in page
        assert f'name="fewest" value="{HOLDERS + 1}"' in page
        for wrong in ("1", "0", "-3", "2.5", "many", ""):
            status, page = kim.send("/ideas", "/ideas", fewest=wrong)
            assert (status, "at least two students" in page) == (400, True), wrong
        assert "1 idea explains 6 of" in searched(kim, str(HOLDERS))


@pytest.mark.thorough
def test_graders_without_names_read_pseudonyms(results: Path) -> None:
    people = {
        "one": Person(id="hao", role=Role.HEAD_GRADER),
        "two": Person(id="gil", role=Role.GRADER),
        "three": Person(id="pat", role=Role.INSTRUCTOR, sections=("A",)),
    }
    with a_desk(results, AccessLinks(people), anonymous=True) as links:
        page = searched(signed_in(links["hao"]))
        assert "1 idea explains 6 of" in page
        shown = re.findall(r'href="/student/(student-[0-9a-f]+)#', page)
        assert len(shown) == 5
        assert shown == sorted(shown), "the order of the roster tells who is who"
        assert not re.search(r"\bs0\d\d\b", page)
        for who in ("gil", "pat"):
            reader = signed_in(links[who])
            assert reader.get("/ideas")[0] == 403
            assert "Wrong ideas" not in reader.get("/")[1]


@pytest.mark.thorough
def test_a_search_that_fails_says_why(results: Path) -> None:
    release = results.parent / "release.json"
    away = release.with_name("away.json")
    (results / "ideas.json").unlink(missing_ok=True)
    with a_desk(results) as links:
        kim = signed_in(links["kim"])
        release.rename(away)
        try:
            page = searched(kim)
        finally:
            away.rename(release)
        assert "The search failed: " in page
        assert "release.json" in page
        assert "1 idea explains 6 of" in searched(kim)


def test_a_desk_that_stops_stops_its_search(results: Path) -> None:
    with a_desk(results) as links:
        assert signed_in(links["kim"]).send("/ideas", "/ideas", fewest="3")[0] == 200


@pytest.mark.thorough
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_page_follows_the_search_in_a_browser(results: Path, tmp_path: Path) -> None:
    (results / "ideas.json").unlink(missing_ok=True)  # the result of an earlier test
    with a_desk(results) as links, a_browser(tmp_path) as browser:
        browser.open(links["kim"])
        home = links["kim"].partition("/enter")[0]
        browser.open(home + "/ideas")
        browser.tab_to('form[action="/ideas"] button')
        browser.press("Enter")
        browser.wait_for("document.querySelector('article.part') !== null")
        for width, dark in ((1200, False), (390, False), (390, True)):
            browser.open(home + "/ideas", width=width, dark=dark)
            browser.see("document.querySelector('details').open = true")
            found = browser.measure()
            assert found["scroll"] <= found["width"], (width, found["out"])
            assert found["pale"] == [], dark
        assert browser.complaints == []


def test_the_page_of_a_part_has_its_statistics(results: Path) -> None:
    with a_desk(results, anonymous=True) as links:
        page = signed_in(links["kim"]).get("/part/transfer-1/time")[1]
    with Gradebook.open(results) as book:
        marks = [m for grade in book.grades() for m in grade.marks if m.name == "q1_time"]
    share = sum(mark.points == mark.max_points for mark in marks) / len(marks)
    text = page.split("<summary>Statistics</summary>")[1]
    assert f"{100 * share:.0f}% correct, over 24 graded answers" in text
    assert "Discrimination" in text
    assert not re.search(r"\bs0\d\d\b", text)


def test_a_search_runs_where_processes_have_no_priority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(os, "nice")
    idea_search.main(tmp_path / "nothing", 3)
    assert '"running": false' in capsys.readouterr().out
