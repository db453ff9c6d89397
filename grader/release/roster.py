"""Reads students from a roster's CSV."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from grader.errors import Location, SpecError, SpecErrors
from grader.model import SAMPLE, Student
from grader.registry import nearest
from grader.text.csv_table import find_columns, table_rows

# The names of these columns in rosters exported by common systems.
COLUMNS = {
    "id": ("id", "student", "student_id", "username", "github_username", "login", "sis login id"),
    "name": ("name", "student name", "full name", "full_name"),
    "email": ("email", "e-mail", "email address"),
    "section": ("section", "group", "class"),
    "version": ("version",),
    # Read but not stored.
    "role": ("role",),
    "first": ("first_name", "first name"),
    "last": ("last_name", "last name"),
}
_STAFF = {
    *("teacher", "instructor", "ta", "head ta", "teaching assistant", "grader", "staff"),
    *("owner", "admin", "designer", "observer", "reader"),
}
"""Roles of staff in Classroom 50, Canvas, and Gradescope."""
MAX_ID = 100
MAX_BYTES = 240
"""What file systems allow in a name, less an extension."""
_HEADER = "a line that names the columns: id,name,email"


def load_roster(path: Path, skipped: Callable[[str], None] = lambda _: None) -> tuple[Student, ...]:
    """Returns the students in the CSV file at *path*, in its order. Raises SpecError or SpecErrors.

    Commas, semicolons, or tabs separate the columns. The first row names them; only `id` is
    required. Students with the same `version` share their numbers. Rows whose `role` is staff are
    skipped, and *skipped* is called with a description of each.
    """
    file = str(path)
    rows = table_rows(path, "the roster", fix="check the path and its permissions")
    columns = _find_roster_columns(rows[0][1], file)
    students: dict[str, Student] = {}
    folded: dict[str, str] = {}
    errors: list[SpecError] = []
    for line, row in rows[1:]:
        where = Location(file, line)
        if any(cell.strip() for cell in row[len(rows[0][1]) :]):
            what = (
                f"this row has {len(row)} cells, but the first row names {len(rows[0][1])} columns"
            )
            fix = 'put cells that contain the separator in quotes, such as "Okafor, Ada"'
            errors.append(SpecError(what, where=where, fix=fix))
            continue
        cells = {k: row[i].strip() for k, i in columns.items() if i < len(row)}
        role, first, last = (cells.pop(name, "") for name in ("role", "first", "last"))
        cells["name"] = cells.get("name") or f"{first} {last}".strip()
        student = Student(**{"id": "", **cells})
        if _is_staff(role):
            skipped(f"{student.id or student.name or student.email} ({role})")
            continue
        problem = id_problem(student.id, folded)
        if problem:
            fix = "use one id per student, of letters, digits, and characters allowed in file names"
            errors.append(SpecError(problem, where=where, fix=fix))
            continue
        students[student.id] = student
        folded[id_key(student.id)] = student.id
        problem = version_problem(student.version)
        if problem:
            errors.append(SpecError(problem, where=where, fix="name versions A, B, C, ..."))
    if errors:
        raise SpecErrors(tuple(errors))
    if not students:
        raise SpecError(
            "the roster has no students", where=Location(file), fix="add one row per student"
        )
    problem = seats_problem(students.values())
    if problem:
        raise SpecError(problem, where=Location(file), fix="name versions A, B, C, ...")
    return tuple(students.values())


def _is_staff(role: str) -> bool:
    """Returns whether *role* is one of staff.

    >>> _is_staff("head-ta"), _is_staff("TaEnrollment"), _is_staff("StudentEnrollment")
    (True, True, False)
    """
    words = role.casefold().removesuffix("enrollment").replace("-", " ").replace("_", " ")
    return words.strip() in _STAFF


def id_key(name: str) -> str:
    """Returns what all ids have in common that some file systems don't tell from the id *name*."""
    return unicodedata.normalize("NFC", name).casefold()


def similarity(one: str, other: str) -> str:
    """Returns in what two different ids with the same `id_key` are alike, as a clause.

    >>> similarity("kim", "Kim")
    "the ids 'kim' and 'Kim' differ only in case"
    """
    how = "differ only in case or in the writing of a letter"
    if unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other):
        how = "look the same"
    elif one.lower() == other.lower():
        how = "differ only in case"
    return f"the ids '{one}' and '{other}' {how}"


def id_problem(name: str, folded: Mapping[str, str]) -> str | None:
    """Returns why *name* can't be a student's id next to the ids in *folded*, by `id_key`, or None
    if it can."""
    if not name:
        return "this row has no id"
    if not _is_file_name(name):
        return f"the id '{name[:40]}' can't be a file name"
    other = folded.get(id_key(name))
    if other is None:
        return None
    return f"the id '{name}' is used twice" if other == name else similarity(other, name)


def _is_file_name(name: str) -> bool:
    """Returns whether *name* is safe as a file name on every platform: short, printable, without
    separators, wildcards, and other reserved characters, or a leading dot or hyphen."""
    return (
        0 < len(name) <= MAX_ID
        and name.isprintable()
        and len(name.encode()) <= MAX_BYTES
        and not set(name) & set('/\\:*?"<>|')
        and name[0] not in ".-"
    )


def version_problem(name: str) -> str | None:
    """Returns why *name* can't be a version that students share, or None if it can or is empty."""
    if name.casefold() == SAMPLE:
        return f"the version '{name}' is reserved for practice, which is not graded"
    if name and not _is_file_name(name):
        return f"the version '{name[:40]}' can't be a file name"
    return None


def seats_problem(students: Iterable[Student]) -> str | None:
    """Returns why these students can't be in one release, because versions are ambiguous, or None
    if they can."""
    listed = tuple(students)
    versions: dict[str, str] = {}
    for student in listed:
        if student.version:
            other = versions.setdefault(student.version.casefold(), student.version)
            if other != student.version:
                return f"the versions '{other}' and '{student.version}' differ only in case"
    # Individual numbers are drawn from the id, and those of a version from its name.
    alone = next((s.id for s in listed if not s.version and s.id in versions.values()), None)
    if alone is not None:
        return f"'{alone}' is both a version and the id of a student with individual numbers"
    return None


def _find_roster_columns(header: list[str], file: str) -> dict[str, int]:
    """Returns the index in *header* of each known column, by the name of its field.

    Raises SpecError if there is no column `id`, or if another column has the name of a known one.
    """
    columns = find_columns(header, COLUMNS)
    if "id" not in columns:
        if not any(map(str.strip, header)):
            raise SpecError(
                "the roster is empty", where=Location(file, 1), fix=f"start it with {_HEADER}"
            )
        first_row = ", ".join(cell.strip() for cell in header)
        known = find_columns(header, COLUMNS).values()
        unknown = [cell.strip() for at, cell in enumerate(header) if at not in known]
        similar = next((cell for cell in unknown if nearest(cell, COLUMNS["id"])), None)
        raise SpecError(
            f"the roster has no column 'id'; its first row is: {first_row}",
            where=Location(file, 1),
            fix=f"rename '{similar}' to 'id'" if similar else f"start the file with {_HEADER}",
        )
    names = [cell.strip().casefold() for cell in header]
    duplicate = next(
        (header[i].strip() for i in columns.values() if names.count(names[i]) > 1), None
    )
    if duplicate is not None:
        raise SpecError(
            f"two columns are named '{duplicate}'",
            where=Location(file, 1),
            fix="rename or delete one of them",
        )
    return columns
