"""Formats that others rely on, byte for byte: a change here is a change for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import ok


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("golden")
    bank = a_bank(home / "bank")
    ok(
        "render", "quiz", "--roster", a_roster(home), "--out", home / "release",
        "--private-key", "golden", "--bank", bank,
    )  # fmt: skip
    ok(
        "solve", home / "release", "--student", "ada", "--out", home / "in" / "ada.ipynb",
        "--bank", bank,
    )  # fmt: skip
    ok(
        "grade", home / "in", "--release", home / "release", "--out", home / "results",
        "--bank", bank,
    )  # fmt: skip
    return home


@pytest.mark.thorough
def test_the_notebook_of_a_student(graded: Path, golden) -> None:
    golden("ada.ipynb", (graded / "release/notebooks/ada.ipynb").read_text(encoding="utf-8"))


def test_the_key_of_a_student(graded: Path, golden) -> None:
    golden("key.json", ok("key", graded / "release", "--student", "ada", "--json").output)


def test_the_grade_of_a_student(graded: Path, golden) -> None:
    grade = json.loads((graded / "results/grades/ada.json").read_text(encoding="utf-8"))
    assert set(grade["environment"]) >= {"python", "limits", "sandbox"}
    grade["environment"] = {}  # differs between machines
    golden("grade.json", json.dumps(grade, indent=1, ensure_ascii=False) + "\n")


def test_the_table_of_grades(graded: Path, golden) -> None:
    text = (graded / "results/grades.csv").read_bytes().decode()
    golden("grades.csv", text.replace("\r\n", "\n"))


def test_the_release(graded: Path, golden) -> None:
    data = json.loads((graded / "release/release.json").read_text(encoding="utf-8"))
    # The facts of the package's own bank come along; they have tests of their own.
    assert set(data) == {
        "schema", "private", "id", "engine", "private_key", "set", "digests", "problems",
        "facts", "students",
    }  # fmt: skip
    golden("problems.json", json.dumps(data["problems"], indent=1, ensure_ascii=False) + "\n")
