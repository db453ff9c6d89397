"""The roster's columns about repositories: each student's address and deadline."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from grader.errors import Location, SetupError, SpecError
from grader.release.roster import COLUMNS
from grader.text.csv_table import find_columns, table_rows

_COLUMNS = {
    "id": COLUMNS["id"],
    "repository": ("repository", "repo", "repository_url", "student_repository_url", "clone_url"),
    "deadline": ("deadline", "due"),
}


def load_repositories(path: Path) -> Mapping[str, Mapping[str, str]]:
    """Returns each student's `repository` and `deadline`, as far as the roster has them."""
    (_, head), *rows = table_rows(path, "the roster", fix="check the path and its permissions")
    places = find_columns(head, _COLUMNS)
    repositories: dict[str, Mapping[str, str]] = {}
    for number, row in rows:
        cells = {field: row[place].strip() for field, place in places.items() if place < len(row)}
        if cells.get("deadline"):
            try:
                parse_instant(cells["deadline"])
            except SetupError as error:
                where = Location(str(path), number)
                raise SpecError(error.what, where=where, fix=error.fix) from None
        student = cells.pop("id", "")
        repositories[student] = {field: cell for field, cell in cells.items() if cell}
    return repositories


def parse_instant(text: str) -> datetime:
    """Parses a time in ISO 8601. Raises SetupError if it is not valid or has no UTC offset.

    >>> parse_instant("2026-12-01T23:59:00Z").timestamp()
    1796169540.0
    """
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        instant = None
    if instant is None or instant.tzinfo is None:
        raise SetupError(
            f"'{text}' is not a valid time" if instant is None else f"'{text}' has no time zone",
            fix="write it as 2026-12-01T23:59:00+01:00, or with Z for UTC",
        )
    return instant
