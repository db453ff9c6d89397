"""Fills in Moodle's offline grading worksheet."""

from __future__ import annotations

from dataclasses import dataclass

from grader.errors import Location, SpecError
from grader.integrations.lms.gradebooks.filled import (
    GradebookExporter,
    GradebookLayout,
    columns_named,
    fill_column,
    gradebook_file,
    read_table,
)
from grader.model.exported import ClassResults, Exported

_GRADE, _MOST = "grade", "maximum grade"
_KEYS = {
    "ID number": "id", "Username": "id", "Email address": "email", "Full name": "name",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Worksheet(GradebookExporter):
    """Fill the points into Moodle's offline grading worksheet, and change nothing else.

    If a student's points are still open, the cell is left as it was, and the student is listed.
    """

    examples = ("grader export worksheet results --gradebook Grades-Midterm-1234.csv",)

    def export(self, subject: ClassResults) -> Exported:
        """Returns the file under its own name; cells of open points are unchanged."""
        return moodle_worksheet(
            subject,
            self.gradebook.read_bytes(),
            self.gradebook.name,
            scale=self.scale,
            missing_as_zero=self.missing_as_zero,
        )


def moodle_worksheet(
    results: ClassResults,
    data: bytes,
    file: str,
    *,
    scale: bool = False,
    missing_as_zero: bool = False,
) -> Exported:
    """The worksheet in *data* with the points of *results* in its column `Grade`.

    Students are found by ID number, username or e-mail address, or by a name that is unique.
    Everything else is unchanged. Raises SpecError if *data* is not such a worksheet, and
    SetupError if students or points don't match.
    """
    table, mark = read_table(data, file)
    titles = [cell.text.strip().casefold() for cell in table.rows[0]]
    if _GRADE not in titles or titles[0] != "identifier":
        raise SpecError(
            "this is not Moodle's grading worksheet: it has no columns 'Identifier' and 'Grade'",
            where=Location(file, 1),
            fix="in Moodle: allow 'Offline grading worksheet', then 'Download grading worksheet'",
        )
    layout = GradebookLayout(
        column=titles.index(_GRADE),
        first=1,
        keys=dict(columns_named(table, 0, _KEYS)),
        most_column=titles.index(_MOST) if _MOST in titles else None,
    )
    text, notes = fill_column(results, table, layout, scale=scale, missing_as_zero=missing_as_zero)
    return gradebook_file(file, text, mark, notes)
