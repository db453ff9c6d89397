"""Connections to the database of a gradebook, with the same transactions for every database.

A reading transaction sees one state of the database. A writing one is declared, and waits until no
other one writes to the same gradebook.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from grader.errors import PackageError

_WAIT_SECONDS = 30
"""How long a writer waits for another one."""
_CONNECT_SECONDS = 10


def open_engine(url: URL) -> Engine:
    """Returns an engine for the database at *url*, which it doesn't connect to yet."""
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if find_spec("psycopg") is None:
        raise PackageError(
            "a gradebook in PostgreSQL needs the package psycopg",
            fix="run: pip install 'psycopg[binary]'",
        )
    schema = schema_of(url)
    engine = create_engine(
        url.difference_update_query(["schema"]),
        isolation_level="REPEATABLE READ",
        pool_pre_ping=True,  # a server that was restarted meanwhile is not an error
        connect_args={
            "options": f"-csearch_path={schema} -clock_timeout={_WAIT_SECONDS}s",
            "application_name": "grader",
            "connect_timeout": _CONNECT_SECONDS,
        },
    )
    event.listen(engine, "begin", partial(_begin_postgresql, schema))
    return engine


def schema_of(url: URL) -> str:
    """Returns the name of the schema that contains the gradebook at *url*."""
    return str(url.query["schema"])


def writer(engine: Engine) -> Engine:
    """Returns *engine* for writing transactions."""
    if engine.dialect.name == "sqlite":
        return engine.execution_options(writes=True)
    # A snapshot would be older than the lock that the transaction has waited for.
    return engine.execution_options(writes=True, isolation_level="READ COMMITTED")


def _prepare_sqlite(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    """Sets how a new connection to SQLite waits, syncs, checks references, and caches."""
    # The driver would start its own transactions too late to include changes of tables.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout = {_WAIT_SECONDS * 1000}",
        "synchronous = FULL",
        "foreign_keys = ON",
        "cache_size = -65536",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # Otherwise, a reader that starts to write would fail at once instead of waiting.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if _is_writing(connection) else "BEGIN")


def _begin_postgresql(schema: str, connection: Connection) -> None:
    if _is_writing(connection):
        lock = f"SELECT pg_advisory_xact_lock(hashtextextended('grader.{schema}', 0))"
        connection.exec_driver_sql(lock)


def _is_writing(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get("writes", False))
