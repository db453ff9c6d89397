"""A file that can't be read is no zero: on the console, in pages, tables, JSON and exports."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from grader.grading.manual import list_waiting
from grader.integrations.csv_totals import Csv
from grader.integrations.exporting import class_results
from grader.integrations.github.classroom50 import SubmissionIdentity, result_files, runner_outputs
from grader.integrations.github.results import reporter_files, runners
from grader.integrations.gradescope.results import results_json
from grader.model.exported import ClassResults
from grader.model.result import Standing
from tests.helpers.banks import ESSAY, a_bank, a_roster
from tests.helpers.commands import ok
from tests.helpers.gradebooks import canvas_gradebook

NOTEBOOK = '{"cells": [%s], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
CELL = '{"cell_type": "code", "source": "", "metadata": {}, "outputs": []}'
FILES = {
    "a PDF": b"%PDF-1.7",
    "a broken notebook": b'{"cells": [',
    "2,001 cells": (NOTEBOOK % ",".join([CELL] * 2001)).encode(),
    "65 MB": (NOTEBOOK % "").encode() + b" " * 65_000_000,
}


@pytest.fixture(scope="module", params=FILES)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ada has all points but those of an essay, bo handed in what can't be read, cy nothing."""
    home = tmp_path_factory.mktemp("course")
    bank = a_bank(home / "bank", ESSAY)
    ok("render", "quiz", "--roster", a_roster(home), "--out", home / "release", "--bank", bank)
    ok(
        "solve", home / "release", "--student", "ada", "--bank", bank,
        "--out", home / "in" / "ada.ipynb",
    )  # fmt: skip
    (home / "in" / "bo.ipynb").write_bytes(FILES[request.param])
    done = ok(
        "grade", home / "in", "--release", home / "release", "--out", home / "results",
        "--bank", bank,
    )  # fmt: skip
    (home / "console.txt").write_text(done.stdout)
    return home


@pytest.fixture
def exported(home: Path) -> ClassResults:
    return class_results(home / "results")


@pytest.mark.thorough
def test_its_marks_are_open_with_the_reason_and_wait_for_a_person(home: Path) -> None:
    with Gradebook.open(home / "results") as book:
        grade = book.grade("bo")
    assert grade is not None
    assert {mark.points for mark in grade.marks} == {None}
    assert all(mark.feedback for mark in grade.marks)
    assert {
        line["answer"] for line in list_waiting(home / "results") if line["student"] == "bo"
    } == {mark.name for mark in grade.marks}


@pytest.mark.thorough
def test_console_json_and_report_count_the_same(home: Path) -> None:
    console = (home / "console.txt").read_text()
    assert console.startswith(
        "3 students, 1 graded, 1 can't be read, 1 no submission. "
        "Mean 100%, median 100% of the settled points of 1 student."
    )
    report = ok("report", home / "results", "--bank", home / "bank", "--json")
    told = json.loads(report.stdout)
    assert told["class"]["counted"] == 1
    assert told["class"]["mean"] == told["class"]["median"] == 1.0
    page = (home / "results" / "report" / "index.html").read_text()
    assert "1 student by share of the settled points" in page
    assert "of 1 student" in page


def test_it_has_no_total_in_the_tables(home: Path, exported: ClassResults) -> None:
    with (home / "results" / "grades.csv").open(newline="") as file:
        [bo] = [line for line in csv.DictReader(file) if line["student"] == "bo"]
    assert bo.pop("standing") == "can't be read"
    assert {bo.pop("student"), bo.pop("max")} == {"bo", "7"}
    assert set(bo.values()) == {""}
    data = json.loads((home / "results" / "grades" / "bo.json").read_text())
    assert data["complete"] is False
    [line] = [
        line
        for line in csv.DictReader(
            Csv().export(exported).files["results.csv"].decode("utf-8-sig").splitlines()
        )
        if line["student"] == "bo"
    ]
    assert (line["total"], line["so_far"], line["complete"]) == ("", "", "no")


def test_its_page_says_so_and_shows_no_points(home: Path) -> None:
    page = (home / "results" / "feedback" / "bo.html").read_text()
    assert "Your submission can't be read" in page
    assert not re.search(r"<strong>0</strong>", page)


@pytest.mark.parametrize(("zero", "cell"), [(False, ""), (True, "0.00")])
def test_a_gradebook_is_left_alone_unless_zeros_are_asked_for(
    exported: ClassResults, zero: bool, cell: str
) -> None:
    table = b"Student,ID,SIS Login ID,Quiz (1)\nPoints Possible,,,7\nB,2,bo,\nA,1,ada,\n"
    made = canvas_gradebook(exported, table, "g.csv", column="Quiz", missing_as_zero=zero)
    rows = list(csv.reader(made.files["g.csv"].decode().splitlines()))
    assert next(row[3] for row in rows if row[2] == "bo") == cell


def test_no_platform_gets_a_zero(exported: ClassResults) -> None:
    [bo] = [one for one in exported.results if one.feedback.student.id == "bo"]
    assert bo.feedback.standing is Standing.REFUSED
    refusal = bo.feedback.refusal
    assert refusal
    document = json.loads(results_json(bo))
    assert "score" not in document
    assert all("score" not in test for test in document["tests"])
    assert refusal[:40] in document["output"]
    assert runners(bo, leave_out=True) == ()
    assert any(refusal in note for note in reporter_files(bo, leave_out=True).notes)
    whose = SubmissionIdentity(
        classroom="c", assignment="a", assignment_type="individual", owner="bo",
        submission="submit/1", commit="u", release="u", review="u",
    )  # fmt: skip
    made = result_files(bo, whose, leave_out=True, submitted_at="2026-01-01T00:00:00Z")
    assert json.loads(made.files["result.json"])["max-score"] == 0
    assert refusal[:20] in made.files["release-body.md"].decode()
    assert runner_outputs(bo, leave_out=True)["status"] == "failure"
