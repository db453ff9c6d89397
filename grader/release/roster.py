"""A roster's CSV to students."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Container, Iterable
from pathlib import Path
from typing import Any

from grader.errors import Location, SpecError, SpecErrors
from grader.model import SAMPLE, Student
from grader.registry import nearest

# What the systems that classes live in call these columns when they export a roster.
_COLUMNS = {
    "id": ("id", "student", "student_id", "username", "github_username", "login", "sis login id"),
    "name": ("name", "student name", "full name", "full_name"),
    "email": ("email", "e-mail", "email address"),
    "section": ("section", "group", "class"),
    "version": ("version",),
    # Read, and not kept.
    "role": ("role",),
    "first": ("first_name", "first name"),
    "last": ("last_name", "last name"),
}
_STAFF = {
    *("teacher", "instructor", "ta", "head ta", "teaching assistant", "grader", "staff"),
    *("owner", "admin", "designer", "observer", "reader"),
}
"""Roles of people who take no exam, as Classroom 50, Canvas and Gradescope call them."""
MAX_ID = 100


def load_roster(path: Path, skipped: Callable[[str], None] = lambda _: None) -> tuple[Student, ...]:
    """The students in the CSV file at *path*, in its order; raises SpecErrors.

    The first row names the columns; only one for the id is needed. Commas or semicolons. Students
    with the same text in the column `version` share their numbers. Rows whose column `role` names
    staff are left out, and *skipped* is called with who they are.
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
    return parse_roster(text, str(path), skipped)


def parse_roster(
    text: str, file: str, skipped: Callable[[str], None] = lambda _: None
) -> tuple[Student, ...]:
    """The students in CSV text."""
    first = text.split("\n", 1)[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    # Strict, as a quote that is never closed would take all lines below it into one cell.
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return _read(rows, file, skipped)
    except csv.Error as error:
        where = Location(file, rows.line_num)
        raise SpecError(f"not CSV: {error}", where=where, fix="save it as CSV again") from None


def _read(rows: Any, file: str, skipped: Callable[[str], None]) -> tuple[Student, ...]:
    columns = _columns(next(rows, []), file)
    students: dict[str, Student] = {}
    folded: dict[str, str] = {}
    errors: list[SpecError] = []
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        where = Location(file, rows.line_num)
        cells = {k: row[i].strip() for k, i in columns.items() if i < len(row)}
        role, first, last = (cells.pop(name, "") for name in ("role", "first", "last"))
        student = Student(**{"id": "", "name": f"{first} {last}".strip(), **cells})
        if _is_staff(role):
            skipped(f"{student.id or student.name or student.email} ({role})")
            continue
        problem = id_problem(student.id, folded)
        if problem:
            fix = "one id a student: letters, digits and signs that a file's name may have"
            errors.append(SpecError(problem, where=where, fix=fix))
            continue
        students[student.id] = student
        folded[student.id.casefold()] = student.id
        problem = version_problem(student.version)
        if problem:
            errors.append(SpecError(problem, where=where, fix="name versions A, B, C, ..."))
    if errors:
        raise SpecErrors(tuple(errors))
    if not students:
        raise SpecError("the roster has no students", where=Location(file), fix="add a row each")
    problem = seats_problem(students.values())
    if problem:
        raise SpecError(problem, where=Location(file), fix="name versions A, B, C, ...")
    return tuple(students.values())


def _is_staff(role: str) -> bool:
    """Whether somebody of that *role* takes no exam.

    >>> _is_staff("head-ta"), _is_staff("TaEnrollment"), _is_staff("StudentEnrollment")
    (True, True, False)
    """
    words = role.casefold().removesuffix("enrollment").replace("-", " ").replace("_", " ")
    return words.strip() in _STAFF


def id_problem(name: str, folded: Container[str]) -> str | None:
    """Why *name* can't be a student's id beside those in *folded* (casefolded); None if it can."""
    if not name:
        return "this row has no id"
    if _is_no_name(name):
        return f"the id '{name[:40]}' can't be a file's name"
    if name.casefold() in folded:
        return f"the id '{name}' stands here twice"
    return None


def _is_no_name(name: str) -> bool:
    """Whether no file of that name could be written everywhere."""
    return (
        len(name) > MAX_ID
        or not name.isprintable()
        or bool(set(name) & set('/\\:*?"<>|'))
        or name[0] in ".-"
    )


def version_problem(name: str) -> str | None:
    """Why *name* can't be a version that students share; None if it can, or is empty."""
    if name.casefold() == SAMPLE:
        return f"the version '{name}' is the one for practice, which nobody is graded by"
    if name and _is_no_name(name):
        return f"the version '{name[:40]}' can't be a file's name"
    return None


def seats_problem(students: Iterable[Student]) -> str | None:
    """Why these students can't be in one release: names of versions that would mean two things."""
    listed = tuple(students)
    versions: dict[str, str] = {}
    for student in listed:
        if student.version:
            other = versions.setdefault(student.version.casefold(), student.version)
            if other != student.version:
                return f"the versions '{other}' and '{student.version}' differ in capitals only"
    # Numbers of one's own are drawn by the id, as those of a version are by its name.
    alone = next((s.id for s in listed if not s.version and s.id in versions.values()), None)
    if alone is not None:
        return f"'{alone}' is a version, and the id of a student with numbers of their own"
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
