"""Reads CSV tables saved from spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.errors import Location, SpecError

_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""How files of spreadsheet programs begin: a zip (xlsx, ods), or the older xls."""


_STATED_DELIMITER = re.compile(r"sep=([,;\t])\r?(?:\n|\Z)")
"""The first line of a file that tells Excel its delimiter."""


def table_rows(path: Path, what: str, *, fix: str) -> list[tuple[int, list[str]]]:
    """Returns the rows of the CSV file at *path*, each with its line number; the header comes
    first.

    Reads commas, semicolons, or tabs. A first line such as `sep=;` only names the delimiter. Empty
    rows are skipped, but the header is always returned. Raises SpecError, which calls the file
    *what* and gives *fix* if the file can't be opened.
    """
    where = Location(str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        why = (error.strerror or "").lower()
        raise SpecError(f"can't read {what}: {why}", where=where, fix=fix) from None
    if data.startswith(_WORKBOOKS):
        why = f"{what} is a spreadsheet, not CSV, whatever its name says"
        fix = "open it in the spreadsheet program, and save it as 'CSV UTF-8'"
        raise SpecError(why, where=where, fix=fix)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        why, fix = f"{what} is not UTF-8", "save it as 'CSV UTF-8'"
        where = Location(str(path), data.count(b"\n", 0, error.start) + 1)
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            why, where = f"{what} is UTF-16", Location(str(path))
        raise SpecError(why, where=where, fix=fix) from None
    return parse_rows(text, str(path))


def parse_rows(text: str, file: str) -> list[tuple[int, list[str]]]:
    """Returns the rows of the CSV *text* of *file*, as `table_rows` does."""
    # Strict, because an unclosed quote would put all lines below it into one cell.
    source = io.StringIO(text, newline="")
    stated = _STATED_DELIMITER.match(text)
    delimiter = stated[1] if stated else find_delimiter(text)
    rows = csv.reader(source, delimiter=delimiter, strict=True)
    numbered_rows: list[tuple[int, list[str]]] = []
    try:
        if stated:
            next(rows)
        numbered_rows.append((2 if stated else 1, next(rows, [])))
        numbered_rows.extend((rows.line_num, row) for row in rows if any(map(str.strip, row)))
    except csv.Error as error:
        where = Location(file, rows.line_num)
        fix = "check the quotes in this line and the lines above, and save the file as CSV again"
        raise SpecError(f"not CSV: {error}", where=where, fix=fix) from None
    return numbered_rows


def find_columns(header: Sequence[str], aliases: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Returns the position of each field's column in *header*, by the first of its *aliases* that
    is there; fields without a column are left out. Case and outer spaces don't matter."""
    names = [cell.strip().casefold() for cell in header]
    columns = {
        field: next((names.index(alias) for alias in known if alias in names), None)
        for field, known in aliases.items()
    }
    return {field: place for field, place in columns.items() if place is not None}


def find_delimiter(text: str) -> str:
    """Returns the delimiter of the CSV *text*: the most frequent of three in the first line,
    outside quotes."""
    first_line = text.split("\n", 1)[0]
    return max(",;\t", key=re.sub(r'"[^"]*"', "", first_line).count)
