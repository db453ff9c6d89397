"""Reads the sheet with typed answers, and checks every line against its version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import Location, SpecError, SpecErrors
from grader.integrations.paper.pages import HEAD
from grader.model import Student
from grader.model.printed import POINTS, AnswerForm, AnswerPlace
from grader.registry import suggest
from grader.release.roster import id_key, id_problem
from grader.text.csv_table import table_rows
from grader.text.spreadsheet import unescape_cell


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRow:
    """The line of a sheet with one student's typed answers."""

    student: Student
    version: str | None
    """None if the line is empty because the student was absent."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Nonempty answers by column."""


def load_answers(
    path: Path, codes: Mapping[str, str], places: Mapping[str, Sequence[AnswerPlace]]
) -> tuple[TypedRow, ...]:
    """Reads the sheet at *path*. Raises SpecErrors with every invalid entry.

    *codes* has the check code of each version, and *places* its places for answers.
    """
    (_, head), *rows = table_rows(
        path, "the sheet", fix="pass the answers.csv with the typed answers"
    )
    columns = [cell.strip() for cell in head]
    sheet = _Sheet(
        file=str(path),
        columns=columns,
        codes=codes,
        places={v: {n: p for p in listed for n in p.names} for v, listed in places.items()},
    )
    errors = list(sheet.header_errors()) or list(sheet.errors(rows))
    if not rows and not errors:
        errors = [sheet.error(1, "the sheet has no students", "add one line per student")]
    if errors:
        raise SpecErrors(tuple(errors))
    return tuple(sheet.row(cells) for _, cells in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sheet:
    file: str
    columns: Sequence[str]
    codes: Mapping[str, str]
    places: Mapping[str, Mapping[str, AnswerPlace]]

    def error(self, line: int, what: str, fix: str) -> SpecError:
        return SpecError(what, where=Location(self.file, line), fix=fix)

    def header_errors(self) -> Iterator[SpecError]:
        """Yields errors for unknown, duplicate, or missing columns."""
        known = {*HEAD, *(name for places in self.places.values() for name in places)}
        for name in self.columns:
            if name and name not in known:
                fix = suggest(name, known, "restore the first line")
                yield self.error(1, f"no version asks for '{name}'", fix)
            elif name and self.columns.count(name) > 1:
                yield self.error(1, f"the column '{name}' occurs twice", "keep one of them")
        for name in ("student", "version"):
            if name not in self.columns:
                yield self.error(1, f"there is no column '{name}'", "restore the first line")

    def errors(self, rows: Sequence[tuple[int, list[str]]]) -> Iterator[SpecError]:
        """Yields the errors of all lines."""
        folded: dict[str, str] = {}
        for line, cells in rows:
            if any(cell.strip() for cell in cells[len(self.columns) :]):
                what = "this line has more cells than the first"
                yield self.error(line, what, "quote cells that contain commas")
                continue
            row = self.row(cells)
            problem = id_problem(row.student.id, folded)
            if problem:
                fix = "keep one line per student, with the id from the roster"
                yield self.error(line, problem, fix)
                continue
            folded[id_key(row.student.id)] = row.student.id
            yield from self._version_errors(row, self._cells(cells).get("check", ""), line)

    def _cells(self, cells: Sequence[str]) -> dict[str, str]:
        return dict(zip(self.columns, (cell.strip() for cell in cells), strict=False))

    def row(self, cells: Sequence[str]) -> TypedRow:
        """Returns the row with these cells, without checking them."""
        named = self._cells(cells)
        student, name = (unescape_cell(named.get(key, "")) for key in ("student", "name"))
        answers = {k: v for k, v in named.items() if k and k not in HEAD and v}
        version = named.get("version", "").upper() or None
        return TypedRow(student=Student(id=student, name=name), version=version, answers=answers)

    def _version_errors(self, row: TypedRow, check: str, line: int) -> Iterator[SpecError]:
        """Yields the errors in a row's version, in its *check* code, and in its answers."""
        version, code = row.version, check.upper()
        if version is None:
            if row.answers or code:
                yield self.error(line, "the version is missing", "see the letter on every page")
            return
        if version not in self.codes:
            letters = ", ".join(self.codes)
            yield self.error(line, f"there is no version '{version}'", f"choose from {letters}")
            return
        if code and code != self.codes[version]:
            what = f"'{code}' is not the check code of version {version}"
            fix = "check the top of the page: it is another version or another exam"
            yield self.error(line, what, fix)
        for column, written in row.answers.items():
            place = self.places[version].get(column)
            if place is None:
                what = f"version {version} does not ask for '{column}'"
                fix = "check the version's letter, or leave the cell empty"
                yield self.error(line, what, fix)
            elif place.form is AnswerForm.TEXT and not _is_points(written, place.points):
                most = f"{place.points:g}"
                what = f"'{written[:40]}' under '{column}' is not a number from 0 to {most}"
                fix = f"in columns that end in {POINTS}, enter the points given on paper"
                yield self.error(line, what, fix)


def parse_points(written: str) -> float:
    """Returns the points in a cell, with a decimal point or, as many spreadsheets write it, a
    comma. Raises ValueError."""
    return float(written.replace(",", "."))


def _is_points(written: str, most: float) -> bool:
    try:
        return 0 <= parse_points(written) <= most
    except ValueError:
        return False
