"""Explains errors of databases: what happened, where, and what to do."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

from sqlalchemy import URL

from grader.errors import SetupError
from grader.files import AGAIN, FORBIDDEN, FULL, READ_ONLY
from grader.gradebook.address import display_address

GONE = (
    "the gradebook was moved or deleted while it was in use",
    "put the folder back, or run the same command again to grade into a new one",
)

_LITTLE = 200_000
"""Minimum free space in bytes; with less, SQLite fails without saying that the disk is full."""
_OTHER = "check that no other grader is running and that you can write there"


def setup_error_for(error: BaseException | None, url: URL) -> SetupError | None:
    """Returns what is wrong with the machine or the database, or None if *error* is a bug in the
    grader."""
    where = display_address(url)
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, _BUGS):
        name = getattr(error, "sqlite_errorname", "") or ""
        what, fix = _explain_error(name, error, Path(where))
        return SetupError(what, where=where, fix=fix)
    if type(error).__module__.startswith("psycopg"):
        explanation = _explain_server_error(error)
        return explanation and SetupError(explanation[0], where=where, fix=explanation[1])
    return None


_BUGS = (
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.NotSupportedError,
    sqlite3.ProgrammingError,
)


def _explain_error(name: str, error: Exception, file: Path) -> tuple[str, str]:
    """Returns what SQLite's error *name* means for the gradebook in *file*, and what to do."""
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


def _explain_server_error(error: BaseException | None) -> tuple[str, str] | None:
    """Returns what an error of PostgreSQL means and what to do, or None if it is a bug."""
    state = getattr(error, "sqlstate", None) or ""
    message = " ".join(str(error).split())
    for prefix, sentence in _OF_SERVER:
        if state.startswith(prefix):
            return sentence
    if not state and type(error).__name__ in ("OperationalError", "ConnectionTimeout"):
        # Errors of connecting come without their codes.
        for words, code in (("password", "28"), ("authentication", "28"), ("does not exist", "3D")):
            if words in message:
                return dict(_OF_SERVER)[code]
        return (
            f"the database can't be reached: {message}",
            f"check the address, the network, and that the server runs; then {AGAIN}",
        )
    return None


# By the first characters of the error codes in appendix A of PostgreSQL's manual.
_OF_SERVER = (
    (
        "28",
        (
            "the database refuses the user or the password",
            "put the password into ~/.pgpass or PGPASSWORD; it is not stored with the results",
        ),
    ),
    ("3D", ("the server has no such database", "create it with `createdb`, or correct the name")),
    (
        "42501",
        (
            "the user may not do this in the database",
            "grant the user CREATE on the database: each gradebook is a schema of it",
        ),
    ),
    ("25006", ("the database is read-only", "use the primary server, not a standby")),
    ("53100", ("the database server's disk is full", f"make room there, and {AGAIN}")),
    ("53", ("the database server has no resources left", f"wait, and {AGAIN}")),
    ("55P03", _SENTENCES["BUSY"]),
    ("57", ("the database server was shut down", f"wait until it runs again, and {AGAIN}")),
    ("08", ("the connection to the database was lost", f"check the network, and {AGAIN}")),
)
