"""Files for the student's own repository that are the same for every exam."""

from __future__ import annotations

from pathlib import Path

from grader.errors import SetupError, SubmissionError
from grader.notebook import read
from grader.notebook.render import SCHEMA

TEST_EXAM = "test_exam.py"


def test_exam_source(templates: tuple[Path, ...]) -> str:
    """The text of `test_exam.py`: the public checks as plain pytest, a test for every part.

    It goes beside the one notebook of a repository as it is. *templates* are a bank's folders of
    templates, searched in order, so that a course may put its own in their place.
    """
    for folder in templates:
        path = folder / "classroom" / TEST_EXAM
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise SetupError(
        f"there is no template classroom/{TEST_EXAM}",
        where=", ".join(str(folder) for folder in templates),
        fix="install the package again",
    )


def is_ours(path: Path) -> bool:
    """Whether a notebook that was rendered here lies at *path*, whatever was done to it since."""
    try:
        found = read(path.read_bytes()).metadata.get("grader")
    except (OSError, SubmissionError):
        return False
    return isinstance(found, dict) and found.get("schema") == SCHEMA


test_exam_source.__test__ = False  # type: ignore[attr-defined]
