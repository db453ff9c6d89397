"""Converts overrides to rows of their table and back."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from grader.errors import SetupError
from grader.gradebook import schema, students
from grader.gradebook.plain import storable
from grader.model import Override

_TABLE = schema.overrides


def require_possible(batch: Sequence[Override]) -> None:
    """Raises SetupError, naming the answer, if points are negative or not finite."""
    for override in batch:
        if not math.isfinite(override.points) or override.points < 0:
            raise SetupError(
                f"{override.points} points can't be given for '{override.name}'",
                fix="give a number of at least 0",
            )


def store_override(connection: Connection, override: Override) -> float | None:
    """Stores an override. Returns the points of the one that it replaces, or None if there is
    none."""
    students.require_known(connection, [override.student])
    mine = _row_of(override.student, override.name)
    before = connection.scalar(select(_TABLE.c.points).where(mine))
    line = asdict(override) | {"reason": storable(override.reason)}
    if before is None:
        connection.execute(insert(_TABLE), line)
    else:
        connection.execute(update(_TABLE).where(mine).values(line))
    return before


def delete_override(connection: Connection, student: str, name: str) -> float | None:
    """Deletes an override. Returns its points, or None if there was none."""
    mine = _row_of(student, name)
    before = connection.scalar(select(_TABLE.c.points).where(mine))
    connection.execute(delete(_TABLE).where(mine))
    return before


def read_overrides(
    connection: Connection, students: Collection[str] | None = None
) -> Iterator[Override]:
    """Yields all overrides, or those of *students*, sorted by student and mark."""
    query = select(_TABLE).order_by(_TABLE.c.student, _TABLE.c.name)
    if students is not None:
        query = query.where(_TABLE.c.student.in_(list(students)))
    yield from (Override(**row) for row in connection.execute(query).mappings())


def _row_of(student: str, name: str) -> ColumnElement[bool]:
    return (_TABLE.c.student == student) & (_TABLE.c.name == name)
