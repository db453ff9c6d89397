"""Reads the sheet with typed answers, and checks every line against its version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import Location, SpecError, SpecErrors
from grader.model import Student
from grader.model.printed import POINTS, AnswerForm, AnswerPlace
from grader.registry import nearest
from grader.release.roster import id_problem
from grader.text.csv_table import table_rows
from grader.text.spreadsheet import unescape_cell

_PEOPLE = ("student", "name", "version", "check")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRow:
    """One student's line."""

    student: Student
    version: str | None
    """None if the line is empty because the student was absent."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Nonempty answers by column."""


def load_answers(
    path: Path, codes: Mapping[str, str], places: Mapping[str, Sequence[AnswerPlace]]
) -> tuple[TypedRow, ...]:
    """Reads the sheet at *path*.

    *codes* has the check code of each version, and *places* its places for answers, both by
    letter. Raises SpecErrors with every invalid entry: an unknown version, a check code of
    another version, or an answer that the version does not ask for.
    """
    sheet = _Sheet(str(path), codes, places)
    first, *rows = table_rows(path, "the sheet", fix="pass the answers.csv with the typed answers")
    sheet.read_header([cell.strip() for cell in first[1]])
    for line, row in rows:
        sheet.read_row(row, line)
    return sheet.finish()


class _Sheet:
    """Collects lines and errors while the sheet is read."""

    def __init__(
        self, file: str, codes: Mapping[str, str], places: Mapping[str, Sequence[AnswerPlace]]
    ):
        self._file = file
        self._codes = codes
        self._names = {
            version: {name: place for place in listed for name in place.names}
            for version, listed in places.items()
        }
        self._columns: list[str] = []
        self._rows: dict[str, TypedRow] = {}
        self._folded: set[str] = set()
        self._errors: list[SpecError] = []

    def read_header(self, names: list[str]) -> None:
        """Reads the header. Raises SpecErrors for unknown, duplicate or missing columns."""
        self._columns = names
        known = {*_PEOPLE, *(name for columns in self._names.values() for name in columns)}
        for name in names:
            if name and name not in known:
                close = nearest(name, known)
                fix = f"did you mean '{close}'?" if close else "restore the first line"
                self._add_error(1, f"no version asks for '{name}'", fix)
            elif name and names.count(name) > 1:
                self._add_error(1, f"the column '{name}' occurs twice", "keep one of them")
        for name in ("student", "version"):
            if name not in names:
                self._add_error(1, f"there is no column '{name}'", "restore the first line")
        if self._errors:
            raise SpecErrors(tuple(self._errors))

    def read_row(self, row: list[str], line: int) -> None:
        """Reads one line, and records its errors."""
        if any(cell.strip() for cell in row[len(self._columns) :]):
            self._add_error(
                line, "this line has more cells than the first", "quote cells that contain commas"
            )
            return
        cells = dict(zip(self._columns, (cell.strip() for cell in row), strict=False))
        name = unescape_cell(cells.get("student", ""))
        problem = id_problem(name, self._folded)
        if problem:
            self._add_error(line, problem, "keep one line per student, with the id from the roster")
            return
        self._folded.add(name.casefold())
        answers = {k: v for k, v in cells.items() if k and k not in _PEOPLE and v}
        version = self._check_version(cells, line, wanted=bool(answers))
        if version is not None:
            for column, written in answers.items():
                self._check_answer(version, column, written, line)
        student = Student(id=name, name=unescape_cell(cells.get("name", "")))
        self._rows[name] = TypedRow(student=student, version=version, answers=answers)

    def _check_version(self, cells: Mapping[str, str], line: int, *, wanted: bool) -> str | None:
        version, code = cells.get("version", "").upper(), cells.get("check", "").upper()
        if not version:
            if wanted or code:
                self._add_error(line, "the version is missing", "see the letter on every page")
            return None
        if version not in self._codes:
            letters = ", ".join(self._codes)
            self._add_error(line, f"there is no version '{version}'", f"choose from {letters}")
            return None
        if code and code != self._codes[version]:
            self._add_error(
                line,
                f"'{code}' is not the check code of version {version}",
                "check the top of the page: it is another version or another exam",
            )
        return version

    def _check_answer(self, version: str, column: str, written: str, line: int) -> None:
        place = self._names[version].get(column)
        if place is None:
            self._add_error(
                line,
                f"version {version} does not ask for '{column}'",
                "check the version's letter, or leave the cell empty",
            )
        elif place.form is AnswerForm.TEXT and not _is_points(written, place.points):
            self._add_error(
                line,
                f"'{written[:40]}' under '{column}' is not a number from 0 to {place.points:g}",
                f"in columns that end in {POINTS}, enter the points given on paper",
            )

    def _add_error(self, line: int, what: str, fix: str) -> None:
        self._errors.append(SpecError(what, where=Location(self._file, line), fix=fix))

    def finish(self) -> tuple[TypedRow, ...]:
        """Returns all lines; raises SpecErrors if there are errors."""
        if not self._rows and not self._errors:
            self._add_error(1, "the sheet has no students", "add one line per student")
        if self._errors:
            raise SpecErrors(tuple(self._errors))
        return tuple(self._rows.values())


def _is_points(written: str, most: float) -> bool:
    try:
        return 0 <= float(written) <= most
    except ValueError:
        return False
