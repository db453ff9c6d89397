"""Answers with several entries, each judged separately, so that a blank costs only its own
points."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from grader.kinds.base import BeyondLimit, Unreadable
from grader.model import Raw

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class UnreadableCell:
    """An entry that can't be read, and why."""

    sentence: str


def read_cell(read: Callable[[], T]) -> T | UnreadableCell | None:
    """Returns the result of *read*, None if the entry is blank, or an UnreadableCell that says why.

    Raises BeyondLimit, because each cell affects the mark of the whole answer.
    """
    try:
        return read()
    except BeyondLimit:
        raise
    except Unreadable as reason:
        return None if reason.blank else UnreadableCell(reason.sentence)


def format_cell(cell: T | UnreadableCell | None, show: Callable[[T], str] = str) -> str:
    """Returns what *show* returns for a cell, or whether it is blank or unreadable."""
    if isinstance(cell, UnreadableCell):
        return "unreadable"
    return "blank" if cell is None else show(cell)


def require_readable(cells: Iterable[object]) -> None:
    """Raises Unreadable if all of *cells* are blank or unreadable."""
    filled = [cell for cell in cells if cell is not None]
    unreadable = [cell for cell in filled if isinstance(cell, UnreadableCell)]
    if not filled:
        raise Unreadable("The answer is empty.", blank=True)
    if len(unreadable) == len(filled):
        raise Unreadable(unreadable[0].sentence)


def missing_parts(value: object) -> str:
    """Returns in words how many cells of *value* are blank or unreadable; empty if none are."""
    rows = value if isinstance(value, tuple) else ()
    has_rows = any(isinstance(row, tuple) for row in rows)
    cells = [cell for row in rows for cell in row] if has_rows else rows
    noun = "cells" if has_rows else "items"
    blank = sum(cell is None for cell in cells)
    verb = "is" if blank == 1 else "are"
    notes = [f"{blank} of {len(cells)} {noun} {verb} blank"] if blank else []
    unread = [cell.sentence for cell in cells if isinstance(cell, UnreadableCell)]
    if unread:
        notes.append(f"{len(unread)} of {len(cells)} {noun} can't be read: {unread[0].rstrip('.')}")
    return "; ".join(notes)


def raw_items(raw: Raw) -> list[Raw]:
    """Returns the items of a list or a tuple; an empty list for anything else."""
    items = raw.get("v")
    if raw.get("t") not in ("list", "array") or not isinstance(items, list):
        return []
    return [as_raw(item) for item in items]


def raw_pairs(raw: Raw) -> list[tuple[Raw, Raw]]:
    """Returns the keys and values of a dict; an empty list for anything else."""
    pairs = raw.get("v")
    if raw.get("t") != "dict" or not isinstance(pairs, list):
        return []
    valid_pairs = (pair for pair in pairs if isinstance(pair, list) and len(pair) == 2)
    return [(as_raw(name), as_raw(value)) for name, value in valid_pairs]


def as_raw(item: object) -> Raw:
    """Returns an item unchanged if it is a Raw, a list as the Raw of one, or an unreadable Raw."""
    if isinstance(item, dict):
        return item
    return {"t": "list", "v": item} if isinstance(item, list) else {}
