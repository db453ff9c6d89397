"""Two people grade in two browsers at once, also while another process grades and is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from grader.model.course import Course, GradingPlan, Role, StaffMember
from grader.web.desk.access import AccessLinks, Person
from tests.helpers.browser import CHROMIUM, Browser, a_browser
from tests.helpers.commands import ok
from tests.helpers.desk import Reader, a_desk

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
WHY = "/part/sample/why"
PEOPLE = {
    "k": Person(id="kim", role=Role.INSTRUCTOR),
    "g": Person(id="gil", role=Role.GRADER),
    "h": Person(id="hao", role=Role.GRADER),
}
STAFF = {one.id: StaffMember(role=one.role) for one in PEOPLE.values()}
LOADED = "document.readyState === 'complete'"


def save(browser: Browser, points: str, comment: str = "") -> None:
    """Enters points and a comment with the keyboard, and saves."""
    browser.see("window.before = true")
    browser.press("p")
    browser.wait_for("document.activeElement.name === 'points'")
    browser.see("document.activeElement.select()")
    browser.press(*points)
    if comment:
        browser.press("Escape", "c")
        browser.wait_for("document.activeElement.name === 'comment'")
        browser.press(*comment)
    browser.press("Escape", "Enter")
    browser.wait_for(f"window.before === undefined && {LOADED}")


def words(browser: Browser) -> str:
    return str(browser.see("document.getElementById('content').innerText"))


@pytest.mark.thorough
def test_a_conflict_between_two_browsers_is_solved_with_the_keyboard(
    results: Path, tmp_path: Path
) -> None:
    with (
        a_desk(results, AccessLinks(PEOPLE)) as links,
        a_browser(tmp_path / "one") as gil,
        a_browser(tmp_path / "two") as hao,
    ):
        home = links["gil"].partition("/enter")[0]
        for browser, id_ in ((gil, "gil"), (hao, "hao")):
            browser.open(links[id_])
            browser.open(home + WHY)
        assert "gil has this answer open." in words(hao)
        # The open page of the first browser hears about the second without a reload.
        gil.see("report()")
        gil.wait_for("document.querySelector('.presence').textContent.startsWith('hao has this')")
        save(gil, "3", "lock")
        save(hao, "1", "short")
        assert "gil gave 3" in words(hao)
        assert hao.see("document.querySelector('[name=comment]').value") == "short"
        assert hao.see("document.querySelector('[name=points]').value") == "1"
        hao.press("x")
        hao.wait_for(f"!document.querySelector('[role=alert]') && {LOADED}")
        with Gradebook.open(results) as book:
            assert {one.points for one in book.overrides()} == {3}
        assert gil.complaints == []
        # The refused form is the page of a 409, which the console notes.
        assert all("409" in one for one in hao.complaints)


@pytest.mark.thorough
def test_double_grading_with_the_keyboard_on_every_screen(results: Path, tmp_path: Path) -> None:
    plan = GradingPlan(divide="evenly", double_parts=("sample",))
    course = Course(id="systems", staff=STAFF, grading=plan)
    with (
        a_desk(results, AccessLinks(PEOPLE), course=course) as links,
        a_browser(tmp_path / "one") as browser,
    ):
        home = links["gil"].partition("/enter")[0]
        for id_, points in (("gil", "4"), ("hao", "1")):
            browser.open(links[id_])
            browser.tab_to('#content a[href$="/sample/why"]')
            browser.press("Enter")
            browser.wait_for(f"location.pathname === '{WHY}' && {LOADED}")
            while " 0 left in your share" not in words(browser).replace("·", " "):
                save(browser, points)
        browser.open(links["kim"])
        assert "Graded differently by two people" in words(browser)
        browser.tab_to('#content a[href$="/sample/why?all=1"]')
        browser.press("Enter")
        browser.wait_for(f"location.pathname === '{WHY}' && {LOADED}")
        assert "Decide which points count." in words(browser)
        save(browser, "2")
        with Gradebook.open(results) as book:
            assert {one.points for one in book.overrides()} == {2}
        browser.open(home + "/")
        browser.tab_to('a[href="/agreement"]')
        browser.press("Enter")
        browser.wait_for(f"location.pathname === '/agreement' && {LOADED}")
        assert "gil, hao" in words(browser)
        for path in ("/", WHY, f"{WHY}?group=1", "/agreement"):
            for width, dark in ((1200, False), (1200, True), (390, False), (390, True)):
                browser.open(home + path, width=width, dark=dark)
                found = browser.measure()
                assert found["scroll"] <= found["width"], (path, width, found["out"])
                assert found["pale"] == [], (path, dark)
        assert browser.complaints == []


@pytest.mark.slow
def test_nothing_is_lost_if_grading_is_killed_while_two_browsers_grade(
    results: Path, tmp_path: Path
) -> None:
    home, bank = results.parent, results.parent / "bank"
    command = [
        sys.executable, "-m", "grader", "grade", str(home / "in"), "--release",
        str(home / "release"), "--out", str(results), "--bank", str(bank), "--jobs", "1", "--again",
    ]  # fmt: skip
    with (
        a_desk(results, AccessLinks(PEOPLE)) as links,
        a_browser(tmp_path / "one") as gil,
        a_browser(tmp_path / "two") as hao,
    ):
        address = links["gil"].partition("/enter")[0]
        for browser, id_ in ((gil, "gil"), (hao, "hao")):
            browser.open(links[id_])
        expected: dict[str, float] = {}
        for round_ in range(3):
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            gil.open(f"{address}{WHY}?group=0")
            hao.open(f"{address}{WHY}?group={1 + round_ % 2}")
            for browser, points in ((gil, f"{round_ + 1}"), (hao, f"{round_ + 2}")):
                shown = str(
                    browser.see(
                        "[...document.querySelectorAll('[name=answer]')].map("
                        "e => e.value.split(':')[0]).join()"
                    )
                )
                save(browser, points)
                assert "Saved." in words(browser)
                expected |= dict.fromkeys(shown.split(","), float(points))
            time.sleep(0.5 * round_)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)
            with Gradebook.open(results) as book:
                assert {one.student: one.points for one in book.overrides()} == expected
        assert len(expected) == 5
        ok(*command[3:-1])
        with Gradebook.open(results) as book:
            assert {one.student: one.points for one in book.overrides()} == expected
            assert len(list(book.grades())) == 5
    for student, given in expected.items():
        marks = json.loads((results / "grades" / f"{student}.json").read_text())["marks"]
        assert next(one["points"] for one in marks if one["name"] == "q1_why") == given


@pytest.mark.thorough
def test_find_counts_students_alone(results: Path, tmp_path: Path) -> None:
    found = "document.getElementById('found').textContent"
    with a_desk(results, AccessLinks(PEOPLE)) as links, a_browser(tmp_path) as kim:
        kim.open(links["kim"])
        for path, counts in (("", ("5 of 5 students", "1 of 5 students")), ("?section=C", ("0",))):
            kim.open(f"{links['kim'].partition('/enter')[0]}/students{path}")
            for text, count in zip(("s", "s3"), counts, strict=False):
                kim.see(f"document.getElementById('find').value = '{text}'")
                kim.see("document.getElementById('find').dispatchEvent(new Event('input'))")
                assert str(kim.see(found)).startswith(count)


@pytest.mark.thorough
def test_below_a_prefix_people_see_who_else_is_there(results: Path, tmp_path: Path) -> None:
    prefix = "/services/desk"
    with a_desk(results, AccessLinks(PEOPLE), prefix=prefix) as links, a_browser(tmp_path) as gil:
        home = links["gil"].partition("/enter")[0]
        gil.open(links["gil"])
        gil.open(home + WHY)
        # Redirects lead to the prefix too, which the address of a `Reader` has already.
        hao = Reader(home.removesuffix(prefix))
        assert hao.get(links["hao"].removeprefix(hao.address))[0] == 200
        assert hao.get(prefix + WHY)[0] == 200
        gil.see("report()")
        gil.wait_for("document.querySelector('.presence').textContent.startsWith('hao has this')")
        assert gil.complaints == []
