"""Converts submissions to rows of their table and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import Connection, bindparam, func, insert, select, update

from grader.gradebook import schema, students
from grader.gradebook.plain import storable, storable_or_none
from grader.model import Submission

_TABLE = schema.submissions
# Student, path, and SHA-256: the same when an attempt is handed in again.
_AttemptId = tuple[str, str, str]


def store_submissions(connection: Connection, batch: Iterable[Submission], *, at: str) -> None:
    """Stores every attempt of *batch*, the latest last."""
    attempts: dict[_AttemptId, Submission] = {}
    for attempt in batch:
        attempt_id = attempt.student, storable(attempt.path), attempt.sha256
        attempts.pop(attempt_id, None)  # so that it gets the last position
        attempts[attempt_id] = attempt
    student_ids = [student for student, _, _ in attempts]
    students.require_known(connection, student_ids)
    numbers = _read_numbers(connection, student_ids)
    first = (connection.scalar(select(func.max(_TABLE.c.seen))) or 0) + 1
    new: list[dict[str, object]] = []
    again: list[dict[str, object]] = []
    for seen, (attempt_id, attempt) in enumerate(attempts.items(), first):
        line: dict[str, object] = {
            "seen": seen,
            "received": attempt.received,
            "refusal": storable_or_none(attempt.refusal),
        }
        if attempt_id in numbers:
            again.append(line | {"known": numbers[attempt_id]})
        else:
            student, path, sha256 = attempt_id
            new.append(line | {"student": student, "path": path, "sha256": sha256, "added": at})
    if again:
        # One statement for all rows: it sets the columns that they name.
        connection.execute(update(_TABLE).where(_TABLE.c.number == bindparam("known")), again)
    if new:
        connection.execute(insert(_TABLE), new)


def read_submissions(connection: Connection, student: str | None) -> Iterator[Submission]:
    """Yields the attempts of one student or of all, the latest last."""
    t = _TABLE.c
    query = select(t.student, t.path, t.sha256, t.received, t.refusal).order_by(t.seen)
    if student is not None:
        query = query.where(t.student == student)
    yield from (Submission(**row) for row in connection.execute(query).mappings())


def _read_numbers(connection: Connection, student_ids: Iterable[str]) -> dict[_AttemptId, int]:
    """Returns the row number of every stored attempt of these students."""
    t = _TABLE.c
    query = select(t.student, t.path, t.sha256, t.number)
    return {
        (row.student, row.path, row.sha256): row.number
        for chunk in students.in_chunks(student_ids)
        for row in connection.execute(query.where(t.student.in_(chunk)))
    }
