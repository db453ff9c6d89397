"""One submission on a class's runner, from files and names that nobody expects."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath

import pytest

from grader.collect.check.run import AnswerLine, AnswerStatus
from grader.errors import SetupError
from grader.grading.settings import Settings
from grader.integrations.github.autograding import answer_test, grade_submission
from grader.integrations.nbgrader.collecting import _CourseLayout


def test_a_name_that_leads_elsewhere_is_nobody_s(tmp_path: Path) -> None:
    """It is refused before anything is written, and before the release is looked at."""
    target = tmp_path / "elsewhere"
    back = "../" * (len(Path(tempfile.gettempdir()).parts) + 2)
    with pytest.raises(SetupError, match="has no student"):
        grade_submission(tmp_path, f"{back}{target}/x", tmp_path / "release.json", Settings())
    assert not target.exists()


def test_a_number_of_a_question_that_no_exam_has() -> None:
    """A student may call a cell's answer whatever they like."""
    names = ("q" + "1" * 5000 + "_a", "q2_b")
    lines = [AnswerLine(name=name, status=AnswerStatus.READ, text="read") for name in names]
    tests = [answer_test(line, 100) for line in lines]
    assert tests[1]["test-name"] == "q2_b: exists and can be read (public check only)"
    assert [test["score"] for test in tests] == [100, 100]


def test_the_folder_itself_belongs_to_no_assignment() -> None:
    """Its name is said where it can't be opened."""
    assert not _CourseLayout("ps1", ["a"]).is_other_assignment(PurePosixPath("."))
