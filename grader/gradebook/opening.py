"""Opens a gradebook, or explains why this version can't use it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    ExceptionContext,
    event,
    insert,
    inspect,
    select,
    text,
)

from grader.errors import SetupError
from grader.files import make_private_folder
from grader.gradebook import schema
from grader.gradebook.address import display_address
from grader.gradebook.engines import open_engine, schema_of, writer
from grader.gradebook.faults import GONE, setup_error_for
from grader.gradebook.migrations import OLDEST, migrate

_CREATION_SECONDS = 1.0
"""How long a new file may stay empty while another process creates it, in seconds."""


def gradebook_exists(url: URL) -> bool:
    """Returns whether there is a file, or a schema in the database, for a gradebook at *url*."""
    if url.get_backend_name() == "sqlite":
        return Path(display_address(url)).exists()
    engine = _create_engine(url)
    try:
        with engine.begin() as connection:
            return schema_of(url) in inspect(connection).get_schema_names()
    finally:
        engine.dispose()


def open_gradebook(url: URL, *, create: bool) -> Engine:
    """Returns an engine for the gradebook at *url*. With *create*, makes a missing one. Raises
    SetupError if there is none, or if this version can't use it."""
    where = display_address(url)
    exists = gradebook_exists(url)
    if not exists and not create:
        raise SetupError(
            "there is no gradebook here",
            where=where,
            fix="name the folder that `grader grade ... --out` wrote",
        )
    if exists and not create and _is_emptied(url):
        raise SetupError(
            "the gradebook is empty",
            where=where,
            fix="restore it from a backup, or move it away and grade again",
        )
    if not exists and url.get_backend_name() == "sqlite":
        make_private_folder(Path(where).parent)
    engine = _create_engine(url)
    try:
        if not exists and url.get_backend_name() != "sqlite":
            with writer(engine).begin() as connection:
                connection.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{schema_of(url)}"'))
        _require_current_version(_bring_up_to_date(engine, url), where)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _is_emptied(url: URL) -> bool:
    """Returns whether the gradebook's file stays empty, unlike one that is still being created."""
    if url.get_backend_name() != "sqlite":
        return False
    end = time.monotonic() + _CREATION_SECONDS
    while _is_empty(Path(url.database or "")):
        if time.monotonic() > end:
            return True
        time.sleep(0.02)
    return False


def _is_empty(file: Path) -> bool:
    """Returns whether *file* is empty and has no SQLite log with contents to add."""
    if Path(f"{file}-wal").exists():
        return False
    return file.is_file() and file.stat().st_size == 0


def _create_engine(url: URL) -> Engine:
    engine = open_engine(url)

    def translate(context: ExceptionContext) -> SetupError | None:
        # SQLAlchemy raises what this returns, or the original error if that is None.
        return setup_error_for(context.original_exception, url)

    event.listen(engine, "handle_error", translate)
    return engine


def _bring_up_to_date(engine: Engine, url: URL) -> int:
    """Creates missing tables or updates earlier ones. Returns the schema's version."""
    try:
        with engine.begin() as connection:
            version = _read_version(connection)
        if version is not None and version != OLDEST:
            return version
        if version is None and engine.dialect.name == "sqlite":
            _use_write_ahead_log(engine)
        with writer(engine).begin() as connection:
            version = _read_version(connection)  # another process may have been faster
            if version is None:
                schema.metadata.create_all(connection)
                connection.execute(insert(schema.schema_version), {"version": schema.VERSION})
            elif version == OLDEST:
                migrate(connection)
            return _read_version(connection) or 0
    except sqlite3.DatabaseError as error:  # from below SQLAlchemy, which has its own error handler
        raise setup_error_for(error, url) or error from error


def _use_write_ahead_log(engine: Engine) -> None:
    """Lets others read while one process writes, by a setting that is stored in the file."""
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
    """Returns the schema's version, None for an empty database, or 0 for other tables."""
    tables = inspect(connection).get_table_names()
    if schema.schema_version.name not in tables:
        return 0 if tables else None
    return connection.scalar(select(schema.schema_version.c.version)) or 0


def _require_current_version(version: int, where: str) -> None:
    """Raises SetupError, naming *where*, if *version* is not the one of this grader."""
    if version == schema.VERSION:
        return
    if version == 0:
        raise SetupError(
            "this file is not a gradebook: it has other tables",
            where=where,
            fix="move it away and grade again",
        )
    newer = version > schema.VERSION
    old = "use the version that wrote it, or grade into a new folder"
    raise SetupError(
        f"the gradebook has schema {version} and was written by"
        f" {'a newer' if newer else 'an older'} version of grader; this one uses schema"
        f" {schema.VERSION}",
        where=where,
        fix="upgrade the grader on this machine" if newer else old,
    )


class DatabaseFile:
    """The file of an open SQLite gradebook; nothing for a database on a server."""

    def __init__(self, engine: Engine):
        is_file = engine.dialect.name == "sqlite"
        self._path = Path(engine.url.database or "") if is_file else None
        self._identity = self._path and _identity_of(self._path)

    def require_present(self) -> None:
        """Raises SetupError if the file was moved or deleted.

        SQLite would keep working for a while in a deleted file, whose content would be lost.
        """
        if self._path is not None and _identity_of(self._path) != self._identity:
            what, fix = GONE
            raise SetupError(what, where=str(self._path), fix=fix)


def _identity_of(path: Path) -> tuple[int, int] | None:
    """Returns the device and number of the file at *path*, which change if it is replaced."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
