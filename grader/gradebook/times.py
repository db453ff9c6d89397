"""Converts times of submission to rows of their table and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

from sqlalchemy import Connection, delete, insert, select

from grader.gradebook import schema, students
from grader.gradebook.plain import read_record
from grader.model.course import HandedIn, TimeSource

_TABLE = schema.times


def store_times(connection: Connection, batch: Iterable[HandedIn]) -> None:
    """Stores *batch*, each in place of an earlier time of the same file."""
    lines = {(handed_in.student, handed_in.sha256): handed_in for handed_in in batch}
    students.require_known(connection, (student for student, _ in lines))
    t = _TABLE.c
    for student, sha256 in lines:
        connection.execute(delete(_TABLE).where((t.student == student) & (t.sha256 == sha256)))
    rows = [asdict(handed_in) | {"source": handed_in.source.value} for handed_in in lines.values()]
    if rows:
        connection.execute(insert(_TABLE), rows)


def read_times(connection: Connection) -> Iterator[HandedIn]:
    """Yields all times, sorted by student and file."""
    query = select(_TABLE).order_by(_TABLE.c.student, _TABLE.c.sha256)
    for row in connection.execute(query).mappings():
        yield read_record(HandedIn, row, source=TimeSource(row["source"]))
