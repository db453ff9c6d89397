"""What can be computed again from evidence and specs, kept so that scoring need not.

Each entry is stored under a digest of everything that determines it, so it is never changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from sqlalchemy import Connection, Engine, insert, select

from grader.errors import GraderError
from grader.gradebook import schema
from grader.gradebook.engines import writer

_TABLE = schema.derived


class Derived:
    """The entries of a gradebook. New ones are written together with its next change."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._new: dict[str, bytes] = {}

    def find(self, digests: Collection[str]) -> dict[str, bytes]:
        """Returns the known entries among *digests*."""
        t = _TABLE.c
        query = select(t.digest, t.data).where(t.digest.in_(list(digests)))
        with self._engine.begin() as connection:
            entries = {row.digest: row.data for row in connection.execute(query)}
        return entries | {d: self._new[d] for d in digests if d in self._new}

    def keep(self, entries: Mapping[str, bytes]) -> None:
        """Adds *entries*, by digest, which are written with the next change or by `flush`."""
        self._new |= entries

    def flush(self) -> None:
        """Writes the new entries now, unless the file can't be written."""
        if self._new:
            with suppress(GraderError), writer(self._engine).begin() as to:
                self.write(to)

    def write(self, connection: Connection) -> None:
        """Writes the new entries with other changes."""
        t, new = _TABLE.c, self._new
        if not new:
            return
        stored = set(connection.scalars(select(t.digest).where(t.digest.in_(list(new)))))
        rows = [{"digest": d, "data": data} for d, data in new.items() if d not in stored]
        if rows:
            connection.execute(insert(_TABLE), rows)
        self._new = {}  # if the change fails, they are computed again
