"""Fills in one column of an instructor's gradebook and keeps every other byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from grader.errors import Location, SetupError, SpecError
from grader.integrations.base import ClassExporter, option
from grader.integrations.lms.gradebooks.cells import Sheet, parse_sheet
from grader.integrations.results import join_names, warning_notes
from grader.model.exported import ClassResults, Exported, Result
from grader.model.result import Standing
from grader.registry import nearest

EXCUSED = "EX"
_SAME = 0.005
"""Points that differ by less are equal: the other systems keep two decimals."""


@dataclass(frozen=True, kw_only=True)
class GradebookExporter(ClassExporter):
    """Fills in one column of a CSV file that the instructor downloaded."""

    gradebook: Path = option(
        metavar="FILE", exists=True, help="CSV file downloaded from the other system."
    )
    scale: bool = option(False, help="Scale points to the column's maximum.")
    missing_as_zero: bool = option(
        False, help="Write 0 for students without a readable submission."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GradebookLayout:
    """Positions in a gradebook."""

    column: int
    first: int
    """The first row that may be a student's."""
    keys: Mapping[int, str]
    """Columns that identify a student, in order, with their content: `id`, `email` or `name`."""
    most: float | None = None
    """The column's maximum points; None if unknown or given per row."""
    most_column: int | None = None
    decimal: str = "."


def decode_text(data: bytes, file: str) -> tuple[str, str]:
    """The text, and its byte order mark, if any. Raises SpecError if it is not UTF-8."""
    mark = "\ufeff" if data.startswith(b"\xef\xbb\xbf") else ""
    try:
        return data.decode("utf-8").removeprefix("\ufeff"), mark
    except UnicodeDecodeError as error:
        raise SpecError(
            "the file is not UTF-8",
            where=Location(file, data[: error.start].count(b"\n") + 1),
            fix="use the downloaded file itself, not a copy that a spreadsheet program saved",
        ) from None


def column_of(table: Sheet, row: int, wanted: str, takes: Sequence[str]) -> int:
    """The column whose title is *wanted*, or *wanted* followed by an id in parentheses.

    Raises SetupError, with suggestions from *takes*, if there is no such column, more than one,
    or one that is not in *takes*.
    """
    titles = [cell.text.strip() for cell in table.rows[row]]
    found = [i for i, title in enumerate(titles) if title == wanted]
    found = found or [i for i, t in enumerate(titles) if t.rpartition(" (")[0] == wanted]
    if len(found) == 1 and titles[found[0]] in takes:
        return found[0]
    if len(found) > 1:
        raise SetupError(
            f"'{table.file}' has {len(found)} columns '{wanted}'",
            fix="add the number in parentheses: " + ", ".join(f"'{titles[i]}'" for i in found),
        )
    short = {title.rpartition(" (")[0]: title for title in takes}
    close = nearest(wanted, takes) or short.get(nearest(wanted, short) or "")
    there = f"choose from: {join_names(takes)}" if takes else "add the assignment, and export again"
    fix = f"did you mean '{close}'?" if close else there
    if found:
        raise SetupError(f"the column '{titles[found[0]]}' can't be filled in", fix=fix)
    raise SetupError(f"'{table.file}' has no column '{wanted}'", fix=fix)


def fill_column(
    results: ClassResults,
    table: Sheet,
    layout: GradebookLayout,
    *,
    scale: bool,
    missing_as_zero: bool,
) -> tuple[str, tuple[str, ...]]:
    """The text with all students' points, and notes on cells that were not filled in.

    Raises SetupError if a student is in two rows, if the column's maximum differs from the
    exam's, and if no student is found.
    """
    if not layout.keys:
        raise SpecError(
            "no column identifies the student by id, e-mail address or name",
            where=Location(table.file, 1),
            fix="use the CSV file as downloaded",
        )
    rows = _match_rows(results, table, layout)
    said: dict[tuple[int, int], str] = {}
    kept: dict[str, list[str]] = {}
    for result, row in rows:
        student = result.feedback.student.id
        before = table.rows[row][layout.column].text.strip()
        why = _reason_to_skip(result, before, missing_as_zero)
        if why:
            kept.setdefault(why, []).append(student)
            continue
        points = _points_to_write(
            result, _column_maximum(table, row, layout), layout.column, table, scale=scale
        )
        written = f"{points:.2f}".replace(".", layout.decimal)
        if before and not _is_same(before, points, layout.decimal):
            kept.setdefault("different points were replaced", []).append(student)
        if not before or not _is_same(before, points, layout.decimal):
            said[row, layout.column] = written
    there = {result.feedback.student.id for result, _ in rows}
    absent = [r.feedback.student.id for r in results.results if r.feedback.student.id not in there]
    if not there:
        columns = ", ".join(f"'{_title(table, c)}'" for c in layout.keys)
        raise SetupError(
            f"'{table.file}' contains no student of the release; searched {columns}",
            fix="render the release with the ids or logins of that system",
        )
    if absent:
        kept["not in the table, so their points are not exported"] = absent
    notes = (f"{join_names(who)}: {why}" for why, who in kept.items())
    return table.replace_cells(said), (*notes, *warning_notes(results.results))


