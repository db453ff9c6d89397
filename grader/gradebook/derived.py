"""What can be computed again from evidence and specs, kept so that scoring need not.

Each entry is stored under a digest of everything that determines it, so it is never changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, insert, inspect, select

from grader.gradebook import schema

_TABLE = schema.derived


def read(connection: Connection, digests: Collection[str]) -> dict[str, bytes]:
    """Returns the known entries among *digests*."""
    t = _TABLE.c
    rows = connection.execute(select(t.digest, t.data).where(t.digest.in_(list(digests))))
    return {row.digest: row.data for row in rows}


def write(connection: Connection, entries: Mapping[str, bytes]) -> None:
    """Adds *entries*; known ones are skipped."""
    t = _TABLE.c
    known = set(connection.scalars(select(t.digest).where(t.digest.in_(list(entries)))))
    new = [{"digest": d, "data": data} for d, data in entries.items() if d not in known]
    if new:
        connection.execute(insert(_TABLE), new)


def is_missing(connection: Connection) -> bool:
    """Returns whether a version without this table created the gradebook."""
    return not inspect(connection).has_table(_TABLE.name)


def create(connection: Connection) -> None:
    """Adds the table to a gradebook of an earlier version."""
    _TABLE.create(connection, checkfirst=True)
