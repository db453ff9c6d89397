"""Reads and writes the settings in a gradebook, which are JSON by name."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select, update

from grader.gradebook import schema

_TABLE = schema.settings


def read_setting(connection: Connection, name: str) -> str | None:
    """Returns the JSON stored under *name*, or None."""
    text: str | None = connection.scalar(select(_TABLE.c.value).where(_TABLE.c.name == name))
    return text


def store_setting(connection: Connection, name: str, text: str) -> bool:
    """Stores the JSON *text* under *name*. Returns whether it differs from what was stored
    before."""
    before = read_setting(connection, name)
    if before == text:
        return False
    if before is None:
        connection.execute(insert(_TABLE), {"name": name, "value": text})
    else:
        connection.execute(update(_TABLE).where(_TABLE.c.name == name).values(value=text))
    return True
