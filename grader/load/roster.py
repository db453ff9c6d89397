"""A roster's CSV to students."""

from __future__ import annotations

import csv
import io
from collections.abc import Container
from pathlib import Path
from typing import Any

from grader.errors import Location, SpecError, SpecErrors
from grader.model import Student
from grader.registry import nearest

# What the systems that classes live in call these columns when they export a roster.
_COLUMNS = {
    "id": ("id", "student", "student_id", "username", "github_username", "login", "sis login id"),
    "name": ("name", "student name", "full name", "full_name"),
    "email": ("email", "e-mail", "email address"),
    "section": ("section", "group", "class"),
}
MAX_ID = 100


def load_roster(path: Path) -> tuple[Student, ...]:
    """The students in the CSV file at *path*, in its order; raises SpecErrors.

    The first row names the columns; only one for the id is needed. Commas or semicolons.
    """
    try:
        text = path.read_text(encoding="utf-8-sig", errors="strict")
    except OSError as error:
        raise SpecError(
            f"can't read the roster: {error.strerror}",
            where=Location(str(path)),
            fix="check the path and its permissions",
        ) from None
    except UnicodeDecodeError:
        raise SpecError(
            "the roster is not UTF-8", where=Location(str(path)), fix="save it as 'CSV UTF-8'"
        ) from None
    return parse_roster(text, str(path))


def parse_roster(text: str, file: str) -> tuple[Student, ...]:
    """The students in CSV text."""
    first = text.split("\n", 1)[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return _read(rows, file)
    except csv.Error as error:
        where = Location(file, rows.line_num)
        raise SpecError(f"not CSV: {error}", where=where, fix="save it as CSV again") from None


def _read(rows: Any, file: str) -> tuple[Student, ...]:
    columns = _columns(next(rows, []), file)
    students: dict[str, Student] = {}
    folded: dict[str, str] = {}
    errors: list[SpecError] = []
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        where = Location(file, rows.line_num)
        cells = {k: row[i].strip() for k, i in columns.items() if i < len(row)}
        student = Student(**{"id": "", **cells})
        problem = id_problem(student.id, folded)
        if problem:
            errors.append(
                SpecError(
                    problem,
                    where=where,
                    fix="one id a student: letters, digits and signs that a file's name may have",
                )
            )
        else:
            students[student.id] = student
            folded[student.id.casefold()] = student.id
    if errors:
        raise SpecErrors(tuple(errors))
    if not students:
        raise SpecError("the roster has no students", where=Location(file), fix="add a row each")
    return tuple(students.values())


def id_problem(name: str, folded: Container[str]) -> str | None:
    """Why *name* can't be a student's id beside those in *folded* (casefolded); None if it can."""
    if not name:
        return "this row has no id"
    if (
        len(name) > MAX_ID
        or not name.isprintable()
        or set(name) & set('/\\:*?"<>|')
        or name[0] in ".-"
    ):
        return f"the id '{name[:40]}' can't be a file's name"
    if name.casefold() in folded:
        return f"the id '{name}' stands here twice"
    return None


def _columns(header: list[str], file: str) -> dict[str, int]:
    names = [cell.strip().casefold() for cell in header]
    found = {
        field: names.index(alias)
        for field, aliases in reversed(_COLUMNS.items())
        for alias in reversed(aliases)
        if alias in names
    }
    if "id" not in found:
        seen = ", ".join(cell.strip() for cell in header) or "nothing"
        close = next((c for c in header if nearest(c.strip(), _COLUMNS["id"])), None)
        raise SpecError(
            f"the roster has no column 'id'; its first row is: {seen}",
            where=Location(file, 1),
            fix=f"rename '{close}' to 'id'" if close else "name the columns: id, name, email",
        )
    return found
