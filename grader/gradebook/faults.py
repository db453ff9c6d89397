"""Explains SQLite errors: what happened, where, and what to do."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import ExceptionContext

from grader.errors import SetupError
from grader.files import AGAIN, FORBIDDEN, FULL, READ_ONLY

GONE = (
    "the gradebook was moved or deleted while it was in use",
    "put the folder back, or run the same command again to grade into a new one",
)

_LITTLE = 200_000
"""Minimum free space in bytes; with less, SQLite fails without saying that the disk is full."""
_OTHER = "check that no other grader is running and that you can write there"


def setup_error_for(error: BaseException | None, file: Path) -> SetupError | None:
    """Returns the machine's error behind *error*; None if *error* is a bug in the grader."""
    if not isinstance(error, sqlite3.DatabaseError) or isinstance(error, _BUGS):
        return None
    name = getattr(error, "sqlite_errorname", "") or ""
    what, fix = _explain_error(name, error, file)
    return SetupError(what, where=str(file), fix=fix)


_BUGS = (
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.NotSupportedError,
    sqlite3.ProgrammingError,
)


def _explain_error(name: str, error: Exception, file: Path) -> tuple[str, str]:
    # Longer names are special cases: SQLITE_IOERR_WRITE is an SQLITE_IOERR.
    kind = name.removeprefix("SQLITE_").split("_")[0]
    if name == "SQLITE_READONLY_DBMOVED":
        return GONE
    if kind == "FULL" or (kind in _DISK and _is_disk_full(file)):
        return FULL
    if kind in _DISK and _is_read_only(file):
        return READ_ONLY
    if kind == "CANTOPEN" and file.exists() and not os.access(file.parent, os.W_OK):
        return FORBIDDEN
    if kind in _SENTENCES:
        what, fix = _SENTENCES[kind]
        return what.format(error=error), fix
    return f"the gradebook can't be opened: {error}", _OTHER


_DISK = {"IOERR", "CANTOPEN", "READONLY"}
_SENTENCES = {
    "BUSY": (
        "another program has locked the gradebook for half a minute",
        f"close the program that uses it, and {AGAIN}",
    ),
    "CORRUPT": (
        "the gradebook is damaged: {error}",
        "restore it from a backup, or move it away and grade again",
    ),
    "IOERR": ("the disk gave an error: {error}", f"check the disk and its free space, and {AGAIN}"),
    "NOTADB": (
        "this file is not a gradebook: {error}",
        "restore it from a backup, or move it away and grade again",
    ),
    "PERM": FORBIDDEN,
    "READONLY": FORBIDDEN,
}
_SENTENCES["LOCKED"] = _SENTENCES["BUSY"]


def _is_disk_full(file: Path) -> bool:
    try:
        return shutil.disk_usage(file.parent).free < _LITTLE
    except OSError:
        return False


def _is_read_only(file: Path) -> bool:
    try:
        return bool(os.statvfs(file.parent).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):  # Windows has no statvfs
        return False


def error_translator(file: Path) -> Callable[[ExceptionContext], SetupError | None]:
    """Returns a handler that SQLAlchemy calls for each error: it raises what the handler
    returns."""

    def translate(context: ExceptionContext) -> SetupError | None:
        return setup_error_for(context.original_exception, file)

    return translate