def gradebook_file(name: str, text: str, mark: str, notes: tuple[str, ...]) -> Exported:
    """The file *name* with its byte order mark *mark*."""
    return Exported(files={name: (mark + text).encode()}, notes=notes)


def _title(table: Sheet, column: int) -> str:
    header = table.rows[0]
    return header[column].text.strip() if column < len(header) else str(column + 1)


def _match_rows(
    results: ClassResults, table: Sheet, layout: GradebookLayout
) -> list[tuple[Result, int]]:
    known: dict[tuple[str, str], list[int]] = {}
    for number, row in enumerate(table.rows[layout.first :], start=layout.first):
        if layout.column >= len(row):
            continue
        for column, kind in layout.keys.items():
            if column < len(row) and (text := row[column].text.strip()):
                # A row counts once for each kind of key, even if several columns contain it.
                found = known.setdefault((kind, _fold(text, kind)), [])
                if number not in found:
                    found.append(number)
    pairs = []
    for result in results.results:
        at = _find_row(result, known, table)
        if at is not None:
            pairs.append((result, at))
    times = Counter(at for _, at in pairs)
    for at in sorted(at for at, count in times.items() if count > 1):
        who = [result.feedback.student.id for result, other in pairs if other == at]
        raise SetupError(
            f"two students of the release match the same row of '{table.file}': {join_names(who)}",
            where=Location(table.file, table.lines[at]),
            fix="give them the distinct ids that they have in the other system",
        )
    return pairs


def _fold(text: str, kind: str) -> str:
    return " ".join(text.casefold().split()) if kind == "name" else text.casefold()


def _find_row(
    result: Result, known: Mapping[tuple[str, str], list[int]], table: Sheet
) -> int | None:
    student = result.feedback.student
    tried = (
        ("id", student.id), ("email", student.email), ("id", student.email),
        ("email", student.id), ("name", student.name),
    )  # fmt: skip
    for kind, text in tried:
        rows = known.get((kind, _fold(text, kind)), []) if text else []
        if len(rows) > 1 and kind == "name":
            continue  # a name that two people share identifies neither
        if len(rows) > 1:
            lines = ", ".join(str(table.lines[row]) for row in rows)
            raise SetupError(
                f"'{student.id}' is in several rows of '{table.file}': lines {lines}",
                fix="remove the other rows",
            )
        if rows:
            return rows[0]
    return None


def _reason_to_skip(result: Result, before: str, missing_as_zero: bool) -> str | None:
    """Why the cell is not changed; None if it is filled in."""
    feedback = result.feedback
    if before.upper() == EXCUSED:
        return "excused, so the cell is unchanged"
    if feedback.standing in {Standing.MISSING, Standing.REFUSED}:
        kept = f"{feedback.standing.value}, so the cell is unchanged (see --missing-as-zero)"
        return None if missing_as_zero else kept
    if not feedback.complete:
        return "points are still open, so the cell is unchanged (see `grader mark`)"
    return None


def _column_maximum(table: Sheet, row: int, layout: GradebookLayout) -> float | None:
    if layout.most_column is None:
        return layout.most
    return parse_number(table.cell_text(row, layout.most_column))


def _points_to_write(
    result: Result, most: float | None, column: int, table: Sheet, *, scale: bool
) -> float:
    feedback = result.feedback
    if most is None or abs(most - feedback.max_score) < _SAME:
        return feedback.score
    if not scale:
        raise SetupError(
            f"the column '{table.rows[0][column].text.strip()}' has a maximum of {most:g} points, "
            f"and the exam of '{feedback.student.id}' has {feedback.max_score:g}",
            fix="change the assignment's points there, or convert the points with --scale",
        )
    if most <= 0:
        raise SetupError(
            f"the column '{table.rows[0][column].text.strip()}' has a maximum of {most:g} points, "
            "so points can't be converted to it",
            fix="set the assignment's points there, and download the file again",
        )
    return feedback.score * most / feedback.max_score if feedback.max_score else 0.0


def parse_number(text: str) -> float | None:
    """Parses a number with a decimal point or comma; None if *text* is not a finite number."""
    try:
        found = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return found if isfinite(found) else None


def _is_same(before: str, points: float, decimal: str) -> bool:
    was = parse_number(before.replace(decimal, "."))
    return was is not None and abs(was - points) < _SAME


def read_table(data: bytes, file: str) -> tuple[Sheet, str]:
    """The table, and its byte order mark. Raises SpecError if *data* is not a table."""
    text, mark = decode_text(data, file)
    table = parse_sheet(text, file)
    if not table.rows or len(table.rows[0]) < 2:
        raise SpecError(
            "this is not a table with columns",
            where=Location(file, 1),
            fix="use the CSV file as downloaded",
        )
    return table, mark


def columns_named(table: Sheet, row: int, names: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yields index and content of each column whose title is in *names*, in that order."""
    titles = [cell.text.strip().casefold() for cell in table.rows[row]]
    for name, kind in names.items():
        if name.casefold() in titles:
            yield titles.index(name.casefold()), kind
