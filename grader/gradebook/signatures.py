"""Tells which students' results have changed, without reading the results."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, case, func, select

from grader.gradebook import schema


def _columns(table: Table, flag: ColumnElement[bool]) -> tuple[ColumnElement[Any], ...]:
    # Sums of numbers and not counts: one decision may be undone while another is restored.
    number = table.c.number
    return table.c.student, func.max(number), func.sum(case((flag.is_(True), number), else_=0))


_SUBMISSIONS = schema.submissions.c
_COLUMNS: Mapping[str, tuple[ColumnElement[Any], ...]] = {
    "grades": _columns(schema.grades, schema.grades.c.current),
    "decisions": _columns(schema.decisions, schema.decisions.c.undone),
    "marks": _columns(schema.independent_marks, schema.independent_marks.c.undone),
    "submissions": (_SUBMISSIONS.student, func.max(_SUBMISSIONS.seen), func.count()),
}
"""The student, and what changes with the results, of each table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signatures:
    """What differs between two states of a gradebook whose results differ."""

    general: int
    """The signature of what all results depend on: settings, roster, and times."""
    students: dict[str, tuple[object, ...]]
    """The signature of each student's grades, decisions, and submissions."""
    everybody: tuple[object, ...]
    """The signature of all students together, which takes a fraction of the time to read."""


def read_signatures(connection: Connection, known: Signatures | None = None) -> Signatures:
    """Returns the signatures of the current state, or *known* itself if nothing changed since."""
    general = read_general(connection)
    totals = (select(*columns[1:]) for columns in _COLUMNS.values())
    everybody = tuple(tuple(connection.execute(query).one()) for query in totals)
    if known is not None and (known.general, known.everybody) == (general, everybody):
        return known
    by_student: dict[str, tuple[object, ...]] = {}
    for name, columns in _COLUMNS.items():
        for row in _read_rows(connection, columns):
            by_student[row[0]] = (*by_student.get(row[0], ()), name, row[1], row[2])
    return Signatures(general=general, students=by_student, everybody=everybody)


def read_grades_signature(connection: Connection) -> str:
    """Returns the signature of the automatic grades, the same in every process."""
    rows = sorted(_read_rows(connection, _COLUMNS["grades"]))
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def read_general(connection: Connection) -> int:
    """Returns the signature of what all results depend on."""
    tables = (schema.settings, schema.students, schema.times)
    rows = (
        tuple(row)
        for table in tables
        for row in connection.execute(select(table).order_by(*table.primary_key.columns))
    )
    return hash(tuple(rows))


def _read_rows(
    connection: Connection, columns: tuple[ColumnElement[Any], ...]
) -> Iterator[tuple[Any, ...]]:
    for row in connection.execute(select(*columns).group_by(columns[0])):
        yield tuple(row)
