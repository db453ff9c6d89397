"""What other rules would do to a graded class, and that a change lasts and can be withdrawn."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from grader.gradebook import Gradebook
from grader.grading.adjustments import GradeCurve
from tests.helpers.banks import ESSAY, SPEC, a_bank, a_roster
from tests.helpers.commands import fails, ok

OWN = {
    "ada": "",
    "bo": "q1_share = 2 * q1_share",  # the declared mistake fp32
    "cy": "q1_share = 1.015 * q1_share",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graded class: ada is right, bo made a known mistake, cy is 1.5% off, di is missing."""
    made = tmp_path_factory.mktemp("made")
    a_bank(made / "bank")
    roster = a_roster(made, "id\nada\nbo\ncy\ndi\n")
    ok(
        "render", "quiz", "--roster", roster, "--out", made / "release", "--bank", made / "bank",
    )  # fmt: skip
    for student, own in OWN.items():
        path = made / "in" / f"{student}.ipynb"
        ok("solve", made / "release", "--student", student, "--out", path, "--bank", made / "bank")
        data = json.loads(path.read_text())
        cell = next(c for c in reversed(data["cells"]) if c["cell_type"] == "code")
        data["cells"].append({**cell, "id": "own", "source": own, "metadata": {}})
        path.write_text(json.dumps(data))
    ok(
        "grade", made / "in", "--release", made / "release", "--out", made / "results",
        "--bank", made / "bank",
    )  # fmt: skip
    return made


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def what_if(home: Path, *options: object) -> dict[str, Any]:
    given = (home / "results", "--bank", home / "bank", "--json", *options)
    found: dict[str, Any] = json.loads(ok("what-if", *given).stdout)
    return found


def who(found: dict[str, Any]) -> dict[str, tuple[float, float]]:
    return {one["student"]: (one["before"], one["after"]) for one in found["changes"]}


def grade_of(home: Path, student: str) -> dict[str, Any]:
    grade: dict[str, Any] = json.loads((home / f"results/grades/{student}.json").read_text())
    return grade


def line_of(home: Path, student: str) -> dict[str, str]:
    with (home / "results/grades.csv").open() as file:
        return next(line for line in csv.DictReader(file) if line["student"] == student)


def contents(home: Path) -> dict[str, bytes]:
    """The files of the results, and the rows of the gradebook without derived ones."""
    found = {
        str(path): path.read_bytes()
        for path in (home / "results").rglob("*")
        if path.is_file() and "gradebook.sqlite" not in path.name
    }
    with sqlite3.connect(home / "results/gradebook.sqlite") as book:
        for table in ("settings", "audit", "grades", "overrides"):
            found[table] = repr(book.execute(f"SELECT * FROM {table}").fetchall()).encode()
    return found


def score_again(home: Path) -> None:
    ok("score", home / "results", "--bank", home / "bank")


def test_the_class_is_as_planned(home: Path) -> None:
    totals = {student: grade_of(home, student)["score"] for student in OWN}
    assert totals == {"ada": 3, "bo": 1.5, "cy": 1}


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        (("--tolerance", "sample/share=2%"), {"cy": (1, 3)}),
        (("--tolerance", "sample/share=3x"), {"cy": (1, 3), "bo": (1.5, 3)}),
        (("--tolerance", "sample/share=03.x"), {"cy": (1, 3), "bo": (1.5, 3)}),
        (("--credit", "sample/share=fp32:75%"), {"bo": (1.5, 2.5)}),
        (("--key", "sample/share=2 * weights / gpus"), {"ada": (3, 1), "bo": (1.5, 3)}),
        (
            ("--curve", "1+1"),
            {"bo": (1.5, 2.5), "cy": (1, 2)},  # ada has the maximum
        ),
        (("--drop", "sample/share"), {"ada": (3, 1), "bo": (1.5, 1), "cy": (1, 1)}),
        (
            ("--tolerance", "sample/share=2%", "--credit", "sample/share=fp32:0.5"),
            {"bo": (1.5, 2), "cy": (1, 3)},
        ),
    ],
)
def test_it_says_who_would_change_and_writes_nothing(
    home: Path, options: tuple[str, ...], changes: dict[str, tuple[float, float]]
) -> None:
    before = contents(home)
    found = what_if(home, *options)
    assert {id_: both for id_, both in who(found).items() if id_ != "di"} == changes
    assert found["before"]["students"] == found["after"]["students"] == 3
    assert sum(found["after"]["bins"]) == 3
    assert contents(home) == before


