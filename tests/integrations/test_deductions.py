"""What each format says of points after a deduction, and of students who are exempt."""

from __future__ import annotations

import base64
import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from grader.errors import SetupError
from grader.integrations.csv_totals import Csv
from grader.integrations.github.actions import summary_of
from grader.integrations.github.classroom50 import SubmissionIdentity, result_files
from grader.integrations.github.results import GitHub
from grader.integrations.gradescope.results import Gradescope
from grader.integrations.lms.gradebooks.canvas import Canvas
from grader.integrations.lms.gradebooks.worksheet import Worksheet
from grader.integrations.results import deduction_text
from grader.model.result import Feedback
from grader.testing.samples import LATE, exempt_class, settled_classes

CLASS = settled_classes()["a late submission"]
ADA = CLASS.results[0]
EXEMPT = exempt_class()
WHOSE = SubmissionIdentity(
    classroom="c",
    assignment="a",
    assignment_type="individual",
    owner="ada",
    submission="submit/1",
    commit="https://e.org/c",
    release="https://e.org/r",
    review="https://e.org/v",
)


def lines(text: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(text.decode("utf-8-sig").splitlines()))


def test_csv_has_the_points_before_and_the_reason() -> None:
    ada, bo = lines(Csv().export(CLASS).files["results.csv"])
    assert (ada["total"], ada["raw"], ada["deduction"], ada["why"]) == ("4.5", "6", "1.5", LATE)
    assert (bo["total"], bo["raw"], bo["deduction"]) == ("8", "8", "")
    exempt = Csv().export(EXEMPT)
    assert lines(exempt.files["results.csv"])[0]["total"] == ""
    assert "no total for ada: exempt" in exempt.notes


@pytest.fixture
def canvas(tmp_path: Path) -> Canvas:
    path = tmp_path / "Grades.csv"
    path.write_text(
        "Student,ID,SIS Login ID,Section,Midterm (1)\n    Points Possible,,,,8\n"
        "Ada,1,ada,B,3\nBo,2,bo,B,\n"
    )
    return Canvas(gradebook=path, column="Midterm")


def test_canvas_gets_the_total_and_excuses_who_is_exempt(canvas: Canvas) -> None:
    made = canvas.export(CLASS)
    assert b"Ada,1,ada,B,4.50\n" in made.files["Grades.csv"]
    assert any("after deductions; see `grader course late`" in note for note in made.notes)
    made = canvas.export(EXEMPT)
    assert b"Ada,1,ada,B,EX\n" in made.files["Grades.csv"]
    assert b"Bo,2,bo,B,6.00\n" in made.files["Grades.csv"]
    assert "ada: exempt, excused" in made.notes


SHEET = "Identifier,Full name,Email address,Grade,Maximum grade,Feedback comments\n"


@pytest.mark.parametrize("comment", ["", "Well done"])
def test_moodles_worksheet_gets_the_reason_as_a_comment(tmp_path: Path, comment: str) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(f"{SHEET}Participant 1,Ada,ada@example.edu,,8,{comment}\n")
    made = Worksheet(gradebook=path).export(CLASS)
    [ada] = lines(made.files["sheet.csv"])
    assert ada["Grade"] == "4.50"
    said = f"1.5 of 6 points are deducted. {LATE}"
    assert ada["Feedback comments"] == (comment or said)
    assert any(("is kept" if comment else "as a comment") in note for note in made.notes)
    if not comment:
        path.write_bytes(made.files["sheet.csv"])
        again = Worksheet(gradebook=path).export(CLASS)
        assert again.files["sheet.csv"] == path.read_bytes()


def test_moodles_worksheet_has_an_empty_cell_for_who_is_exempt(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(f"{SHEET}Participant 1,Ada,ada@example.edu,7.00,8,\n")
    made = Worksheet(gradebook=path, missing_as_zero=True).export(EXEMPT)
    assert lines(made.files["sheet.csv"])[0]["Grade"] == ""


def test_github_classroom_adds_up_tests_and_the_note_says_so() -> None:
    made = GitHub().export(ADA)
    outputs = json.loads(made.files["outputs.json"])
    payloads = [json.loads(base64.b64decode(outputs[n])) for n in outputs["runners"].split(",")]
    assert sum(test["score"] for one in payloads for test in one["tests"]) == 6
    assert "total after deductions: 4.5 of 8 points" in payloads[0]["message"]
    assert LATE in payloads[0]["message"]
    assert "message" not in payloads[1]
    [note] = [note for note in made.notes if "after deductions" in note]
    assert note.startswith("ada: the total is 4.5 after deductions, and GitHub Classroom shows 6")


def test_classroom50_gets_the_score_after_deductions() -> None:
    made = result_files(ADA, WHOSE)
    data = json.loads(made.files["result.json"])
    assert (data["score"], sum(test["score"] for test in data["tests"])) == (450, 600)
    body = made.files["release-body.md"].decode()
    assert "4.5 of 8 points" in body
    assert "1.5 of 6 points are deducted." in body


def test_gradescope_gets_the_score_after_deductions_and_the_reason() -> None:
    data = json.loads(Gradescope().export(ADA).files["results.json"])
    assert data["score"] == 4.5
    assert f"1.5 of 6 points are deducted. {LATE}" in data["output"]


@pytest.mark.parametrize("export", [GitHub().export, lambda one: result_files(one, WHOSE)])
def test_who_is_exempt_gets_no_result(export) -> None:
    with pytest.raises(SetupError, match="'ada' is exempt"):
        export(EXEMPT.results[0])


def test_gradescope_records_no_score_for_who_is_exempt() -> None:
    data = json.loads(Gradescope().export(EXEMPT.results[0]).files["results.json"])
    assert "score" not in data
    assert [test for test in data["tests"] if "score" in test] == []
    assert "You are exempt" in data["output"]


def test_the_summary_on_github_has_the_reason() -> None:
    text = summary_of(ADA)
    assert "4.5 of 8 points" in text
    assert "1.5 of 6 points are deducted." in text
    assert "Exempt, so there is no total" in summary_of(EXEMPT.results[0])


def test_a_mean_above_the_newest_attempt_is_no_deduction() -> None:
    taken = replace(ADA.feedback.deduction, points=-1.0, why="Mean of 2 attempts: 8, 6.")
    better: Feedback = replace(ADA.feedback, score=7.0, raw_score=6.0, deduction=taken)
    assert deduction_text(better) == "This attempt earned 6. Mean of 2 attempts: 8, 6."
