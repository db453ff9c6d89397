"""Converts submissions to rows of their table and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import Connection, bindparam, func, insert, select, update

from grader.gradebook import schema, students
from grader.gradebook.plain import storable, storable_or_none
from grader.model import Submission

_TABLE = schema.submissions
# These identify an attempt that is handed in again: student, path, and content.
_Same = tuple[str, str, str]


def store_submissions(connection: Connection, batch: Iterable[Submission], *, at: str) -> None:
    """Stores every attempt of *batch*, the latest last."""
    attempts: dict[_Same, Submission] = {}
    for attempt in batch:
        same = attempt.student, storable(attempt.path), attempt.sha256
        attempts.pop(same, None)  # so that it gets the last position
        attempts[same] = attempt
    students.require_known(connection, (student for student, _, _ in attempts))
    numbers = _known_numbers(connection, attempts)
    first = (connection.scalar(select(func.max(_TABLE.c.seen))) or 0) + 1
    new: list[dict[str, object]] = []
    again: list[dict[str, object]] = []
    for seen, (same, attempt) in enumerate(attempts.items(), first):
        line: dict[str, object] = {
            "seen": seen,
            "received": attempt.received,
            "refusal": storable_or_none(attempt.refusal),
        }
        if same in numbers:
            again.append(line | {"known": numbers[same]})
        else:
            student, path, sha256 = same
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


def _known_numbers(connection: Connection, attempts: Iterable[_Same]) -> dict[_Same, int]:
    """Returns the numbers of the known attempts of these students."""
    t = _TABLE.c
    query = select(t.student, t.path, t.sha256, t.number)
    return {
        (row.student, row.path, row.sha256): row.number
        for chunk in students.in_chunks(student for student, _, _ in attempts)
        for row in connection.execute(query.where(t.student.in_(chunk)))
    }
