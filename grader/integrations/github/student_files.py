"""Files for students' repositories that are the same for every exam."""

from __future__ import annotations

from pathlib import Path

from grader.errors import SetupError, SubmissionError
from grader.notebook import read
from grader.notebook.render import SCHEMA

TEST_EXAM = "test_exam.py"


def test_exam_source(templates: tuple[Path, ...]) -> str:
    """The text of `test_exam.py`: the public checks as pytest, one test per part.

    The file goes next to the notebook of a repository. *templates* are folders that are searched
    in order, so that a course can override the template. Raises SetupError if it is missing.
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


def is_rendered_notebook(path: Path) -> bool:
    """Whether the file at *path* is a notebook that this package rendered, even if edited since."""
    try:
        found = read(path.read_bytes()).metadata.get("grader")
    except (OSError, SubmissionError):
        return False
    return isinstance(found, dict) and found.get("schema") == SCHEMA


test_exam_source.__test__ = False  # type: ignore[attr-defined]
