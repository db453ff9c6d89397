"""Replaces the locked cells of a submission with the instructor's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from grader.model.assignment import SourceCell, SourceNotebook
from grader.notebook import Cell
from grader.notebook.cells import CellType
from grader.notebook.nbgrader_cells.metadata import checksum, grade_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwritten:
    """The cells to execute for a submission."""

    cells: tuple[Cell, ...]
    at: dict[str, int]
    """The index of each cell of the assignment, by its id."""


def overwrite_cells(cells: Sequence[Cell], source: SourceNotebook) -> Overwritten:
    """Returns the student's *cells* as nbgrader would execute them.

    If several cells have the same id, the last one counts, as in nbgrader. Points and locks are
    never taken from the submission.
    """
    known = {cell.grade_id: cell for cell in source.cells}
    at: dict[str, int] = {}
    for index, cell in enumerate(cells):
        name = grade_id(cell)
        if name in known:
            at[name] = index
    found = list(cells)
    for name, index in at.items():
        mine, theirs = known[name], found[index]
        text = mine.source if mine.is_locked else theirs.source
        found[index] = replace(theirs, type=cast("CellType", mine.type), source=text)
    return Overwritten(cells=tuple(found), at=at)


def is_untouched(source: SourceCell, written: str) -> bool:
    """Returns whether the student left the cell unchanged, by its checksum."""
    return checksum(replace(source, source=written)) == checksum(source)
