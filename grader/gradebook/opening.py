"""Opens the file of a gradebook, or explains why this version can't use it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, event, insert, inspect, select

from grader.errors import SetupError
from grader.files import make_private_folder
from grader.gradebook import schema
from grader.gradebook.decision_rows import store_overrides
from grader.gradebook.faults import error_translator, setup_error_for
from grader.gradebook.overrides import read_overrides


def open_gradebook(path: Path, *, create: bool) -> Engine:
    """Returns an engine for the gradebook at *path*; creates it if it is missing and *create* is
    set.

    Raises SetupError if there is none, or if this version can't use it.
    """
    if not path.exists():
        if not create:
            raise SetupError(
                "there is no gradebook here",
                where=str(path),
                fix="name the folder that `grader grade ... --out` wrote",
            )
        make_private_folder(path.parent)
    engine = schema.open_engine(URL.create("sqlite", database=str(path)))
    event.listen(engine, "handle_error", error_translator(path))
    try:
        _check_version(_require_version(engine, path), path)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _require_version(engine: Engine, path: Path) -> int:
    try:
        with engine.begin() as connection:
            version = _read_version(connection)
        if version == schema.VERSION:
            _add_tables(engine)
        return _create_tables(engine) if version is None else version
    except sqlite3.DatabaseError as error:  # from below SQLAlchemy, which has its own error handler
        raise setup_error_for(error, path) or error from error


def _create_tables(engine: Engine) -> int:
    _use_write_ahead_log(engine)
    with engine.execution_options(writes=True).begin() as connection:
        version = _read_version(connection)
        if version is not None:  # another process was faster
            return version
        schema.metadata.create_all(connection)
        connection.execute(insert(schema.schema_version), {"version": schema.VERSION})
    return schema.VERSION


def _add_tables(engine: Engine) -> None:
    """Adds the tables that gradebooks of earlier versions don't have."""
    there = inspect(engine).get_table_names()
    missing = [table for table in _LATER_TABLES if table.name not in there]
    if missing:
        with engine.execution_options(writes=True).begin() as connection:
            for table in missing:  # not by the metadata, which would create the view once more
                table.create(connection, checkfirst=True)
            if schema.decisions in missing:
                store_overrides(connection, list(read_overrides(connection)))


_LATER_TABLES = (
    schema.derived, schema.times, schema.rubric_items, schema.decisions, schema.requests,
    schema.request_answers, schema.independent_marks,
)  # fmt: skip


def _use_write_ahead_log(engine: Engine) -> None:
    """Allows readers to read while one process writes; the setting is stored in the file."""
    for attempt in range(100):
        try:
            with closing(engine.raw_connection()) as connection:
                connection.cursor().execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            # For this statement, SQLite does not wait for other readers of the file.
            if attempt == 99:
                raise
            time.sleep(0.02)


def _read_version(connection: Connection) -> int | None:
    """Returns the schema's version; None for an empty file, 0 if the tables are not a
    gradebook's."""
    tables = inspect(connection).get_table_names()
    if schema.schema_version.name not in tables:
        return 0 if tables else None
    return connection.scalar(select(schema.schema_version.c.version)) or 0


def _check_version(version: int, path: Path) -> None:
    if version == schema.VERSION:
        return
    if version == 0:
        raise SetupError(
            "this file is not a gradebook: it has other tables",
            where=str(path),
            fix="move it away and grade again",
        )
    newer = version > schema.VERSION
    old = "use the version that wrote it, or grade into a new folder"
    raise SetupError(
        f"the gradebook has schema {version} and was written by"
        f" {'a newer' if newer else 'an older'} version of grader; this one uses schema"
        f" {schema.VERSION}",
        where=str(path),
        fix="upgrade grader" if newer else old,
    )


def file_identity(path: Path) -> tuple[int, int] | None:
    """Returns the device and number of the file at *path*, which change if it is replaced; None if
    there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
