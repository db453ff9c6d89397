"""Answers made of several: each is judged alone, so that one that is blank costs only itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from grader.kinds.base import BeyondLimit, Unreadable
from grader.model import Raw

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unread:
    """One of several that can't be read, and why."""

    sentence: str


def read_cell(read: Callable[[], T]) -> T | Unread | None:
    """What *read* returns, None when it finds a blank, or why it can't be read.

    Raises BeyondLimit, because what one cell is worth is part of the whole answer's mark.
    """
    try:
        return read()
    except BeyondLimit:
        raise
    except Unreadable as reason:
        return None if reason.blank else Unread(reason.sentence)


def require_some(cells: Iterable[object]) -> None:
    """Nothing, if one of *cells* can be read; otherwise raises Unreadable."""
    unread: Unread | None = None
    for cell in cells:
        if isinstance(cell, Unread):
            unread = unread or cell
        elif cell is not None:
            return
    if unread:
        raise Unreadable(unread.sentence)
    raise Unreadable("Nothing was filled in.", blank=True)


def lacking(cells: Sequence[object], noun: str) -> str:
    """How many of *cells* are blank, and the first that can't be read; empty when all are there."""
    blank = sum(cell is None for cell in cells)
    verb = "is" if blank == 1 else "are"
    said = [f"{blank} of {len(cells)} {noun} {verb} blank"] if blank else []
    unread = [cell.sentence for cell in cells if isinstance(cell, Unread)]
    if unread:
        said.append(f"{len(unread)} of {len(cells)} {noun} can't be read: {unread[0].rstrip('.')}")
    return "; ".join(said)


def raw_items(raw: Raw) -> list[Raw]:
    """The items of a list or a tuple; of anything else, none."""
    items = raw.get("v")
    if raw.get("t") not in ("list", "array") or not isinstance(items, list):
        return []
    return [as_raw(item) for item in items]


def raw_pairs(raw: Raw) -> list[tuple[Raw, Raw]]:
    """The keys and values of a dict; of anything else, none."""
    pairs = raw.get("v")
    if raw.get("t") != "dict" or not isinstance(pairs, list):
        return []
    return [
        (as_raw(pair[0]), as_raw(pair[1]))
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2
    ]


def as_raw(item: object) -> Raw:
    """An item as a Raw. Rows of an array come as bare lists; what is neither is unreadable."""
    if isinstance(item, dict):
        return item
    return {"t": "list", "v": item} if isinstance(item, list) else {}
