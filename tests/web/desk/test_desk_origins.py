"""The desk on nbgrader assignments, exams on paper, and students without a graded submission."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from grader.gradebook import Gradebook
from tests.helpers.banks import ESSAY, a_bank
from tests.helpers.commands import fails, ok
from tests.helpers.desk import Reader, a_desk, signed_in
from tests.helpers.nbgrader import a_cell, a_test, an_answer, filed, sourced, written
from tests.helpers.requests import request_file

CELL: dict[str, Any] = {"kind": "markdown", "grade": True, "solution": True, "points": 3.0}


@contextmanager
def kim_at(results: Path) -> Iterator[Reader]:
    with a_desk(results) as links:
        yield signed_in(links["kim"])


def check_pages(reader: Reader, students: tuple[str, ...]) -> None:
    """Every page opens, whatever the origin of the results."""
    views = [f"/student/{id_}{view}" for id_ in students for view in ("", "/code", "/attempts")]
    for path in ("/", "/students", "/requests", "/audit", *views):
        status, page = reader.get(path)
        assert status == 200, (path, page)


def part_links(reader: Reader) -> list[str]:
    _, page = reader.get("/")
    return [one.split('"')[0] for one in page.split('href="')[1:] if one.startswith("/part/")]


@pytest.mark.thorough
def test_an_nbgrader_assignment(tmp_path: Path) -> None:
    a_bank(tmp_path / "bank")
    essay = a_cell("### BEGIN SOLUTION\nkey\n### END SOLUTION", "essay", **CELL)
    solved = an_answer("### BEGIN SOLUTION\na = 1\n### END SOLUTION")
    sourced(tmp_path, essay, solved, a_test("assert a == 1"))
    texts = {"ada": "The <b>lock</b>.", "bob": "the <b>lock</b>"}
    handed = {
        id_: written(a_cell(text, "essay", **CELL), an_answer("a = 1"), a_test("assert a == 1"))
        for id_, text in texts.items()
    }
    filed(tmp_path, handed)
    results = tmp_path / "results"
    ok(
        "grade", tmp_path / "submitted", "--format", "nbgrader", "--out", results,
        "--source", tmp_path / "source" / "ps1", "--jobs", "1", "--bank", tmp_path / "bank",
    )  # fmt: skip
    ok("requests", results, "--open", "--bank", tmp_path / "bank")
    ok("requests", results, request_file(results, "ada", "essay"))
    with kim_at(results) as kim:
        check_pages(kim, ("ada", "bob"))
        assert "come from another system" in kim.get("/student/ada/code")[1]
        paths = part_links(kim)
        for path in paths:
            status, page = kim.get(path)
            assert status == 200, (path, page)
            assert "<b>lock" not in page
        kim.send(paths[0], "/grade", points="2", comment="good")
        status, page = kim.send(
            "/requests", "/request", outcome="accept", points="3", reply="Full points."
        )
        assert status == 200, page
    with Gradebook.open(results) as book:
        assert {one.student: one.points for one in book.overrides()} == {"ada": 3, "bob": 2}
    ok("report", results, "--bank", tmp_path / "bank")
    assert "Full points." in (results / "feedback" / "ada.html").read_text()


@pytest.mark.thorough
def test_an_exam_on_paper(tmp_path: Path) -> None:
    bank = a_bank(tmp_path / "bank", ESSAY)
    (tmp_path / "roster.csv").write_text("id,name,section\nada,Ada,A\nbob,Bob,A\n")
    ok(
        "render", "quiz", "--format", "html", "--roster", tmp_path / "roster.csv",
        "--out", tmp_path / "paper", "--bank", bank,
    )  # fmt: skip
    sheet = tmp_path / "paper" / "answers.csv"
    head, *lines = sheet.read_text(encoding="utf-8-sig").splitlines()
    columns = head.split(",")
    filled = []
    for line in lines:
        cells = dict(zip(columns, line.split(","), strict=True))
        if cells["student"] == "ada":
            cells["version"] = cells["version"] or "A"
            cells["q1_why"] = "2.5"
            cells["q1_bound"] = "A"
        filled.append(",".join(cells[name] for name in columns))
    sheet.write_text("\n".join([head, *filled]) + "\n")
    results = tmp_path / "results"
    ok(
        "enter", sheet, "--release", tmp_path / "paper" / "release.json", "--out", results,
        "--bank", bank,
    )  # fmt: skip
    with kim_at(results) as kim:
        check_pages(kim, ("ada", "bob"))
        assert "There is no execution to show." in kim.get("/student/ada/code")[1]
        for path in part_links(kim):
            status, page = kim.get(path)
            assert status == 200, (path, page)
        status, page = kim.send("/student/ada", "/override", points="1", comment="misread")
        assert status == 200, page
    with Gradebook.open(results) as book:
        assert [(one.student, one.points) for one in book.overrides()] == [("ada", 1)]


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """Results with a graded, an exempt, and an absent student."""
    bank = a_bank(tmp_path / "bank", ESSAY)
    (tmp_path / "roster.csv").write_text("id,name,section\nada,Ada,A\nbob,Bob,A\ncy,Cy,A\n")
    ok(
        "render", "quiz", "--roster", tmp_path / "roster.csv", "--out", tmp_path / "release",
        "--bank", bank,
    )  # fmt: skip
    for id_ in ("ada", "bob"):
        path = tmp_path / "in" / f"{id_}.ipynb"
        ok("solve", tmp_path / "release", "--student", id_, "--out", path, "--bank", bank)
    (tmp_path / "course.yaml").write_text(
        "id: systems\ntime_zone: Europe/Berlin\nstaff: {kim: {role: instructor}}\n"
        "sets:\n  quiz: {due: 2026-10-05 23:59}\n"
        "grants:\n- {student: ada, set: quiz, exempt: true, why: transfer, by: kim}\n"
    )
    ok(
        "grade", tmp_path / "in", "--release", tmp_path / "release", "--out",
        tmp_path / "results", "--bank", bank, "--course", tmp_path / "course.yaml",
    )  # fmt: skip
    return tmp_path / "results"


@pytest.mark.thorough
def test_exempt_and_absent_students(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ok("requests", course, "--open", "--bank", course.parent / "bank")
    assert "data-token" not in (course / "feedback" / "cy.html").read_text()
    with kim_at(course) as kim:
        check_pages(kim, ("ada", "bob", "cy"))
        _, page = kim.get("/student/ada")
        assert "<span>Exempt</span>" in page
        _, page = kim.get("/student/cy")
        assert "<span>No submission</span>" in page
        assert "Change this mark" not in page
    with Gradebook.open(course) as book:
        assert book.requests.every() == ()
    path = request_file(course, "bob", "q1_why", student="cy")
    assert "does not come from the feedback page of 'cy'" in fails(capsys, "requests", course, path)


@pytest.mark.thorough
def test_an_nbgrader_assignment_with_several_notebooks_shows_all(tmp_path: Path) -> None:
    a_bank(tmp_path / "bank")
    solved = an_answer("### BEGIN SOLUTION\na = 1\n### END SOLUTION")
    for name, answer in (("p1", "a = 1  # first"), ("p2", "a = 2  # second")):
        sourced(tmp_path, solved, a_test("assert a == 1"), name=name)
        filed(tmp_path, {"ada": written(an_answer(answer), a_test("assert a == 1"))}, name=name)
    results = tmp_path / "results"
    ok(
        "grade", tmp_path / "submitted", "--format", "nbgrader", "--out", results,
        "--source", tmp_path / "source" / "ps1", "--jobs", "1", "--bank", tmp_path / "bank",
    )  # fmt: skip
    with kim_at(results) as kim:
        page = kim.get("/student/ada")[1]
        assert "be shown" not in page
        assert page.index("# first") < page.index('id="cell-3"') < page.index("# second")
        assert "AssertionError" in page
        (tmp_path / "submitted" / "ada" / "ps1" / "p1.ipynb").unlink()
        page = kim.get("/student/ada")[1]
        assert "The notebook p1 can&#39;t be shown: the notebook can no longer be read" in page
        assert "# second" in page
