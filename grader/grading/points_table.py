"""Reads a table of points for `grader mark --from`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.errors import Location, SpecError, SpecErrors
from grader.registry import nearest
from grader.text.csv_table import table_rows
from grader.text.spreadsheet import unescape_cell

COLUMNS = ("student", "answer", "points", "why", "max_points", "submission", "text", "rubric")
"""Columns of the table from `grader mark --table`; only the first three are required."""
_NEEDED = COLUMNS[:3]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsRow:
    """The points in one row."""

    where: Location
    student: str
    answer: str
    points: float
    why: str
    submission: str
    """The submission that was graded; empty if the table does not say."""


def load_points(path: Path) -> tuple[PointsRow, ...]:
    """Returns the rows of the table at *path* that have points. Raises SpecErrors with the line of
    every error, or SpecError for a missing column."""
    (_, head), *rows = table_rows(path, "the table", fix="write one with `grader mark --table`")
    names = [cell.strip().casefold() for cell in head]
    file = str(path)
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        similar = nearest(missing[0], names)
        fix = f"rename '{similar}'" if similar else f"the columns are {', '.join(COLUMNS)}"
        raise SpecError(f"there is no column '{missing[0]}'", where=Location(file, 1), fix=fix)
    points_rows: dict[tuple[str, str], PointsRow] = {}
    errors = []
    for line, cells in rows:
        try:
            row = _parse_row(
                dict(zip(names, map(str.strip, cells), strict=False)), Location(file, line)
            )
            if row is None:
                continue
            earlier = points_rows.setdefault((row.student, row.answer), row)
            if earlier is not row:
                what = f"'{row.student}' has points for '{row.answer}' in line {earlier.where.line}"
                raise SpecError(what, where=row.where, fix="keep one of the two rows")
        except SpecError as error:
            errors.append(error)
    if errors:
        raise SpecErrors(tuple(errors))
    return tuple(points_rows.values())


def _parse_row(cells: Mapping[str, str], where: Location) -> PointsRow | None:
    """Returns the points in one row, given by column, or None if the row has no points."""
    written = cells.get("points", "")
    if not written:
        return None
    try:
        points = float(written.replace(",", "."))
    except ValueError:
        points = math.nan
    if not 0 <= points < math.inf:
        what = f"'{written[:40]}' is not a number of points"
        raise SpecError(what, where=where, fix="write a number of at least 0, such as 1.5")
    return PointsRow(
        where=where,
        student=unescape_cell(cells.get("student", "")),
        answer=unescape_cell(cells.get("answer", "")),
        points=points,
        why=unescape_cell(cells.get("why", "")),
        submission=cells.get("submission", ""),
    )
