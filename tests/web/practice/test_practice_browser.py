"""A student practices in a browser, with the keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.web.practice.answers import NONE, form_of
from tests.helpers.browser import CHROMIUM, Browser, a_browser
from tests.helpers.practice import a_practice, a_server, right_fields

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
READY = "document.readyState === 'complete'"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with a_browser(tmp_path_factory.mktemp("browser") / "profile") as browser:
        yield browser


@pytest.fixture
def browser(shared: Browser) -> Browser:
    """A browser that has no complaints yet; starting one takes longer than most tests."""
    shared.complaints.clear()
    return shared


def test_a_question_is_answered_with_the_keyboard(tmp_path: Path, browser: Browser) -> None:
    practice = a_practice(tmp_path, "kv-cache-size")
    with a_server(practice) as link:
        browser.open(link)
        assert practice.question is not None
        lines = [n for n, k in practice.question.keys.items() if form_of(k) == "line"]
        right = right_fields(practice.question)
        for name in lines:
            browser.tab_to(f'input[name="{name}"]')
            browser.call("Input.insertText", text=right[name][0])
        browser.press("Enter")  # does not hand in
        browser.tab_to('button[value="solution"]')
        browser.press("Enter")
        browser.wait_for(f"document.querySelector('.solution') !== null && {READY}")
        assert browser.see("document.activeElement.id") == "verdict"
        assert practice.result is not None
        assert all(practice.result.marks[n].points for n in lines)
        browser.press("n")
        browser.wait_for(f"document.getElementById('answers') !== null && {READY}")
        assert practice.result is None
        browser.see("document.querySelectorAll('input[type=checkbox]').forEach(e => e.click())")
        ticked = "[...document.querySelectorAll('input:checked')].map(e => e.value).join()"
        assert browser.see(ticked) == NONE  # the last one unticks the others
        number = practice.number
        browser.see("for (let n = 0; n < 2; n++) document.querySelector('#next button').click()")
        browser.wait_for(
            f"document.querySelector('[name=variant][value=\"{number}\"]') === null && {READY}"
        )
        assert browser.see("document.getElementById('answers') !== null")
        assert browser.complaints == []


PAGES = ("kv-cache-size", "channel-pruning")
MORE_PAGES = ("activation-smoothing", "energy-of-a-layer", "pruning-ratios", "recall-compression",
              "threads-versus-processes")  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize(
    "problem", [*PAGES, *(pytest.param(one, marks=pytest.mark.thorough) for one in MORE_PAGES)]
)
def test_pages_fit_and_have_labels(problem: str, tmp_path: Path, browser: Browser) -> None:
    practice = a_practice(tmp_path, problem)
    with a_server(practice) as link:
        browser.open(link)
        home = link.partition("/enter")[0]
        for path in ("/question", "/"):
            for width, dark in ((1200, False), (390, False), (390, True)):
                browser.open(home + path, width=width, dark=dark)
                found = browser.measure()
                assert found["scroll"] <= found["width"], (path, width, found["out"])
                assert found["pale"] == [], (path, dark)
            nameless = browser.see(
                "[...document.querySelectorAll('input:not([type=hidden]), textarea, select')]"
                ".filter(e => !e.labels.length).map(e => e.name).join()"
            )
            assert nameless == "", path
        assert browser.complaints == []


@pytest.mark.thorough
def test_the_editor_indents_and_lets_go(tmp_path: Path, browser: Browser) -> None:
    practice = a_practice(tmp_path, "channel-pruning")
    with a_server(practice) as link:
        browser.open(link)
        browser.see("document.querySelector('[data-editor]').focus()")
        browser.see("document.querySelector('[data-editor]').value = ''")
        browser.press("Tab", "x")
        assert browser.see("document.querySelector('[data-editor]').value") == "    x"
        browser.press("Escape", "Tab")
        assert browser.see("document.activeElement.matches('[data-editor]')") is False
