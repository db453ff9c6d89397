"""Answers of an nbgrader notebook: the outputs of test cells and the text of written answers."""

from __future__ import annotations

from collections.abc import Mapping

from grader.model import Answer, Raw
from grader.model.assignment import SourceCell, SourceNotebook
from grader.notebook.nbgrader_cells import OUTPUTS, WRITTEN, Overwritten, is_untouched

MISSING = "the notebook has no cell '{}'"
_LONGEST = 20_000
"""Characters kept of a written answer."""

Shown = tuple[tuple[str, ...], ...]


def put_out(
    source: SourceNotebook, handed_in: Overwritten, shown: Mapping[int, Shown]
) -> dict[str, Answer]:
    """An answer for every cell with points, by its id."""
    return {c.grade_id: _answer(c, handed_in, shown) for c in source.cells if c.is_marked}


def _answer(cell: SourceCell, handed_in: Overwritten, shown: Mapping[int, Shown]) -> Answer:
    name = cell.grade_id
    if name not in handed_in.at:
        return Answer(name=name, raw=None, absent=MISSING.format(name))
    index = handed_in.at[name]
    if cell.is_tests:
        # A cell without code is not run and has no output.
        outputs = [list(one) for one in shown.get(index, ())]
        return Answer(name=name, raw={"t": OUTPUTS, "v": outputs, "index": index})
    written = handed_in.cells[index].source
    raw: Raw = {
        "t": WRITTEN,
        "v": written[:_LONGEST],
        "untouched": cell.solution and is_untouched(cell, written),
    }
    return Answer(name=name, raw=raw)
