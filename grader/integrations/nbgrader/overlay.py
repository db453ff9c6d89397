"""Puts the instructor's cells into a submission, and reads the outputs of test cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from grader.integrations.nbgrader.assignment import SourceCell, SourceNotebook
from grader.integrations.nbgrader.cells import cell_checksum, grade_id
from grader.model import Answer, Raw
from grader.model.evidence import Overlay
from grader.notebook import Cell
from grader.notebook.cells import CellType

OUTPUTS, WRITTEN = "outputs", "written"
"""Tags in evidence: the outputs of a test cell, and the text that a student wrote."""
_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class NotebookOverlay(Overlay):
    """Replaces the locked cells of a submission, as nbgrader does before it executes it."""

    source: SourceNotebook

    def apply(self, cells: Sequence[Cell]) -> tuple[Cell, ...]:
        """Returns the student's *cells* with the text and type of locked ones from the source."""
        sources = {cell.grade_id: cell for cell in self.source.cells}
        replaced = list(cells)
        for name, index in self.places(cells).items():
            source, submitted = sources[name], replaced[index]
            text = source.source if source.is_locked else submitted.source
            replaced[index] = replace(submitted, type=cast("CellType", source.type), source=text)
        return tuple(replaced)

    def places(self, cells: Sequence[Cell]) -> dict[str, int]:
        """Returns the index of each cell of the assignment, by its id; the last one counts."""
        known = {cell.grade_id for cell in self.source.cells}
        names = ((grade_id(cell), index) for index, cell in enumerate(cells))
        return {name: index for name, index in names if name in known}

    def answers(
        self, cells: Sequence[Cell], outputs: Mapping[int, Sequence[Sequence[str]]]
    ) -> dict[str, Answer]:
        """Returns an answer for every cell with points, by its id."""
        places = self.places(cells)
        marked = (cell for cell in self.source.cells if cell.is_marked)
        return {c.grade_id: _read_answer(c, places.get(c.grade_id), cells, outputs) for c in marked}


def _read_answer(
    cell: SourceCell,
    index: int | None,
    cells: Sequence[Cell],
    outputs: Mapping[int, Sequence[Sequence[str]]],
) -> Answer:
    """Returns the outputs of a test cell, or the source of any other cell; an absent answer if
    *index* is None."""
    name = cell.grade_id
    if index is None:
        return Answer(name=name, raw=None, absent=f"the notebook has no cell '{name}'")
    if cell.is_tests:
        # A cell without code is not run and has no output.
        listed = [list(one) for one in outputs.get(index, ())]
        return Answer(name=name, raw={"t": OUTPUTS, "v": listed, "index": index})
    written = cells[index].source
    raw: Raw = {
        "t": WRITTEN,
        "v": written[:_LONGEST],
        "untouched": cell.solution and is_untouched(cell, written),
    }
    return Answer(name=name, raw=raw)


def is_untouched(source: SourceCell, written: str) -> bool:
    """Returns whether a student changed nothing, by the checksum of the released cell."""
    return cell_checksum(replace(source, source=written)) == cell_checksum(source)
