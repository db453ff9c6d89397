"""Cells of tables that spreadsheets open: quoted where they must be, never run as formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable

_QUOTED = re.compile('[",\r\n]')
# What a spreadsheet would take for a formula when a cell starts with it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


# Not the csv module: with plain line ends it leaves a carriage return unquoted.
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
    """One line of a table, without its end; the cells are quoted here and guarded before."""
    return ",".join(map(quoted, cells))
