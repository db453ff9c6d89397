"""Cells for spreadsheets: quoted where necessary, never executed as formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable

_QUOTED = re.compile('[",\r\n]')
# Spreadsheets take a cell that starts with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


# Not the csv module: with plain line ends, it does not quote a carriage return.
def quoted(cell: str) -> str:
    """*cell* as it stands between commas.

    >>> quoted('a "b", c')
    '"a ""b"", c"'
    """
    if _QUOTED.search(cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def text(value: str) -> str:
    """*value* with an apostrophe before it where a spreadsheet would compute it.

    >>> text("=1+1"), text("ada")
    ("'=1+1", 'ada')
    """
    return f"'{value}" if value.startswith(_FORMULA) else value


def unguarded(cell: str) -> str:
    """What *cell* said before `text` guarded it; an apostrophe of its own stays.

    >>> unguarded("'=1+1"), unguarded("'t Hooft")
    ('=1+1', "'t Hooft")
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def line(cells: Iterable[str]) -> str:
    """Returns one line of a table without its line end, quoting the cells, which are guarded
    already."""
    return ",".join(map(quoted, cells))
