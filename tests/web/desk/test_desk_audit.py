"""The audit log in the desk: its search, its filters, and the keys that reach them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from grader.model.course import Role
from grader.web.desk.access import AccessLinks, Person
from tests.helpers.browser import CHROMIUM, a_browser
from tests.helpers.commands import ok
from tests.helpers.desk import a_desk, signed_in

WHY = "/part/sample/why"


@pytest.fixture
def log(results: Path) -> Path:
    """A log with actions of two people about two students and two parts."""
    with a_desk(results) as links:
        kim = signed_in(links["kim"])
        kim.send(WHY, "/grade", points="3", comment="Names the cause.")
    give = ("mark", results, "--points", "1", "--why", "read on paper", "--by", "gil")
    ok(*give, "--student", "s3", "--answer", "q1_why")
    ok(*give, "--student", "s4", "--answer", "q1_share")
    return results


def shown(page: str) -> list[tuple[str, str]]:
    """What was done, and by whom, newest first."""
    cells = r'<th scope="row">([^<]*)</th><td>([^<]*)</td>'
    return re.findall(cells, page.split("<tbody>")[1])


def asked(results: Path, query: str) -> list[tuple[str, str]]:
    with a_desk(results) as links:
        page = signed_in(links["kim"]).get(f"/audit?{query}")[1]
    assert f"{len(shown(page))} entr" in page
    return shown(page)


@pytest.mark.thorough
def test_words_and_filters_together_leave_what_fits_all(log: Path) -> None:
    graded, given = ("answer graded", "kim"), ("override set", "gil")
    everything = asked(log, "")
    assert {who for _, who in everything} == {"grader", "kim", "gil"}
    assert asked(log, "q=names+the+CAUSE") == [graded] * 3
    assert asked(log, "people=1") == [given, given, graded, graded, graded]
    assert asked(log, "person=gil") == [given, given]
    assert asked(log, "person=gi") == []
    assert asked(log, "part=sample/why&people=1") == [given, graded, graded, graded]
    assert asked(log, "part=sample/share") == [given]
    assert asked(log, "part=sample/share&person=kim") == []
    of_student = asked(log, "student=s3")
    assert of_student[0] == given
    assert ("submission executed", "grader") in of_student
    assert asked(log, "student=s3&people=1&q=paper") == [given]
    assert asked(log, "student=s3&people=1&q=cause") == []


@pytest.mark.thorough
def test_what_follows_from_a_rubric_or_a_dropped_part_is_about_the_part(log: Path) -> None:
    with a_desk(log) as links:
        kim = signed_in(links["kim"])
        fields = {"text": "names the lock", "points": "2"}
        kim.send(WHY, "/item", **fields)
        with Gradebook.open(log) as book:
            (item,) = book.rubrics.items()
        kim.send(WHY, "/item", **fields, number=item.number, feedback="Yes.")
    drop = ("--drop", "sample/share", "--apply", "--why", "ambiguous", "--by", "lin")
    ok("what-if", log, *drop, "--bank", log.parent / "bank")
    rubric = [("rubric item changed", "kim"), ("rubric item added", "kim")]
    assert asked(log, "part=sample/why&people=1")[:2] == rubric
    assert asked(log, "part=sample/share") == [
        ("setting changed", "lin"),
        ("override set", "gil"),
    ]


@pytest.mark.thorough
def test_two_people_who_settled_an_answer_are_both_found(log: Path) -> None:
    with Gradebook.open(log) as book:
        book.record("answer graded", by="ann and bea")
    for who in ("ann", "bea"):
        assert asked(log, f"person={who}") == [("answer graded", "ann and bea")]
    with a_desk(log) as links:
        page = signed_in(links["kim"]).get("/audit")[1]
    people = re.search(r'<select name="person">(.*?)</select>', page)
    assert people
    assert re.findall(r"<option[^>]*>([^<]+)<", people[1]) == ["all", "ann", "bea", "gil", "kim"]


@pytest.mark.thorough
def test_without_names_the_filter_takes_pseudonyms(log: Path) -> None:
    people = {"one": Person(id="hao", role=Role.HEAD_GRADER)}
    with a_desk(log, AccessLinks(people), anonymous=True) as links:
        hao = signed_in(links["hao"])
        page = hao.get("/audit")[1]
        assert not re.search(r"\bs[0-4]\b|Student [0-4]", page)
        assert hao.get("/audit?student=s3")[0] == 400
        ids = re.findall(r'<option value="(student-[0-9a-f]+)"', page)
        assert len(ids) == 5
        assert ids == sorted(ids), "the order of the roster tells who is who"
        found = [shown(hao.get(f"/audit?people=1&student={one}")[1]) for one in ids]
        given = [("override set", "gil")]
        assert sorted(found) == sorted([[("answer graded", "kim")]] * 3 + [given] * 2)
        assert shown(hao.get("/audit?q=s3")[1]) == []
        for one in ids:  # which would tell the order in which they were executed
            assert "submission executed" not in hao.get(f"/audit?student={one}")[1]


@pytest.mark.thorough
def test_pages_keep_the_filter(log: Path) -> None:
    with Gradebook.open(log) as book:
        for number in range(250):
            book.record("tested", by="kim", why=f"{number}")
    with a_desk(log) as links:
        kim = signed_in(links["kim"])
        page = kim.get("/audit?person=kim&q=tested&page=2")[1]
        assert "250 entries, newest first; page 2 of 3" in page
        assert len(shown(page)) == 100
        older = re.search(r'href="(/audit[^"]*)" data-key="j"', page)
        assert older
        assert len(shown(kim.get(older[1].replace("&amp;", "&"))[1])) == 50


@pytest.mark.thorough
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_keyboard_reaches_every_filter(log: Path, tmp_path: Path) -> None:
    with a_desk(log) as links, a_browser(tmp_path / "browser") as browser:
        browser.open(links["kim"])
        browser.open(links["kim"].partition("/enter")[0] + "/audit")
        for name in ("q", "person", "student", "part", "people"):
            browser.tab_to(f"[name={name}]")
        browser.press("p")
        browser.tab_to("[role=search] button")
        browser.press("Enter")
        browser.wait_for(
            "location.search.includes('people=1') && document.readyState === 'complete'"
        )
        assert browser.see("document.querySelectorAll('tbody tr').length") == 5
        browser.press("p", "f")
        browser.wait_for("!location.search.includes('people=1')")
        browser.open(links["kim"].partition("/enter")[0] + "/audit", width=390)
        found = browser.measure()
        assert found["scroll"] <= found["width"], found["out"]
        assert browser.complaints == []


@pytest.mark.thorough
def test_details_that_say_nothing_are_left_out(log: Path) -> None:
    with a_desk(log) as links:
        page = signed_in(links["kim"]).get("/audit")[1]
    assert "before None" not in page
    assert " False" not in page.split("<tbody>")[1]
