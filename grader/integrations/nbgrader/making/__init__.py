"""A set as an assignment of nbgrader: the source notebook, and the one that students get."""

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
"""Not `release`: nbgrader leaves an assignment alone that is there already."""
_ABOUT = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def nbgrader(quiz: Quiz, assignment: str, *, leave_out: bool = False) -> Exported:
    """The files of a course, and what does not survive.

    Raises SetupError where a student would get one of several questions, which a notebook can't
    draw, and for parts that nbgrader's tests can't judge, unless they are to be left out.
    """
    drawn = [f"{pool.number}" for pool in quiz.pools if len(pool.questions) > 1]
    if drawn:
        raise SetupError(
            f"nbgrader gives everybody the same notebook, and '{quiz.id}' has several questions at "
            f"number {', '.join(drawn)}",
            fix="draw one version of the set, as `grader export nbgrader SET --version A` does",
        )
    fitted = fitting(quiz, "nbgrader", _unfit, leave_out=leave_out)
    # What no file can hold goes first: nbgrader's checksums are of the text that is written.
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
    f"the notebook in {STUDENTS}/ is what `nbgrader generate_assignment` makes of the one in "
    "source/; run that all the same if nbgrader is to grade it, as it files the cells"
)
_WHO = (
    "nbgrader runs the hidden tests in the student's kernel, where a hostile notebook can read and "
    "answer them; this grader's own notebooks do not have that weakness"
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
