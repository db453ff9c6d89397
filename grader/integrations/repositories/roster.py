"""What a roster says of repositories: where each student's is, and who has more time."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from grader.errors import Location, SetupError, SpecError

_COLUMNS = {
    "repository": ("repository", "repo", "repository_url", "student_repository_url", "clone_url"),
    "deadline": ("deadline", "due"),
}
_IDS = ("id", "student", "student_id", "github_username", "username", "login")


def load_repositories(path: Path) -> Mapping[str, Mapping[str, str]]:
    """By student's id: `repository` and `deadline`, where the roster has such columns.

    The roster itself is read and checked by `load_roster`; what is wrong with it is said there.
    """
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    first = text.split("\n", 1)[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    names = [cell.strip().casefold() for cell in rows[0]] if rows else []
    places = {
        field: next((names.index(alias) for alias in aliases if alias in names), None)
        for field, aliases in {"id": _IDS, **_COLUMNS}.items()
    }
    found: dict[str, Mapping[str, str]] = {}
    for number, row in enumerate(rows[1:], start=2):
        cells = {
            field: row[place].strip()
            for field, place in places.items()
            if place is not None and place < len(row)
        }
        if cells.get("deadline"):
            try:
                instant(cells["deadline"])
            except SetupError as error:
                where = Location(str(path), number)
                raise SpecError(error.what, where=where, fix=error.fix) from None
        student = cells.pop("id", "")
        found[student] = {field: cell for field, cell in cells.items() if cell}
    return found


def instant(text: str) -> datetime:
    """An instant in ISO 8601 that says its offset from UTC; raises SetupError.

    >>> instant("2026-12-01T23:59:00Z").timestamp()
    1796169540.0
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise SetupError(
            f"'{text}' is no instant"
            if found is None
            else f"'{text}' does not say which time zone it is in",
            fix="write it as 2026-12-01T23:59:00+01:00, or with Z for UTC",
        )
    return found
