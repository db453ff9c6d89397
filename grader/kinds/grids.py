"""Reading a student's table, in any accepted form, as rows of cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader import units
from grader.kinds.base import BeyondLimit, Unreadable
from grader.kinds.cells import UnreadableCell, raw_items, raw_pairs, read_cell
from grader.kinds.scalars import number_in_words, quote, read_number, refusal
from grader.model import Raw

Cell = int | float | UnreadableCell | None
Grid = tuple[tuple[Cell, ...], ...]


def read_grid(raw: Raw, rows: Sequence[str], columns: Sequence[str], wanted: str) -> Grid:
    """Returns the numbers by row and column, each in its column's unit; None for a blank cell.

    *rows* are labels and *columns* are units. A cell that can't be read is an UnreadableCell.
    Raises Unreadable if the value is not a grid.
    """
    grid: list[tuple[Cell, ...]] = [(None,) * len(columns)] * len(rows)
    for index, row in _iter_rows(raw, rows, wanted):
        grid[index] = _read_row(row, columns)
    return tuple(grid)


def fold_label(label: str) -> str:
    """Returns a label with case and spacing normalized."""
    return " ".join(label.casefold().split())


def _iter_rows(raw: Raw, rows: Sequence[str], wanted: str) -> Iterator[tuple[int, Raw]]:
    """Yields the index and the value of each row. Raises Unreadable if *raw* is not a table."""
    tag, shape = raw.get("t"), raw.get("shape")
    has_height = isinstance(shape, list) and shape[:1] == [len(rows)]
    if tag == "dict":
        yield from _iter_named_rows(raw, rows)
    elif tag == "array" and raw.get("v") is None and has_height:
        raise BeyondLimit(f"The answer is an array too large to be read; give {wanted}.")
    elif tag in ("list", "array") and isinstance(raw.get("v"), list):
        items = raw_items(raw)
        if len(items) > len(rows):
            raise Unreadable(f"The answer has {len(items)} rows, but the table has {len(rows)}.")
        yield from enumerate(items)
    else:
        raise refusal(raw, wanted)


def _iter_named_rows(raw: Raw, rows: Sequence[str]) -> Iterator[tuple[int, Raw]]:
    """Yields the index and the value of each row of a dict. Raises Unreadable for unknown names."""
    places = {fold_label(label): index for index, label in enumerate(rows)}
    for name, row in raw_pairs(raw):
        index = places.get(_fold_row_name(name))
        if index is None:
            unknown = quote(name.get("v", ""))
            raise Unreadable(f"There is no row {unknown}; the rows are {', '.join(rows)}.")
        yield index, row


def _fold_row_name(raw: Raw) -> str:
    """Returns a dict's key as the table prints a label; empty for a number that can't be read."""
    written = str(raw.get("v", ""))
    if raw.get("t") not in ("int", "float"):
        return fold_label(written)
    try:
        return units.format_number(int(written) if raw["t"] == "int" else float(written))
    except (ValueError, OverflowError):
        return ""


def _read_row(row: Raw, columns: Sequence[str]) -> tuple[Cell, ...]:
    """Returns the cells of a row, with None for those left out; all unreadable if it is no list."""
    count = len(columns)
    if row.get("t") in ("ellipsis", "none"):
        return (None,) * count
    cells = raw_items(row)
    if count == 1 and row.get("t") not in ("list", "array"):
        cells = [row]  # a row with one column may be a bare number
    if not cells or len(cells) > count:
        wanted = "one number" if count == 1 else f"a list of {count} numbers"
        return (UnreadableCell(f"Each row must be {wanted}."),) * count
    cells_read = [_read_cell(cell, unit) for cell, unit in zip(cells, columns, strict=False)]
    return (*cells_read, *([None] * (count - len(cells_read))))


def _read_cell(raw: Raw, unit: str) -> Cell:
    if raw.get("t") == "none":
        return None
    return read_cell(lambda: read_number(raw, unit, number_in_words(unit)))
