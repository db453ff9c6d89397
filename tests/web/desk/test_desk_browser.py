"""A teaching assistant grades in a browser, with the keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from tests.helpers.browser import CHROMIUM, a_browser
from tests.helpers.desk import a_class, a_desk

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
WHY = "/part/sample/why"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_class(tmp_path_factory.mktemp("desk"))


def points_of(results: Path) -> dict[str, float]:
    with Gradebook.open(results) as book:
        return {one.student: one.points for one in book.overrides()}


@pytest.mark.thorough
def test_the_queue_is_graded_with_the_keyboard(results: Path, tmp_path: Path) -> None:
    with a_desk(results) as links, a_browser(tmp_path) as browser:
        home = links["kim"].partition("/enter")[0]
        browser.open(links["kim"])
        browser.tab_to('a[href$="/sample/why"]')
        browser.press("Enter")
        browser.wait_for(
            "location.pathname === '/part/sample/why' && document.readyState === 'complete'"
        )
        # A new item of the rubric, from the key n.
        browser.press("n")
        browser.wait_for("document.activeElement.name === 'text'")
        browser.press(*"lock")
        browser.press("Tab")
        browser.press("2")
        browser.press("Enter")
        browser.wait_for(
            "document.querySelectorAll('#grade [name=item]').length === 1"
            " && document.readyState === 'complete'"
        )
        browser.press("1")
        browser.wait_for("document.getElementById('sum').textContent === 'Sum: 2'")
        browser.press("Enter")
        browser.wait_for(
            "document.querySelector('.notice') !== null && document.readyState === 'complete'"
        )
        assert points_of(results) == {"s0": 2, "s1": 2, "s2": 2}
        # Points for the next answer, then undo.
        browser.press("p")
        browser.wait_for("document.activeElement.name === 'points'")
        browser.press("1", "Enter")
        browser.wait_for(
            "(document.querySelector('h1 + p')?.textContent ?? '').includes('1 answer left')"
            " && document.readyState === 'complete'"
        )
        assert len(points_of(results)) == 4
        browser.press("u")
        browser.wait_for(
            "(document.querySelector('h1 + p')?.textContent ?? '').includes('2 answers left')"
            " && document.readyState === 'complete'"
        )
        assert points_of(results) == {"s0": 2, "s1": 2, "s2": 2}
        browser.press("j")
        browser.wait_for("location.search === '?group=1' || location.search === '?group=2'")
        assert browser.see("document.title") != ""
        assert browser.complaints == []
        for path in ("/", "/students", "/student/s3", WHY, "/audit"):
            for width, dark in ((1200, False), (390, False), (390, True)):
                browser.open(home + path, width=width, dark=dark)
                found = browser.measure()
                assert found["scroll"] <= found["width"], (path, width, found["out"])
                assert found["pale"] == [], (path, dark)
        assert browser.complaints == []


@pytest.mark.thorough
def test_every_field_has_a_label(results: Path, tmp_path: Path) -> None:
    with a_desk(results) as links, a_browser(tmp_path) as browser:
        home = links["kim"].partition("/enter")[0]
        browser.open(links["kim"])
        for path in ("/students", "/student/s3", WHY, "/audit"):
            browser.open(home + path)
            nameless = browser.see(
                "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
                ".filter(e => !e.labels.length).map(e => e.name).join()"
            )
            assert nameless == "", path
