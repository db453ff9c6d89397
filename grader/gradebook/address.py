"""Where the gradebook of a results folder is: a file in the folder, or a PostgreSQL database."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from grader.errors import SetupError
from grader.files import make_private_folder, write_atomic
from grader.model.course import Course

FILE = "gradebook.sqlite"
POINTER = "gradebook.url"
"""The file that names the database of a results folder without a `gradebook.sqlite`."""
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_EXAMPLE = "postgresql://db.example.edu/grades?schema=midterm"


def parse_address(text: str, *, schema: str = "") -> URL:
    """Returns the address of a database, such as `postgresql://host/grades?schema=midterm`.

    Each gradebook is a schema of the database; *schema* is used if the address names none.

    Raises SetupError if *text* is not an address of a PostgreSQL database.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        without_password = re.sub(r"(//[^/@:]*):.*@", r"\1:***@", text)
        raise SetupError(
            "this is not the address of a database",
            where=without_password,
            fix=f"write it like {_EXAMPLE}",
        ) from None
    where = display_address(url)
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise SetupError(
            f"a gradebook can't be stored in {url.get_backend_name()}",
            where=where,
            fix=f"use a PostgreSQL database, such as {_EXAMPLE}; without --gradebook, the"
            " gradebook is a file in the results folder",
        )
    if not url.database:
        raise SetupError("no database is named", where=where, fix=f"write it like {_EXAMPLE}")
    named = url.query.get("schema", "") or re.sub(r"[^a-z0-9]+", "_", schema.lower())
    if not isinstance(named, str) or not _SCHEMA.fullmatch(named):
        raise SetupError(
            f"a schema can't be named '{named}'" if named else "no schema is named",
            where=where,
            fix="add ?schema=NAME with lowercase letters, digits, and '_'",
        )
    return url.set(drivername="postgresql+psycopg").update_query_dict({"schema": named})


def display_address(url: URL) -> str:
    """Returns the path of an SQLite file, or the address of a database without its password."""
    if url.get_backend_name() == "sqlite":
        return url.database or ""
    # Without the driver. `set` would take None for "unchanged".
    plain = url.set(drivername=url.get_backend_name())._replace(password=None)
    return plain.render_as_string(hide_password=False)


def find_address(folder: Path) -> URL:
    """Returns the address of the gradebook in the results folder *folder*, whether it exists or
    not."""
    text = read_pointer(folder / POINTER, "the gradebook's database")
    if text is None:
        return URL.create("sqlite", database=str(folder / FILE))
    return parse_address(text)


def read_pointer(pointer: Path, what: str) -> str | None:
    """Returns the address of *what* in the file *pointer*, or None if there is no such file. Raises
    SetupError if the file can't be read."""
    try:
        return pointer.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise SetupError(
            f"this file can't be read: {error}",
            where=str(pointer),
            fix=f"let it contain the address of {what}",
        ) from None


def wanted_address(folder: Path, named: str, set_: str, course: Course | None = None) -> URL | None:
    """Returns the address of the database that a run of the set *set_* into *folder* asks for, or
    None for the gradebook that the folder has, or a file in it.

    *named* is the address on the command line. The one of *course* counts for new folders only.
    """
    schema = f"{course.id}_{set_}" if course else set_
    if named:
        return parse_address(named, schema=schema)
    new = not (folder / POINTER).exists() and not (folder / FILE).exists()
    if course is not None and course.gradebook and new:
        return parse_address(course.gradebook, schema=schema)
    return None


def check_choice(folder: Path, wanted: URL) -> None:
    """Raises SetupError if the results folder *folder* has a gradebook other than *wanted*."""
    current = find_address(folder)
    if (folder / POINTER).exists():
        if display_address(current) != display_address(wanted):
            raise SetupError(
                f"the gradebook of this folder is {display_address(current)}",
                where=str(folder),
                fix="leave out --gradebook, or choose another folder for --out",
            )
    elif (folder / FILE).exists():
        raise SetupError(
            "this folder has a gradebook already",
            where=str(folder / FILE),
            fix=f"copy it with `grader gradebook copy {folder} '{display_address(wanted)}'`, or "
            "choose another folder for --out",
        )


def store_address(folder: Path, url: URL) -> None:
    """Makes *url*, without its password, the address of the gradebook of *folder*."""
    store_pointer(folder / POINTER, display_address(url))


def store_pointer(pointer: Path, address: str) -> None:
    """Writes *address* to the file *pointer*, where `read_pointer` finds it."""
    make_private_folder(pointer.parent)
    write_atomic(pointer, f"{address}\n".encode())
