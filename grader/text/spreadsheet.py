"""Cells for spreadsheets: quote where necessary, never executed as formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable

_QUOTED = re.compile('[",\r\n]')
# Spreadsheets take a cell that starts with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


# Not the csv module: with plain line ends, it does not quote a carriage return.
def quote_cell(cell: str) -> str:
    """Returns *cell* as CSV, with quotes if necessary.

    >>> quote_cell('a "b", c')
    '"a ""b"", c"'
    """
    return quote_always(cell) if _QUOTED.search(cell) else cell


def quote_always(cell: str) -> str:
    """Returns *cell* as CSV, in quotes, for any separator."""
    return '"' + cell.replace('"', '""') + '"'


def escape_cell(value: str) -> str:
    """Returns *value*, with an apostrophe before it if a spreadsheet would compute it.

    >>> escape_cell("=1+1"), escape_cell("ada")
    ("'=1+1", 'ada')
    """
    return f"'{value}" if value.startswith(_FORMULA) else value


def unescape_cell(cell: str) -> str:
    """Returns *cell* as it was before `escape_cell` escaped it; other apostrophes stay.

    >>> unescape_cell("'=1+1"), unescape_cell("'t Hooft")
    ('=1+1', "'t Hooft")
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def csv_line(cells: Iterable[str]) -> str:
    """Returns one line of a table without its end, from cells that are already escaped."""
    return ",".join(map(quote_cell, cells))
