"""Staff members accept an invitation and sign in with the keyboard alone, in a browser."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from grader.course.staff import StaffFile
from grader.web.desk.accounts import AccountFile
from grader.web.desk.sign_in import Accounts
from tests.helpers.browser import CHROMIUM, Browser, a_browser
from tests.helpers.desk import a_class, a_desk

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
PASSWORD = "correct horse battery"
COMPLETE = "document.readyState === 'complete'"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_class(tmp_path_factory.mktemp("desk"))


def check_page(browser: Browser) -> None:
    """The page that is open has no text that is pale or out of reach, on any screen."""
    address = str(browser.see("location.href"))
    for width, dark in ((1200, False), (1200, True), (390, False), (390, True)):
        browser.open(address, width=width, dark=dark)
        found = browser.measure()
        assert found["scroll"] <= found["width"], (address, width, found["out"])
        assert found["pale"] == [], (address, dark)
    nameless = browser.see(
        "[...document.querySelectorAll('input:not([type=hidden]):not([hidden])')]"
        ".filter(e => !e.labels.length).map(e => e.name).join()"
    )
    assert nameless == ""


@pytest.mark.thorough
def test_from_the_invitation_to_the_wanted_page(results: Path, tmp_path: Path) -> None:
    course = tmp_path / "course.yaml"
    course.write_text("id: x\ntime_zone: UTC\nstaff: {kim: {role: instructor}}\n")
    file = AccountFile(tmp_path / "accounts.json")
    token = file.invite(["kim"], time.time(), days=7)["kim"]
    entrance = Accounts(StaffFile(course), file)
    with (
        a_desk(results, entrance, anonymous=True) as links,
        a_browser(tmp_path / "profile") as browser,
    ):
        browser.open(f"{links['']}/invitation?token={token}")
        check_page(browser)
        browser.wait_for("document.activeElement.name === 'password'")
        browser.press(*PASSWORD, "Tab", *PASSWORD, "Enter")
        browser.wait_for(f"document.title === 'Queue · Desk' && {COMPLETE}")
        check_page(browser)
        browser.tab_to('form[action="/sign-out"] button')
        browser.press("Enter")
        browser.wait_for(f"document.title === 'Sign in · Desk' && {COMPLETE}")
        check_page(browser)

        browser.complaints.clear()
        browser.open(f"{links['']}/part/sample/why?group=1")
        browser.wait_for("document.activeElement.name === 'id'")
        browser.press(*"kim", "Tab", *"a wrong password", "Enter")
        browser.wait_for(f"document.querySelector('[role=alert]') !== null && {COMPLETE}")
        browser.wait_for("document.activeElement.name === 'password'")
        assert all("403" in one for one in browser.complaints), browser.complaints
        browser.complaints.clear()
        browser.press(*PASSWORD, "Enter")
        browser.wait_for(f"location.pathname === '/part/sample/why' && {COMPLETE}")
        assert browser.see("location.search") == "?group=1"
        browser.tab_to('form[action="/names"] button')
        browser.press("Enter")
        browser.wait_for(f"document.body.innerText.includes('Hide names') && {COMPLETE}")
        assert browser.complaints == []
