"""CSV with the position of every cell, so that cells can be replaced and all else is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.errors import Location, SpecError
from grader.text.csv_table import find_delimiter


@dataclass(frozen=True, slots=True)
class CsvCell:
    """One cell of a file."""

    text: str
    """Content without quotes and surrounding spaces."""
    start: int
    end: int
    """Offsets in the file's text, including quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvSheet:
    """A CSV file whose cells can be replaced."""

    source: str
    file: str
    separator: str
    rows: tuple[tuple[CsvCell, ...], ...]
    lines: tuple[int, ...]
    """The line of the file at which each row begins, from 1."""

    @property
    def titles(self) -> list[str]:
        """The texts of the first row."""
        return [cell.text for cell in self.rows[0]]

    def cell_text(self, row: int, column: int) -> str:
        """Returns the text of a cell, counted from 0; empty if the row is too short."""
        cells = self.rows[row]
        return cells[column].text if column < len(cells) else ""

    def replace_cells(self, cells: Mapping[tuple[int, int], str]) -> str:
        """Returns the file's text with *cells*, by row and column from 0, written over its own."""
        pieces, at = [], 0
        for (row, column), written in sorted(cells.items()):
            cell = self.rows[row][column]
            pieces += [self.source[at : cell.start], written]
            at = cell.end
        return "".join([*pieces, self.source[at:]])


def read_sheet(path: Path) -> tuple[CsvSheet, str]:
    """Returns the sheet at *path* and any byte order mark. Raises SpecError."""
    data = path.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise SpecError(
            "the file is not UTF-8",
            where=Location(path.name, data[: error.start].count(b"\n") + 1),
            fix="use the downloaded file itself, not a copy that a spreadsheet program saved",
        ) from None
    bare = text.removeprefix("\ufeff")
    table = parse_sheet(bare, path.name)
    if not table.rows or len(table.rows[0]) < 2:
        raise SpecError(
            "this is not a table with columns",
            where=Location(path.name, 1),
            fix="use the CSV file as downloaded",
        )
    return table, text[: len(text) - len(bare)]


def parse_sheet(text: str, file: str) -> CsvSheet:
    """Parses *text*. Raises SpecError with the line if a quote is never closed."""
    separator = find_delimiter(text)
    plain = rf"[^{separator}\r\n]*"
    # Text after a closing quote, which no spreadsheet writes, is skipped.
    pattern = re.compile(rf'(?:"((?:[^"]|"")*+)"{plain}|(?!")({plain}))({separator}|\r\n|\r|\n|\Z)')
    rows: list[tuple[CsvCell, ...]] = []
    lines: list[int] = []
    row: list[CsvCell] = []
    at, line = 0, 1
    while at < len(text) or row:
        if not row:
            lines.append(line)
        match = pattern.match(text, at)
        if match is None:
            raise SpecError(
                "a quote in this line is never closed",
                where=Location(file, lines[-1]),
                fix="download the file again",
            )
        quoted, bare, end = match.groups()
        content = bare if quoted is None else quoted.replace('""', '"')
        row.append(CsvCell(content.strip(), at, match.start(3)))
        at, line = match.end(), line + match[0].count("\n")
        if end != separator:
            rows.append(tuple(row))
            row = []
    return CsvSheet(
        source=text, file=file, separator=separator, rows=tuple(rows), lines=tuple(lines)
    )
