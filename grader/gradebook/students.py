"""Converts students to rows of their table and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlalchemy import Connection, insert, select, update

from grader.errors import SetupError
from grader.gradebook import schema
from grader.model import Student
from grader.registry import suggest

_TABLE = schema.students
# Far below SQLite's limit on the number of values in a statement.
_CHUNK = 500


def store_students(connection: Connection, students: Iterable[Student]) -> tuple[int, int]:
    """Stores students, whose empty fields change nothing. Returns how many were new and changed."""
    stored = {student.id: student for student in read_students(connection)}
    new, changed = [], []
    for newer in {student.id: student for student in students}.values():
        student = stored.get(newer.id, newer).merged_with(newer)
        line = {
            "id": student.id,
            "name": student.name,
            "email": student.email,
            "section": student.section,
        }
        if student.id not in stored:
            new.append(line)
        elif stored[student.id] != replace(student, version=""):  # stored only in the release
            changed.append(line)
    if new:
        connection.execute(insert(_TABLE), new)
    for line in changed:
        connection.execute(update(_TABLE).where(_TABLE.c.id == line["id"]).values(line))
    return len(new), len(changed)


def read_students(connection: Connection) -> Iterator[Student]:
    """Yields all students, sorted by ID."""
    t = _TABLE.c
    query = select(t.id, t.name, t.email, t.section).order_by(t.id)
    yield from (Student(**row) for row in connection.execute(query).mappings())


def require_known(connection: Connection, ids: Iterable[str]) -> None:
    """Raises SetupError, naming an unknown student, unless all *ids* are students."""
    for chunk in in_chunks(ids):
        found_ids = set(connection.scalars(select(_TABLE.c.id).where(_TABLE.c.id.in_(chunk))))
        stranger = next((id_ for id_ in chunk if id_ not in found_ids), None)
        if stranger is not None:
            known_ids = list(connection.scalars(select(_TABLE.c.id)))
            fix = suggest(stranger, known_ids, "add the student to the roster")
            raise SetupError(f"student '{stranger}' is not in the gradebook", fix=fix)


def in_chunks(ids: Iterable[str]) -> Iterator[list[str]]:
    """Yields all IDs once, in lists that fit into one statement."""
    once = list(dict.fromkeys(ids))
    for start in range(0, len(once), _CHUNK):
        yield once[start : start + _CHUNK]
