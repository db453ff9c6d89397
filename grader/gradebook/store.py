"""What the parts of a gradebook share: its database, how they change it, and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, insert, select, update

from grader.gradebook import schema

_SETTINGS = schema.settings
"""JSON by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The database of an open gradebook."""

    engine: Engine
    """For reading transactions."""
    write: Callable[[], AbstractContextManager[Connection]]
    """Starts a writing transaction."""
    log: Callable[[Connection, str, str, str, Mapping[str, object]], None]
    """Adds an entry to the audit log: what was done, by whom, why, and details."""


def read_setting(connection: Connection, name: str) -> str | None:
    """Returns the JSON stored under *name*, or None."""
    text: str | None = connection.scalar(select(_SETTINGS.c.value).where(_SETTINGS.c.name == name))
    return text


def store_setting(connection: Connection, name: str, text: str) -> bool:
    """Stores the JSON *text* under *name*. Returns whether it differs from what was stored
    before."""
    before = read_setting(connection, name)
    if before == text:
        return False
    if before is None:
        connection.execute(insert(_SETTINGS), {"name": name, "value": text})
    else:
        connection.execute(update(_SETTINGS).where(_SETTINGS.c.name == name).values(value=text))
    return True
