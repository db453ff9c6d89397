"""Fills in one column of an instructor's gradebook and keeps every other byte."""

from __future__ import annotations

import unicodedata
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import ClassVar

from grader.errors import Location, SetupError, SpecError
from grader.integrations.base import ClassExporter, option
from grader.integrations.lms.gradebooks.cells import CsvSheet, read_sheet
from grader.integrations.results import deduction_text, warning_notes
from grader.model.exported import ClassResults, Exported, Result
from grader.model.result import Standing
from grader.text.spreadsheet import quote_always
from grader.text.words import join_names

Cells = dict[tuple[int, int], str]
EXCUSED = "EX"
"""What Canvas writes and reads for an excused student."""
_SAME = 0.005
"""Points that differ by less are equal: the other systems keep two decimals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradebookLayout:
    """The rows and columns of a CSV gradebook that matter here."""

    column: int
    first: int
    """The first row that may be a student's."""
    keys: Mapping[int, str]
    """Columns that identify a student, in order, with their content: `id`, `email`, or `name`."""
    most: float | None = None
    """The column's maximum points; None if unknown or given per row."""
    most_column: int | None = None
    comment: int | None = None
    decimal: str = "."
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GradebookExporter(ClassExporter):
    """Fills in one column of a CSV file that the instructor downloaded."""

    exempt: ClassVar[str] = ""
    """The cell of a student whom the course exempts."""

    gradebook: Path = option(
        metavar="FILE", exists=True, help="CSV file downloaded from the other system."
    )
    scale: bool = option(False, help="Scale points to the column's maximum.")
    missing_as_zero: bool = option(
        False, help="Write 0 for students without a readable submission."
    )

    @abstractmethod
    def layout(self, table: CsvSheet) -> GradebookLayout:
        """Returns where students and points are in *table*. Raises SpecError or SetupError."""

    def check_target(self, subject: ClassResults, out: Path) -> None:  # noqa: ARG002
        """Raises SetupError if the file would replace the one that was downloaded."""
        if (out / self.gradebook.name).resolve() == self.gradebook.resolve():
            raise SetupError(
                "this would replace the file that you downloaded",
                where=str(self.gradebook),
                fix="choose another folder with --out",
            )

    def export(self, subject: ClassResults) -> Exported:
        """Returns the file under its own name, with only cells of the column changed."""
        table, mark = read_sheet(self.gradebook)
        layout = self.layout(table)
        if not layout.keys:
            raise SpecError(
                "no column identifies the student by id, e-mail address, or name",
                where=Location(table.file, 1),
                fix="use the CSV file as downloaded",
            )
        cells: Cells = {}
        students_by_note: dict[str, list[str]] = {}
        rows = _match_rows(subject, table, layout)
        for result in subject.results:
            student = result.feedback.student.id
            if student in rows:
                filled, row_notes = self._fill_row(result, table, rows[student], layout)
                cells |= filled
                for text in row_notes:
                    students_by_note.setdefault(text, []).append(student)
        everybody = [result.feedback.student.id for result in subject.results]
        absent = [student for student in everybody if student not in rows]
        if absent:
            students_by_note["not in the table, so their points are not exported"] = absent
        notes = (f"{join_names(who)}: {why}" for why, who in students_by_note.items())
        return Exported(
            files={table.file: (mark + table.replace_cells(cells)).encode()},
            notes=(*notes, *warning_notes(subject.results), *layout.notes),
        )

    def _fill_row(
        self, result: Result, table: CsvSheet, row: int, layout: GradebookLayout
    ) -> tuple[Cells, list[str]]:
        """Returns the cells to replace in a student's row, and what to say about them."""
        before = table.rows[row][layout.column].text
        place = (row, layout.column)
        if result.feedback.standing is Standing.EXEMPT:
            note = "excused" if self.exempt else "so the cell is empty"
            changed = {place: self.exempt} if before != self.exempt else {}
            return changed, [f"exempt, {note}"]
        why = self._reason_to_skip(result, before)
        if why:
            return {}, [why]
        cells, notes = _deduction_comment(result, table, row, layout)
        points = self._points_to_write(result, table, row, layout)
        earlier = parse_number(before.replace(layout.decimal, "."))
        if earlier is None or abs(earlier - points) >= _SAME:
            cells[place] = f"{points:.2f}".replace(".", layout.decimal)
            if before:
                notes.append("different points were replaced")
        return cells, notes

    def _reason_to_skip(self, result: Result, before: str) -> str | None:
        """Returns why the cell is not changed; None if it is filled in."""
        feedback = result.feedback
        if before.upper() == EXCUSED:
            return "excused, so the cell is unchanged"
        if feedback.standing in {Standing.MISSING, Standing.REFUSED}:
            kept = f"{feedback.standing.value}, so the cell is unchanged (see --missing-as-zero)"
            return None if self.missing_as_zero else kept
        if not feedback.complete:
            return "points are still open, so the cell is unchanged (see `grader mark`)"
        return None

    def _points_to_write(
        self, result: Result, table: CsvSheet, row: int, layout: GradebookLayout
    ) -> float:
        """Returns the points for the column; raises SetupError if its maximum does not fit."""
        feedback, most = result.feedback, layout.most
        if layout.most_column is not None:
            most = parse_number(table.cell_text(row, layout.most_column))
        if most is None or abs(most - feedback.max_score) < _SAME:
            return feedback.score
        column = f"the column '{table.titles[layout.column]}' has a maximum of {most:g} points, "
        if not self.scale:
            raise SetupError(
                f"{column}and the exam of '{feedback.student.id}' has {feedback.max_score:g}",
                fix="change the assignment's points there, or convert the points with --scale",
            )
        if most <= 0:
            raise SetupError(
                f"{column}so points can't be converted to it",
                fix="set the assignment's points there, and download the file again",
            )
        return feedback.score * most / feedback.max_score if feedback.max_score else 0.0


