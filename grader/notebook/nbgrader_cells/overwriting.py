"""A submission with the instructor's cells in the place of those that may not be changed."""

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
    """What is executed in the place of a submission."""

    cells: tuple[Cell, ...]
    at: dict[str, int]
    """Where each cell stands that the assignment knows, by its id."""


def overwritten(cells: Sequence[Cell], source: SourceNotebook) -> Overwritten:
    """The student's *cells* as nbgrader would execute them.

    Of cells with the same id the last counts, as it does there; the others become cells like any
    other. What a cell is worth and whether it is locked is never taken from the submission.
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
    """Whether a student wrote nothing: the checksum is that of the cell as it was handed out."""
    return checksum(replace(source, source=written)) == checksum(source)
