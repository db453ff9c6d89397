"""The list of students, and notebooks that can't be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from tests.helpers.commands import ok
from tests.helpers.desk import a_desk, form_of, signed_in


@pytest.fixture
def broken(results: Path) -> Path:
    """The class after one of its students has handed in a file that is no notebook."""
    home = results.parent
    (home / "in" / "s2.ipynb").write_bytes(b"this is no notebook")
    ok(
        "grade", home / "in", "--release", home / "release", "--out", results,
        "--bank", home / "bank",
    )  # fmt: skip
    return results


def listed(page: str) -> list[str]:
    return re.findall(r'href="/student/(\w+)"', page)


@pytest.mark.thorough
def test_a_notebook_that_cannot_be_read_is_no_answer_to_grade(broken: Path) -> None:
    with a_desk(broken) as links:
        kim = signed_in(links["kim"])
        _, queue = kim.get("/")
        assert re.search(r"<dt>Answers to grade</dt><dd>4</dd>", queue)
        found = re.search(r'<a href="([^"]+)">1 notebook can’t be read</a>', queue)
        assert found
        _, page = kim.get(found[1].replace("&amp;", "&"))
        assert listed(page) == ["s2"]
        assert "this file is not a notebook" in page or "not JSON" in page
        assert "s2" not in listed(kim.get("/part/sample/why")[1])
        # A person may still grade such a student, who stays in the list until nothing is open.
        parts = re.findall(r'name="part" value="(\w+)"', kim.get("/student/s2")[1])
        assert len(parts) > 1
        for part in parts:
            assert "1 notebook can’t be read" in kim.get("/")[1]
            page = kim.get("/student/s2")[1]
            start = page.rindex('<form method="post"', 0, page.index(f'name="part" value="{part}"'))
            fields = form_of(page[start:], "/override")
            kim.post("/override", {**fields, "points": "0", "comment": "handed in a text file"})
        _, queue = kim.get("/")
        assert "can’t be read" not in queue
        assert re.search(r"<dt>Answers to grade</dt><dd>4</dd>", queue)


@pytest.mark.thorough
def test_the_list_can_be_filtered_and_sorted(results: Path) -> None:
    with Gradebook.open(results) as book:
        sections = {one.id: one.section for one in book.students().values()}
    with a_desk(results) as links:
        kim = signed_in(links["kim"])
        kim.send("/student/s3", "/override", points="0", comment="copied")
        _, everyone = kim.get("/students")
        assert listed(everyone) == sorted(sections)
        _, page = kim.get("/students?section=A")
        assert listed(page) == [one for one in sorted(sections) if sections[one] == "A"]
        assert f"of {len(sections)}" in page
        _, page = kim.get("/students?order=points")
        assert listed(page)[0] == "s3"
        _, page = kim.get("/students?order=section&standing=graded")
        assert listed(page) == sorted(sections, key=lambda one: (sections[one], one))
        _, page = kim.get("/students?standing=exempt")
        assert listed(page) == []
        assert "No students match." in page
        assert kim.get("/students?order=nonsense&section=%3Cb%3E")[0] == 200


@pytest.mark.thorough
def test_who_sees_no_names_sees_no_sections(results: Path) -> None:
    with a_desk(results, anonymous=True) as links:
        kim = signed_in(links["kim"])
        _, page = kim.get("/students?order=section")
        assert "Section" not in page
        assert len(re.findall(r'href="/student/student-', page)) == 5
        # A filter by section would tell who is in it.
        assert re.findall(r'href="/student/student-', kim.get("/students?section=A")[1]) == []
