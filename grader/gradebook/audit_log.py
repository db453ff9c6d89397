"""Reads the audit log."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy import Connection, Row, func, or_, select

from grader.gradebook import schema
from grader.gradebook.records import AuditLine

_T = schema.audit.c


def read_lines(connection: Connection, after: int = 0) -> Iterator[AuditLine]:
    """Yields the entries after number *after*, oldest first."""
    query = select(schema.audit).where(_T.number > after).order_by(_T.number)
    for row in connection.execute(query):
        yield _line_of(row)


def read_page(
    connection: Connection, words: str, *, start: int, size: int
) -> tuple[tuple[AuditLine, ...], int]:
    """Returns up to *size* entries that contain *words*, newest first, after the first *start* of
    them, and how many there are in all.

    Ignores the case of ASCII letters.
    """
    columns = (_T.what, _T.who, _T.why, _T.detail)
    found = or_(*(column.icontains(words, autoescape=True) for column in columns))
    query = select(schema.audit).order_by(_T.number.desc()).limit(size).offset(start)
    count = select(func.count()).select_from(schema.audit)
    if words:
        query, count = query.where(found), count.where(found)
    lines = tuple(_line_of(row) for row in connection.execute(query))
    return lines, connection.scalar(count) or 0


def _line_of(row: Row[tuple[object, ...]]) -> AuditLine:
    return AuditLine(
        number=row.number,
        at=row.at,
        what=row.what,
        who=row.who,
        why=row.why,
        detail=json.loads(row.detail),
    )
