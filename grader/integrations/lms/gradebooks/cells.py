"""CSV with the position of every cell, so that cells can be replaced and all else is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.errors import Location, SpecError


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a file."""

    text: str
    """Content without quotes."""
    start: int
    end: int
    """Offsets in the file's text, including quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A CSV file whose cells can be replaced."""

    source: str
    file: str
    separator: str
    rows: tuple[tuple[Cell, ...], ...]
    lines: tuple[int, ...]
    """The line of the file at which each row begins, from 1."""

    def cell_text(self, row: int, column: int) -> str:
        """The text of a cell, counted from 0; empty if the row is too short."""
        cells = self.rows[row]
        return cells[column].text.strip() if column < len(cells) else ""

    def replace_cells(self, cells: Mapping[tuple[int, int], str]) -> str:
        """The file's text with *cells*, by row and column from 0, replaced."""
        pieces, at = [], 0
        for (r, c), said in sorted(cells.items()):
            cell = self.rows[r][c]
            pieces += [self.source[at : cell.start], self._quote_cell(said)]
            at = cell.end
        return "".join([*pieces, self.source[at:]])

    def _quote_cell(self, said: str) -> str:
        must_be = any(character in said for character in f'"\r\n{self.separator}')
        return '"' + said.replace('"', '""') + '"' if must_be else said


_SEPARATORS = ",;\t"
_LOOKED_AT = 3
"""Number of first lines that Canvas uses to tell commas from semicolons."""


def parse_sheet(text: str, file: str) -> Sheet:
    """Parses *text*. Raises SpecError with the line if a quote is never closed."""
    head = text.split("\n", _LOOKED_AT)[:_LOOKED_AT]
    separator = max(_SEPARATORS, key="".join(head).count)
    rows: list[tuple[Cell, ...]] = []
    lines: list[int] = []
    at = newlines = 0
    while at < len(text):
        lines.append(newlines + 1)
        begin = at
        row: list[Cell] = []
        while True:
            cell = _parse_cell(text, at, separator, file, lines[-1])
            row.append(cell)
            at = cell.end
            if text[at : at + 1] != separator:
                break
            at += 1
        at += 2 if text.startswith("\r\n", at) else 1
        newlines += text.count("\n", begin, at)
        rows.append(tuple(row))
    return Sheet(source=text, file=file, separator=separator, rows=tuple(rows), lines=tuple(lines))


def _parse_cell(text: str, start: int, separator: str, file: str, line: int) -> Cell:
    if not text.startswith('"', start):
        end = start
        while end < len(text) and text[end] not in f"{separator}\r\n":
            end += 1
        return Cell(text[start:end], start, end)
    pieces, at = [], start + 1
    while True:
        close = text.find('"', at)
        if close < 0:
            raise SpecError(
                "a quote in this line is never closed",
                where=Location(file, line),
                fix="download the file again",
            )
        pieces.append(text[at:close])
        if text[close + 1 : close + 2] != '"':
            break
        pieces.append('"')
        at = close + 2
    end = close + 1
    while end < len(text) and text[end] not in f"{separator}\r\n":
        end += 1  # skip text after the closing quote, which no spreadsheet writes
    return Cell("".join(pieces), start, end)
