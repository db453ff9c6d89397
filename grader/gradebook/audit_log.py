"""Reads the audit log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, func, or_, select

from grader.gradebook import schema
from grader.gradebook.plain import read_record

ENGINE = "grader"
"""Recorded for what the grader does by itself, such as executions."""
AND = " and "
"""Between the people whose marks led to one decision."""
_T = schema.audit.c


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """One action in the audit log."""

    number: int
    at: str
    what: str
    who: str
    why: str
    detail: Mapping[str, object] = field(default_factory=dict)


class AuditLog:
    """Pages of the audit log."""

    def __init__(self, engine: Engine):
        self._engine = engine

    def page(
        self, words: str = "", *, people: bool = False, person: str = "", start: int, size: int
    ) -> tuple[tuple[AuditLine, ...], int]:
        """Returns up to *size* entries that contain *words*, newest first, after the first *start*
        of them, and how many there are in all.

        Ignores the case of ASCII letters. With *people*, leaves out what the grader did by itself;
        with *person*, what others did.
        """
        where = tuple(_conditions(words, people, person))
        query = select(schema.audit).where(*where).order_by(_T.number.desc())
        count = select(func.count()).select_from(schema.audit).where(*where)
        with self._engine.begin() as connection:
            rows = connection.execute(query.limit(size).offset(start)).mappings()
            return tuple(_line_of(row) for row in rows), connection.scalar(count) or 0

    def people(self) -> set[str]:
        """Returns everybody who did something."""
        query = select(_T.who).where(_T.who != ENGINE).distinct()
        with self._engine.begin() as connection:
            return {who for row in connection.execute(query) for who in row.who.split(AND)}


def _conditions(words: str, people: bool, person: str) -> Iterator[ColumnElement[bool]]:
    """Yields the conditions for entries with *words*, by people if *people*, and by *person*."""
    if words:
        columns = (_T.what, _T.who, _T.why, _T.detail)
        yield or_(*(column.icontains(words, autoescape=True) for column in columns))
    if people:
        yield _T.who != ENGINE
    if person:
        yield or_(
            _T.who == person,
            _T.who.startswith(person + AND, autoescape=True),
            _T.who.endswith(AND + person, autoescape=True),
        )


def read_lines(connection: Connection, after: int = 0) -> Iterator[AuditLine]:
    """Yields the entries after number *after*, oldest first."""
    query = select(schema.audit).where(_T.number > after).order_by(_T.number)
    for row in connection.execute(query).mappings():
        yield _line_of(row)


def _line_of(row: RowMapping) -> AuditLine:
    return read_record(AuditLine, row, detail=json.loads(row["detail"]))
