"""Tells which students' results have changed, without reading the results."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, case, func, select

from grader.gradebook import schema


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
    """Returns the signatures of the current state; *known* itself if nothing changed since."""
    general = read_general(connection)
    everybody = tuple(tuple(connection.execute(query).one()) for query in _class_queries())
    if known is not None and (known.general, known.everybody) == (general, everybody):
        return known
    found: dict[str, tuple[object, ...]] = {}
    for name, query in _student_queries():
        for row in connection.execute(query):
            found[row[0]] = (*found.get(row[0], ()), name, row[1], row[2])
    return Signatures(general=general, students=found, everybody=everybody)


def read_grades_signature(connection: Connection) -> str:
    """Returns the signature of the automatic grades, the same in every process."""
    rows = sorted(tuple(row) for row in connection.execute(_student_queries()[0][1]))
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


def _class_queries() -> tuple[Select[*tuple[Any, ...]], ...]:
    """Returns queries for the signature of all students together."""
    g, d, s = schema.grades.c, schema.decisions.c, schema.submissions.c
    m = schema.independent_marks.c
    # Sums of numbers and not counts: one decision may be undone while another is restored.
    current = func.sum(case((g.current.is_(True), g.number), else_=0))
    undone = func.sum(case((d.undone.is_(True), d.number), else_=0))
    taken_back = func.sum(case((m.undone.is_(True), m.number), else_=0))
    return (
        select(func.max(g.number), current),
        select(func.max(d.number), undone),
        select(func.max(m.number), taken_back),
        select(func.max(s.seen), func.count(s.number)),
    )


def _student_queries() -> tuple[tuple[str, Select[Any]], ...]:
    """Returns a query for the signature of each student, by the name of what it covers."""
    g, d, s = schema.grades.c, schema.decisions.c, schema.submissions.c
    m = schema.independent_marks.c
    current = func.sum(case((g.current.is_(True), 1), else_=0))
    undone = func.sum(case((d.undone.is_(True), 1), else_=0))
    taken_back = func.sum(case((m.undone.is_(True), 1), else_=0))
    return (
        ("grades", select(g.student, func.max(g.number), current).group_by(g.student)),
        ("decisions", select(d.student, func.max(d.number), undone).group_by(d.student)),
        ("marks", select(m.student, func.max(m.number), taken_back).group_by(m.student)),
        ("submissions", select(s.student, func.max(s.seen), func.count()).group_by(s.student)),
    )
