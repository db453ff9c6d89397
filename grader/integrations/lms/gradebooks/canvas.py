"""The gradebook that Canvas exports, with one assignment's column filled in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.errors import Location, SetupError, SpecError
from grader.integrations.base import option
from grader.integrations.lms.gradebooks.base import (
    EXCUSED,
    GradebookExporter,
    GradebookLayout,
    key_columns,
    parse_number,
)
from grader.integrations.lms.gradebooks.cells import CsvSheet
from grader.registry import nearest
from grader.text.words import join_names

_KEYS = {
    "SIS Login ID": "id", "SIS User ID": "id", "ID": "id", "Integration ID": "id",
    "Student": "name",
}  # fmt: skip
_FIRST = 6
"""Number of first rows that are searched for the possible points."""
_ASSIGNMENT = re.compile(r" \(\d+\)$")
# Points are written with only digits and a decimal separator, so no cell can become a formula.


@dataclass(frozen=True, kw_only=True)
class Canvas(GradebookExporter):
    """Fill the points into the gradebook that Canvas exported, and change nothing else.

    If a student's points are still open, the cell is left as it was, and the student is listed.
    Students whom the course exempts are excused.
    """

    exempt = EXCUSED

    examples = (
        "grader export canvas results --gradebook Grades-MLSys.csv --column 'Midterm (4711)'",
        "grader export canvas results --gradebook Grades-MLSys.csv --column Midterm --scale",
    )
    column: str = option(metavar="TITLE", help="Title of the assignment's column.")

    def layout(self, table: CsvSheet) -> GradebookLayout:
        """Returns the layout; students are found by three ids, or by a name that is unique."""
        if "ID" not in table.titles or not table.titles[0].startswith(("Student", "LastName")):
            raise SpecError(
                "this is not a gradebook exported from Canvas: it has no columns 'Student' and "
                "'ID'",
                where=Location(table.file, 1),
                fix="in Canvas: Grades, Export, Export Entire Gradebook",
            )
        first = (row[0].text.casefold() for row in table.rows[:_FIRST])
        possible = next((n for n, text in enumerate(first) if n and "points possible" in text), 0)
        # Canvas imports points only into assignments.
        assignments = [
            title
            for index, title in enumerate(table.titles)
            if _ASSIGNMENT.search(title)
            and not (possible and table.cell_text(possible, index).casefold() == "(read only)")
        ]
        column = _find_column(table, self.column, assignments)
        most = parse_number(table.cell_text(possible, column)) if possible else None
        notes = ["the column has no possible points, so the maximum was not checked"]
        if not possible:
            notes = ["the file has no row 'Points Possible', so the maximum was not checked"]
        has_commas = possible and any("," in cell.text for cell in table.rows[possible])
        return GradebookLayout(
            column=column,
            first=possible + 1,
            keys=key_columns(table, _KEYS),
            most=most,
            decimal="," if table.separator == ";" and has_commas else ".",
            notes=tuple(notes) if most is None else (),
        )


def _find_column(table: CsvSheet, wanted: str, assignments: Sequence[str]) -> int:
    """Returns the column whose title is *wanted*, maybe with an id; raises SetupError."""
    titles = table.titles
    matching = [i for i, title in enumerate(titles) if title == wanted]
    matching = matching or [i for i, t in enumerate(titles) if t.rpartition(" (")[0] == wanted]
    if len(matching) == 1 and titles[matching[0]] in assignments:
        return matching[0]
    if len(matching) > 1:
        raise SetupError(
            f"'{table.file}' has {len(matching)} columns '{wanted}'",
            fix="add the number in parentheses: " + ", ".join(f"'{titles[i]}'" for i in matching),
        )
    titles_by_name = {title.rpartition(" (")[0]: title for title in assignments}
    similar = nearest(wanted, assignments) or titles_by_name.get(
        nearest(wanted, titles_by_name) or ""
    )
    fix = f"did you mean '{similar}'?" if similar else "add the assignment, and export again"
    if assignments and not similar:
        fix = f"choose from: {join_names(assignments)}"
    if matching:
        raise SetupError(f"the column '{titles[matching[0]]}' can't be filled in", fix=fix)
    raise SetupError(f"'{table.file}' has no column '{wanted}'", fix=fix)