def test_the_distribution_is_that_of_the_totals(home: Path) -> None:
    found = what_if(home, "--tolerance", "sample/share=2%")
    assert found["before"]["mean"] == pytest.approx((3 + 1.5 + 1) / 9)
    assert found["after"]["mean"] == pytest.approx((3 + 1.5 + 3) / 9)
    text = ok("what-if", home / "results", "--curve", "1.1", "--bank", home / "bank").output
    assert "2 totals would change: 2 up, 0 down." in text
    assert "mean" in text


def test_the_specs_of_an_edited_bank_can_be_tried(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = a_bank(home / "edited", SPEC.replace("relative: 1%", "relative: 2%"))
    assert who(what_if(home, "--specs", edited)) == {"cy": (1, 3)}
    refused = fails(
        capsys, "what-if", home / "results", "--specs", edited, "--apply", "--why", "wider",
        "--bank", home / "bank",
    )  # fmt: skip
    assert "--specs current" in refused


@pytest.mark.thorough
def test_a_tolerance_lasts_and_the_released_one_can_return(home: Path) -> None:
    what_if(home, "--tolerance", "sample/share=2%", "--apply", "--why", "rounded inputs")
    assert grade_of(home, "cy")["score"] == 3
    score_again(home)
    assert grade_of(home, "cy")["score"] == 3
    with Gradebook.open(home / "results") as book:
        whys = [line.why for line in book.audit()]
    assert "rounded inputs (tolerance sample/share=2%)" in whys
    ok("score", home / "results", "--specs", "released", "--bank", home / "bank")
    assert grade_of(home, "cy")["score"] == 1


def test_a_dropped_part_lasts_is_visible_and_can_return(home: Path) -> None:
    what_if(home, "--drop", "sample/share", "--apply", "--why", "The unit was ambiguous.")
    score_again(home)
    for student in ("ada", "bo", "cy"):
        assert (grade_of(home, student)["score"], grade_of(home, student)["max_score"]) == (1, 1)
        assert (line_of(home, student)["total"], line_of(home, student)["max"]) == ("1", "1")
    assert grade_of(home, "di")["max_score"] == 1
    mark = grade_of(home, "bo")["marks"][0]
    assert mark["feedback"].endswith("This part does not count: The unit was ambiguous.")
    assert "does not count: The unit" in (home / "results/feedback/bo.html").read_text()
    ok(
        "what-if", home / "results", "--withdraw", "--why", "It was clear.", "--bank",
        home / "bank",
    )  # fmt: skip
    assert grade_of(home, "bo")["score"] == 1.5
    with Gradebook.open(home / "results") as book:
        whys = [line.why for line in book.audit() if line.detail.get("name") == "adjustments"]
    assert whys == ["The unit was ambiguous.", "It was clear."]


def test_a_curve_lasts_is_visible_and_can_return(home: Path) -> None:
    what_if(home, "--curve", "1.2+0.5", "--apply", "--why", "The exam was long.")
    score_again(home)
    assert [grade_of(home, one)["score"] for one in OWN] == pytest.approx([3, 2.3, 1.7])
    bo = line_of(home, "bo")
    assert (bo["total"], bo["raw"], bo["deduction"]) == ("2.3", "1.5", "-0.8")
    assert (
        "Curve: total times 1.2 plus 0.5, at most the maximum. Reason: The exam was long."
        in bo["why"]
    )
    assert "The exam was long." in (home / "results/feedback/bo.html").read_text()
    report = (home / "results/report/index.html").read_text()
    assert "deducted in all" not in report
    assert grade_of(home, "bo")["deduction"]["curve"] == pytest.approx(0.8)
    assert (
        str(GradeCurve(factor=1, points=-2, why="")) == "total times 1 minus 2, at most the maximum"
    )
    # A second curve replaces the first.
    assert who(what_if(home, "--curve", "1")) == {"bo": (2.3, 1.5), "cy": (1.7, 1)}
    ok("what-if", home / "results", "--withdraw", "--why", "no", "--bank", home / "bank")
    assert grade_of(home, "bo")["score"] == 1.5
    assert "raw" not in line_of(home, "bo")


def test_another_late_policy_can_be_tried_and_applied(home: Path) -> None:
    course = home / "course.yaml"
    course.write_text(
        "id: systems\ntime_zone: Europe/Berlin\nstaff: {kim: {role: instructor}}\n"
        "late: {deduct: 50%}\nsets:\n  quiz: {due: 2026-10-05 23:59}\n"
    )
    (home / "times.csv").write_text("student,received\nada,2026-10-06 12:00\n")
    ok(
        "grade", home / "in", "--release", home / "release", "--out", home / "results",
        "--bank", home / "bank", "--times", home / "times.csv", "--course", course,
    )  # fmt: skip
    assert grade_of(home, "ada")["score"] == 1.5
    course.write_text(course.read_text().replace("50%", "10%"))
    assert who(what_if(home, "--course", course)) == {"ada": (1.5, 2.7)}
    # The curve is for what is left after deductions.
    both = who(what_if(home, "--course", course, "--curve", "1+0.1"))
    assert both["ada"] == (1.5, pytest.approx(2.8))
    what_if(home, "--course", course, "--apply", "--why", "the network was down")
    assert grade_of(home, "ada")["score"] == 2.7


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Name a change"),
        (("--drop", "share"), "'share' is not a part"),
        (("--drop", "sample/shares"), "did you mean 'share'?"),
        (("--drop", "simple/share"), "no problem 'simple'"),
        (("--tolerance", "sample/share"), "has no value"),
        (("--tolerance", "sample/bound=2%"), "tolerance"),
        (("--tolerance", "sample/share=wide"), "can't change 'tolerance sample/share=wide'"),
        (("--tolerance", "sample/share=.5x"), "can't change 'tolerance sample/share=.5x'"),
        (("--tolerance", "sample/share=1.5.2x"), "can't change 'tolerance sample/share=1.5.2x'"),
        (("--key", "sample/share=weight / gpus"), "weight"),
        (
            ("--key", "sample/bound=fp8"),
            "can't change 'key sample/bound=fp8': unknown key 'answer'",
        ),
        (("--credit", "sample/share=fp32"), "has no credit"),
        (("--credit", "sample/share=fp33:1"), "did you mean 'fp32'?"),
        (("--curve", "high"), "write 1.05 or 1+2"),
        (("--drop", "sample/share", "--apply"), "needs a reason"),
        (("--withdraw",), "needs a reason"),
        (
            ("--withdraw", "--drop", "sample/share", "--why", "no"),
            "can't be used with another change",
        ),
    ],
)
def test_errors_say_what_is_wrong(
    home: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(home)
    refused = fails(capsys, "what-if", home / "results", "--bank", home / "bank", *options)
    assert said in refused
    assert contents(home) == before


def test_nothing_to_withdraw_is_no_error(home: Path) -> None:
    said = ok("what-if", home / "results", "--withdraw", "--why", "a mistake").stdout
    assert said == "Nothing to withdraw.\n"


@pytest.mark.thorough
def test_an_open_mark_is_neither_a_zero_nor_part_of_the_maximum(tmp_path: Path) -> None:
    a_bank(tmp_path / "bank", ESSAY)
    roster = a_roster(tmp_path, "id\nada\nbo\n")
    bank = ("--bank", tmp_path / "bank")
    ok("render", "quiz", "--roster", roster, "--out", tmp_path / "release", *bank)
    for student in ("ada", "bo"):
        path = tmp_path / "in" / f"{student}.ipynb"
        ok("solve", tmp_path / "release", "--student", student, "--out", path, *bank)
    results = tmp_path / "results"
    graded = ok(
        "grade", tmp_path / "in", "--release", tmp_path / "release", "--out", results, *bank
    )
    assert "Mean 100%, median 100%" in graded.output
    found = what_if(tmp_path, "--drop", "sample/why")
    assert (found["before"]["mean"], found["after"]["mean"]) == (1, 1)
    assert {one["difference"] for one in found["changes"]} == {0}
    text = ok("what-if", results, "--drop", "sample/why", *bank).output
    assert "2 totals would change: 0 up, 0 down, 2 with the same share of the points." in text
    assert "-0.0%" not in text
