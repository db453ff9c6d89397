"""Maps a platform's user numbers to students, from its gradebook or worksheet as CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from grader.errors import Location, SpecError
from grader.model import Student
from grader.model.people import UserNumbers
from grader.text.csv_table import table_rows

_NUMBER = ("id", "identifier", "number", "canvas user id", "user id")
_STUDENT = (
    "sis login id", "sis user id", "id number", "username", "student", "email address", "email",
    "id", "full name", "student name", "name",
)  # fmt: skip
_PARTICIPANT = re.compile(r"^(?:Participant )?(\d+)$")


def load_numbers(path: Path, known: Mapping[str, Student]) -> UserNumbers:
    """Returns the mapping from user numbers to student ids in the CSV file at *path*.

    The file may be the gradebook that Canvas exports, Moodle's offline grading worksheet, or any
    table with a column `number` and one with the students' ids, e-mail addresses, or names; its
    columns tell which. Raises SpecError if it is none of these.
    """
    (_, first), *rest = table_rows(path, "the file", fix="check the path and its permissions")
    header = [cell.strip().casefold() for cell in first]
    rows = [row for _, row in rest]
    number = next((header.index(name) for name in _NUMBER if name in header), None)
    columns = [header.index(n) for n in _STUDENT if n in header and header.index(n) != number]
    if number is None or not columns:
        raise SpecError(
            "this file has no columns that map numbers to students",
            where=Location(str(path), 1),
            fix="use Canvas's gradebook, Moodle's worksheet, or columns 'number' and 'student'",
        )
    students_by_number = _read_user_numbers(rows, number, columns, students_by_text(known))
    if not students_by_number:
        raise SpecError(
            f"no line of this file has both a number, in the column '{first[number].strip()}', and "
            "a student of the release",
            where=Location(str(path)),
            fix="use Canvas's gradebook, Moodle's worksheet, or columns 'number' and 'student'",
        )
    return UserNumbers(
        students_by_number, platform=_detect_platform(header, number, rows), file=str(path)
    )


def _detect_platform(header: list[str], number: int, rows: list[list[str]]) -> str:
    """Returns the name of the platform that wrote the table, which is empty for any other table."""
    if header[number] == "id" and not {"sis login id", "sis user id", "section"}.isdisjoint(header):
        return "Canvas"
    if header[number] == "identifier":
        cells = (row[number].strip() for row in rows if number < len(row))
        return "Moodle" if any(cell.startswith("Participant ") for cell in cells) else ""
    return ""


def students_by_text(known: Mapping[str, Student]) -> Mapping[str, str]:
    """Returns the student's id for each text, casefolded, that identifies exactly one of *known*:
    an id, an e-mail address or its beginning, or a name."""
    ids_by_text: dict[str, set[str]] = {}
    for student in known.values():
        for text in (student.id, student.email, student.email.partition("@")[0], student.name):
            if text:
                ids_by_text.setdefault(text.casefold(), set()).add(student.id)
    # An id takes precedence over the beginning of another student's e-mail address.
    ids_by_text |= {student.casefold(): {student} for student in known}
    return {text: next(iter(ids)) for text, ids in ids_by_text.items() if len(ids) == 1}


def _read_user_numbers(
    rows: list[list[str]], number: int, columns: list[int], ids_by_text: Mapping[str, str]
) -> Mapping[str, str]:
    """Returns the student's id for each user number in *rows*, which identify students by text."""
    students_by_number: dict[str, str] = {}
    for row in rows:
        match = _PARTICIPANT.match(row[number].strip()) if number < len(row) else None
        texts = (row[c].strip() for c in columns if c < len(row))
        student = next(
            (ids_by_text[t.casefold()] for t in texts if t.casefold() in ids_by_text), None
        )
        if match and student:
            students_by_number[match[1]] = student
    return students_by_number
