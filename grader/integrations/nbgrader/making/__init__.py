"""Exports a set as an nbgrader assignment: the source notebook, and the students' notebook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from grader.errors import SetupError
from grader.integrations.lms.quizzes.fit import fitting, notes_of
from grader.integrations.nbgrader.making.answers import form_of
from grader.integrations.nbgrader.making.cells import notebook_cells
from grader.model.assignment import SourceCell
from grader.model.exported import Exported
from grader.model.item import Item
from grader.model.quiz import Quiz
from grader.notebook import Cell, write
from grader.notebook.cells import CellType
from grader.notebook.nbgrader_cells import as_released, metadata, with_answers_cleared
from grader.text.escape import plain

__all__ = ["nbgrader"]

STUDENTS = "students"
"""Not `release`, because nbgrader does not regenerate an assignment that exists there."""
_ABOUT = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def nbgrader(quiz: Quiz, assignment: str, *, leave_out: bool = False) -> Exported:
    """The files of the assignment in a course, and notes on what nbgrader can't represent.

    Raises SetupError if a number has several questions, which a notebook can't draw from, and for
    parts that nbgrader's tests can't grade, unless *leave_out* is True.
    """
    drawn = [f"{pool.number}" for pool in quiz.pools if len(pool.questions) > 1]
    if drawn:
        raise SetupError(
            f"nbgrader gives all students the same notebook, and '{quiz.id}' has several questions "
            f"at number {', '.join(drawn)}",
            fix="draw one version of the set: `grader export nbgrader SET --version A`",
        )
    fitted = fitting(quiz, "nbgrader", _unfit, leave_out=leave_out)
    # Clean the text first, because nbgrader's checksums are computed from the written text.
    source = [replace(cell, source=plain(cell.source)) for cell in notebook_cells(fitted)]
    released = [as_released(with_answers_cleared(cell)) for cell in source]
    return Exported(
        files={
            f"source/{assignment}/{quiz.id}.ipynb": _bytes(source, released=False),
            f"{STUDENTS}/{assignment}/{quiz.id}.ipynb": _bytes(released, released=True),
        },
        notes=(*fitted.notes, *notes_of(fitted, _lost), _WHERE, _WHO),
    )


_WHERE = (
    f"the notebook in {STUDENTS}/ is what `nbgrader generate_assignment` makes from the one in "
    "source/; if nbgrader will grade it, run that command as well, because it records the cells"
)
_WHO = (
    "nbgrader runs the hidden tests in the student's kernel, where a malicious notebook can read "
    "and bypass them; this grader's own notebooks do not have this weakness"
)


def _unfit(item: Item, _points: float) -> str | None:
    return form_of(item).unfit(item)


def _lost(item: Item) -> Iterator[str]:
    yield from form_of(item).lost(item)


def _bytes(cells: list[SourceCell], *, released: bool) -> bytes:
    written = [
        Cell(
            type=cast("CellType", cell.type),
            source=cell.source,
            id=f"{number}-{cell.grade_id}"[:64].rstrip("-_"),
            metadata=metadata(cell, released=released),
        )
        for number, cell in enumerate(cells, 1)
    ]
    return write(written, _ABOUT)
