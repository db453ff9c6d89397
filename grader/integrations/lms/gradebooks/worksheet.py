"""Moodle's offline grading worksheet, with its column of grades filled in."""

from __future__ import annotations

from dataclasses import dataclass

from grader.errors import Location, SpecError
from grader.integrations.lms.gradebooks.base import GradebookExporter, GradebookLayout, key_columns
from grader.integrations.lms.gradebooks.cells import CsvSheet

_GRADE, _MOST, _COMMENT = "grade", "maximum grade", "feedback comments"
_KEYS = {
    "ID number": "id", "Username": "id", "Email address": "email", "Full name": "name",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Worksheet(GradebookExporter):
    """Fill the points into Moodle's offline grading worksheet, and change nothing else.

    If a student's points are still open, the cell is left as it was, and the student is listed.
    The reason for a deduction becomes a feedback comment if there is none yet. Students whom the
    course exempts get an empty cell.
    """

    examples = ("grader export worksheet results --gradebook Grades-Midterm-1234.csv",)

    def layout(self, table: CsvSheet) -> GradebookLayout:
        """Returns the layout; students are found by id, e-mail address, or a unique name."""
        titles = [title.casefold() for title in table.titles]
        if _GRADE not in titles or titles[0] != "identifier":
            raise SpecError(
                "this is not Moodle's grading worksheet: it has no columns 'Identifier' and "
                "'Grade'",
                where=Location(table.file, 1),
                fix="in Moodle: allow 'Offline grading worksheet', then 'Download grading "
                "worksheet'",
            )
        return GradebookLayout(
            column=titles.index(_GRADE),
            first=1,
            keys=key_columns(table, _KEYS),
            comment=titles.index(_COMMENT) if _COMMENT in titles else None,
            most_column=titles.index(_MOST) if _MOST in titles else None,
        )
