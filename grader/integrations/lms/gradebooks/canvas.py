"""The gradebook that Canvas exports, with one assignment's column filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.errors import Location, SpecError
from grader.integrations.base import option
from grader.integrations.lms.gradebooks.cells import Sheet
from grader.integrations.lms.gradebooks.filled import (
    GradebookExporter,
    GradebookLayout,
    column_of,
    columns_named,
    fill_column,
    gradebook_file,
    parse_number,
    read_table,
)
from grader.model.exported import ClassResults, Exported

_KEYS = {
    "SIS Login ID": "id", "SIS User ID": "id", "ID": "id", "Integration ID": "id",
    "Student": "name",
}  # fmt: skip
_FIRST = 6
"""Number of first rows that are searched for the possible points."""
_POSSIBLE = "points possible"
_READ_ONLY = "(read only)"
_ASSIGNMENT = re.compile(r" \(\d+\)$")
# Points are written with only digits and a decimal separator, so no cell can become a formula.


@dataclass(frozen=True, kw_only=True)
class Canvas(GradebookExporter):
    """Fill the points into the gradebook that Canvas exported, and change nothing else.

    If a student's points are still open, the cell is left as it was, and the student is listed.
    """

    examples = (
        "grader export canvas results --gradebook Grades-MLSys.csv --column 'Midterm (4711)'",
        "grader export canvas results --gradebook Grades-MLSys.csv --column Midterm --scale",
    )
    column: str = option(metavar="TITLE", help="Title of the assignment's column.")

    def export(self, subject: ClassResults) -> Exported:
        """Returns the file under its own name; cells of open points are unchanged."""
        return canvas_gradebook(
            subject,
            self.gradebook.read_bytes(),
            self.gradebook.name,
            column=self.column,
            scale=self.scale,
            missing_as_zero=self.missing_as_zero,
        )


def canvas_gradebook(
    results: ClassResults,
    data: bytes,
    file: str,
    *,
    column: str,
    scale: bool = False,
    missing_as_zero: bool = False,
) -> Exported:
    """The gradebook in *data* with the points of *results* in *column*.

    Students are found by SIS Login ID, SIS User ID, ID or e-mail, or by a name that is unique.
    Every byte outside the column is unchanged. So are the cells of students who have open
    points, submitted nothing, or are excused; a note names them. Raises SpecError if *data* is
    not a Canvas gradebook, and SetupError if the column or the students don't match.
    """
    table, mark = read_table(data, file)
    header = [cell.text.strip() for cell in table.rows[0]]
    if "ID" not in header or not header[0].startswith(("Student", "LastName")):
        raise SpecError(
            "this is not a gradebook exported from Canvas: it has no columns 'Student' and 'ID'",
            where=Location(file, 1),
            fix="in Canvas: Grades, Export, Export Entire Gradebook",
        )
    possible = _points_possible_row(table)
    assignments = tuple(_assignment_columns(table, possible))
    where = column_of(table, 0, column, assignments)
    most = parse_number(table.cell_text(possible, where)) if possible is not None else None
    layout = GradebookLayout(
        column=where,
        first=1 if possible is None else possible + 1,
        keys=dict(columns_named(table, 0, _KEYS)),
        most=most,
        decimal="," if table.separator == ";" and _has_decimal_commas(table, possible) else ".",
    )
    text, notes = fill_column(results, table, layout, scale=scale, missing_as_zero=missing_as_zero)
    if possible is None:
        notes = (*notes, "the file has no row 'Points Possible', so the maximum was not checked")
    elif most is None:
        notes = (*notes, "the column has no possible points, so the maximum was not checked")
    return gradebook_file(file, text, mark, notes)


def _points_possible_row(table: Sheet) -> int | None:
    for number_, row in enumerate(table.rows[1:_FIRST], start=1):
        if _POSSIBLE in row[0].text.casefold():
            return number_
    return None


def _assignment_columns(table: Sheet, possible: int | None) -> Iterator[str]:
    """The columns that Canvas imports points from."""
    for index, cell in enumerate(table.rows[0]):
        title = cell.text.strip()
        below = "" if possible is None else table.cell_text(possible, index)
        if _ASSIGNMENT.search(title) and below.casefold() != _READ_ONLY:
            yield title


def _has_decimal_commas(table: Sheet, possible: int | None) -> bool:
    return possible is not None and any("," in cell.text for cell in table.rows[possible])
