"""What the parts of a gradebook share: its database, and how they change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import Connection, Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The database of an open gradebook."""

    engine: Engine
    """For reading transactions."""
    write: Callable[[], AbstractContextManager[Connection]]
    """Starts a writing transaction."""
    log: Callable[[Connection, str, str, str, Mapping[str, object]], None]
    """Adds an entry to the audit log: what was done, by whom, why, and details."""
