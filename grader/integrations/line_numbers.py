"""Line numbers in a notebook's file, for tools that annotate lines."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from grader.errors import SubmissionError
from grader.notebook import read

_SETS = re.compile(r"^([A-Za-z_]\w*)\s*(?::[^=]*)?=(?!=)")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookLines:
    """Line numbers in the file, from 1. What was not found is missing."""

    answers: Mapping[str, int]
    """The last assignment of each name, which is the one that counts."""
    cells: Mapping[int, tuple[int, ...]]
    """The lines of each code cell's source, by Jupyter's number of the cell."""

    def line_of_cell(self, number: int, line: int | None = None) -> int | None:
        """Returns the file's line for line *line* of code cell *number*, or for its first line."""
        lines = self.cells.get(number, ())
        if not lines:
            return None
        return lines[line - 1] if line is not None and 0 < line <= len(lines) else lines[0]


def notebook_lines(data: bytes) -> NotebookLines:
    """Locates answers and cells in a notebook's file; finds none if it can't be read."""
    answers: dict[str, int] = {}
    cells: dict[int, tuple[int, ...]] = {}
    try:
        cells_of = read(data).cells
        # Jupyter does not number empty code cells.
        code = [c.source for c in cells_of if c.type == "code" and c.source.strip()]
    except SubmissionError:
        code = []
    text = data.decode("utf-8", "replace")
    reached = counted = 0
    line = 1
    for number, source in enumerate(code, start=1):
        lines: list[int] = []
        for row in source.splitlines():
            place = _find_row(text, row, reached)
            if place is None:
                break
            at, reached = place
            line += text.count("\n", counted, at)
            counted = at
            lines.append(line)
            assignment = _SETS.match(row)
            if assignment:
                answers[assignment[1]] = lines[-1]
        cells[number] = tuple(lines)
    return NotebookLines(answers=answers, cells=cells)


def _find_row(text: str, row: str, start: int) -> tuple[int, int] | None:
    """Returns the first start and end of *row* as JSON in *text* from *start*; None if missing."""
    if not row.strip():
        return start, start
    span, end = None, len(text)
    for is_ascii in (False, True):
        written = json.dumps(row, ensure_ascii=is_ascii)[1:-1]  # without the quotes
        at = text.find(written, start, end)
        if at >= 0:
            # The other encoding counts if it comes earlier.
            span, end = (at, at + len(written)), at
    return span