def _deduction_comment(
    result: Result, table: CsvSheet, row: int, layout: GradebookLayout
) -> tuple[Cells, list[str]]:
    """Returns the cell to write with the reason for a deduction, and a note; empty without any."""
    reason, column = deduction_text(result.feedback), layout.comment
    if not reason:
        return {}, []
    note = "the points are after deductions"
    if column is None or column >= len(table.rows[row]):
        return {}, [f"{note}; see `grader course late` for the reasons"]
    if table.cell_text(row, column) not in ("", reason):
        return {}, [f"{note}; the comment that was there is kept"]
    return {(row, column): quote_always(reason)}, [f"{note}, with the reason as a comment"]


def parse_number(text: str) -> float | None:
    """Parses a number with a decimal point or comma; None if *text* is not a finite number."""
    try:
        number = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return number if isfinite(number) else None


def key_columns(table: CsvSheet, names: Mapping[str, str]) -> dict[int, str]:
    """Returns the index and the content of each column in *names*, in the order of *names*."""
    titles = [title.casefold() for title in table.titles]
    return {
        titles.index(name.casefold()): kind
        for name, kind in names.items()
        if name.casefold() in titles
    }


def _match_rows(results: ClassResults, table: CsvSheet, layout: GradebookLayout) -> dict[str, int]:
    """Returns each student's row. Raises SetupError if two share a row, or if nobody has one."""
    rows_by_key: dict[tuple[str, str], list[int]] = {}
    for number, row in enumerate(table.rows[layout.first :], start=layout.first):
        if layout.column >= len(row):
            continue
        for column, kind in layout.keys.items():
            if text := table.cell_text(number, column):
                # A row counts once for each kind of key, even if several columns contain it.
                rows = rows_by_key.setdefault((kind, _fold(text, kind)), [])
                if number not in rows:
                    rows.append(number)
    owners: dict[int, str] = {}
    for result in results.results:
        student, matched = result.feedback.student.id, _find_row(result, rows_by_key, table)
        if matched is None:
            continue
        if matched in owners:
            raise SetupError(
                f"two students of the release match the same row of '{table.file}': "
                f"{owners[matched]}, {student}",
                where=Location(table.file, table.lines[matched]),
                fix="give them the distinct ids that they have in the other system",
            )
        owners[matched] = student
    if not owners:
        columns = ", ".join(f"'{table.titles[column]}'" for column in layout.keys)
        raise SetupError(
            f"'{table.file}' contains no student of the release; searched {columns}",
            fix="render the release with the ids or logins of that system",
        )
    return {student: row for row, student in owners.items()}


def _fold(text: str, kind: str) -> str:
    text = unicodedata.normalize("NFC", text)  # as in rosters made from file names on macOS
    return " ".join(text.casefold().split()) if kind == "name" else text.casefold()


def _find_row(
    result: Result, rows_by_key: Mapping[tuple[str, str], list[int]], table: CsvSheet
) -> int | None:
    """Returns the student's row; None if there is none. Raises SetupError if there are several."""
    student = result.feedback.student
    tried = (
        ("id", student.id), ("email", student.email), ("id", student.email),
        ("email", student.id), ("name", student.name),
    )  # fmt: skip
    for kind, text in tried:
        rows = rows_by_key.get((kind, _fold(text, kind)), []) if text else []
        if len(rows) == 1:
            return rows[0]
        if rows and kind != "name":  # a name that two people share identifies neither
            lines = ", ".join(str(table.lines[row]) for row in rows)
            raise SetupError(
                f"'{student.id}' is in several rows of '{table.file}': lines {lines}",
                fix="remove the other rows",
            )
    return None
