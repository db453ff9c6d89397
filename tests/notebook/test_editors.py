"""A solved notebook that went through an editor still checks, and still earns everything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.collect.check.run import AnswerStatus, CheckResult, check
from grader.model import Limits
from tests.helpers import roundtrip as editors
from tests.helpers.commands import ok
from tests.helpers.roundtrip import CHANGES, NAMES, a_course

LIMITS = Limits(cell_seconds=20.0)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a student for each change, and what became of everybody's solved notebook."""
    home = a_course(tmp_path_factory.mktemp("roundtrip"), "plain", *CHANGES)
    for student, (name, change) in {"plain": ("{}.ipynb", bytes), **CHANGES}.items():
        path = home / "handed" / name.format(student)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(change((home / f"solved/{student}.ipynb").read_bytes()))
    return home


def handed(course: Path, student: str) -> Path:
    return course / "handed" / CHANGES[student][0].format(student)


def checked(course: Path, student: str) -> CheckResult:
    return check(handed(course, student), LIMITS)


@pytest.mark.thorough
def test_every_change_still_earns_full_marks(course: Path) -> None:
    said = ok(
        "grade", course / "handed", "--release", course / "release", "--bank", course / "bank",
        "--out", course / "results", "--json",
    )  # fmt: skip
    assert json.loads(said.stdout)["missing"] == []
    for student in ("plain", *CHANGES):
        grade = json.loads((course / f"results/grades/{student}.json").read_text("utf-8"))
        lost = [m for m in grade["marks"] if m["points"] != m["max_points"]]
        assert not lost, (student, lost)
        assert (grade["score"], grade["max_score"]) == (11, 11)


@pytest.mark.thorough
@pytest.mark.parametrize("student", CHANGES)
def test_every_change_is_still_read_by_the_students_own_check(course: Path, student: str) -> None:
    found = checked(course, student)
    assert [(line.name, line.status) for line in found.lines] == [
        (n, AnswerStatus.READ) for n in NAMES
    ]
    assert found.ready
    lines = {line.name: line for line in found.lines}
    assert (found.about.exam, found.about.student) == ("quiz", student)
    # The unit is known whatever became of the metadata.
    assert lines["q1_share"].text.startswith("read as ")
    assert lines["q1_share"].text.endswith(" GB")
    assert lines["q1_share"].how == "a number in GB, or a text with its unit"
    assert [one.fault for one in lines["q1_scaled"].example_results] == ["", ""]


@pytest.mark.thorough
def test_only_what_is_known_in_colab_alone_stops(course: Path) -> None:
    stopped = checked(course, "colab_with_drive").stopped_cells
    assert [(one.number, one.line, one.source) for one in stopped] == [
        (1, 1, "from google.colab import drive")
    ]


@pytest.mark.thorough
def test_without_metadata_and_last_cell_the_names_are_still_found(
    course: Path, tmp_path: Path
) -> None:
    tree = json.loads(editors.without_metadata((course / "solved/plain.ipynb").read_bytes()))
    del tree["cells"][-1]
    path = tmp_path / "bare.ipynb"
    path.write_text(json.dumps(tree))
    lines = check(path, LIMITS).lines
    assert [line.name for line in lines] == list(NAMES[:-1])  # a function is no assignment
    assert {line.text for line in lines} == {"there is an answer"}


def test_an_answer_that_lacks_its_sheet_is_still_seen_to_be_empty(
    course: Path, tmp_path: Path
) -> None:
    blank = (course / "release/notebooks/plain.ipynb").read_bytes()
    path = tmp_path / "colab.ipynb"
    path.write_bytes(editors.colab(blank))
    found = {line.name: line.status for line in check(path, LIMITS).lines}
    assert set(found) == set(NAMES)
    assert AnswerStatus.READ not in {f for n, f in found.items() if n != "q1_scaled"}
    assert not check(path, LIMITS).ready
