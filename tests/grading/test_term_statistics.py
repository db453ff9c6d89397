"""`grader report --collect`: what a graded class leaves beside the specs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from grader.bank.statistics import read_statistics
from tests.helpers.banks import SPEC, a_bank, a_roster
from tests.helpers.commands import ok

STUDENTS = ("ada", "bo", "cy", "di", "ed", "flo", "gus")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven students: two made the same mistake, and the others solved everything."""
    made = tmp_path_factory.mktemp("made")
    a_bank(made / "bank")
    roster = a_roster(made, "id\n" + "".join(f"{one}\n" for one in STUDENTS))
    ok("render", "quiz", "--roster", roster, "--out", made / "release", "--bank", made / "bank")
    for student in STUDENTS:
        path = made / "in" / f"{student}.ipynb"
        ok("solve", made / "release", "--student", student, "--out", path, "--bank", made / "bank")
        if student in ("ada", "bo"):
            data = json.loads(path.read_text())
            cell = next(c for c in reversed(data["cells"]) if c["cell_type"] == "code")
            own = {**cell, "id": "own", "source": "q1_share = 2 * q1_share", "metadata": {}}
            path.write_text(json.dumps(data | {"cells": [*data["cells"], own]}))
    ok(
        "grade", made / "in", "--release", made / "release", "--out", made / "results",
        "--bank", made / "bank",
    )  # fmt: skip
    return made


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def collect(home: Path, *more: object) -> list[str]:
    given = (home / "results", "--collect", "--bank", home / "bank", "--json", *more)
    found: list[str] = json.loads(ok("report", *given).stdout)["collected"]
    return found


@pytest.mark.thorough
def test_a_term_is_gathered_once_without_students_or_small_cells(home: Path) -> None:
    path = home / "bank/problems/memory-math/sample.stats.yaml"
    assert collect(home) == [str(path)]
    assert collect(home, "--term", "fall 2026") == [str(path)]
    (term,) = read_statistics(path)
    assert term.term == "fall 2026"
    share = term.parts["share"]
    assert (share.students, share.solved) == (7, pytest.approx(5 / 7, abs=0.001))
    assert share.mean == pytest.approx((5 + 2 * 0.25) / 7, abs=0.001)
    # Two students made the mistake, so it could tell who they are.
    assert share.mistakes == {}
    text = path.read_text()
    assert not set(re.findall(r"\w+", text)) & set(STUDENTS)
    assert (
        "`share`: 7 students, 79% of the points"
        in ok("show", "sample", "--bank", home / "bank").output
    )


@pytest.mark.thorough
def test_parts_with_too_few_answers_are_left_out(home: Path) -> None:
    ok(
        "what-if", home / "results", "--drop", "sample/share", "--apply", "--why", "ambiguous",
        "--bank", home / "bank",
    )  # fmt: skip
    said = ok("report", home / "results", "--collect", "--bank", home / "bank").output
    assert "fewer than 5 marks count: sample/share" in said
    (term,) = read_statistics(home / "bank/problems/memory-math/sample.stats.yaml")
    assert set(term.parts) == {"bound"}


@pytest.mark.thorough
def test_a_second_class_is_added_and_a_changed_problem_starts_anew(home: Path) -> None:
    (path,) = collect(home)
    shutil.copytree(home / "results", home / "again")
    a_bank(home / "bank", SPEC.replace("points: 2", "points: 4"))
    assert "Earlier terms" not in ok("show", "sample", "--bank", home / "bank").output
    ok("score", home / "results", "--specs", "current", "--bank", home / "bank")
    collect(home)
    assert len(read_statistics(Path(path))) == 2
    assert "Earlier terms" in ok("show", "sample", "--bank", home / "bank").output
