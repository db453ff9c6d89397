"""Sample answers as a kernel would send them, for the examples of all kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grader.kinds.base import Example
from grader.model import Raw

BLANK: Raw = {"t": "ellipsis"}
NAN: Raw = {"t": "float", "v": "nan"}


def number(value: float) -> Raw:
    """Returns the Raw of a number."""
    if isinstance(value, int):
        return {"t": "int", "v": str(value)}
    return {"t": "float", "v": repr(value)}


def text(written: str) -> Raw:
    """Returns the Raw of a text."""
    return {"t": "str", "v": written, "cut": False}


def a_list(items: Iterable[Raw]) -> Raw:
    """Returns the Raw of a list or a tuple."""
    return {"t": "list", "v": list(items)}


def texts(items: Iterable[str]) -> Raw:
    """Returns the Raw of a list of texts."""
    return a_list(map(text, items))


def a_dict(pairs: Iterable[tuple[Raw, Raw]]) -> Raw:
    """Returns the Raw of a dict."""
    return {"t": "dict", "v": [list(pair) for pair in pairs]}


def by_row(labels: Sequence[str], rows: Sequence[Sequence[Raw]]) -> Raw:
    """Returns the Raw of a dict from label to list."""
    return a_dict((text(label), a_list(row)) for label, row in zip(labels, rows, strict=True))


def with_cell(rows: Sequence[Sequence[Raw]], at: tuple[int, int], other: Raw) -> Raw:
    """Returns the Raw of a list of *rows* with one cell replaced."""
    changed = [list(row) for row in rows]
    changed[at[0]][at[1]] = other
    return a_list(map(a_list, changed))


def unreadable(raw: Raw, why: str) -> Example:
    """Returns an example that must be unreadable."""
    return Example(raw=raw, share=None, why=why)


# Values that are not an answer of any kind.
NOTHING = (
    unreadable(BLANK, "an ellipsis"),
    unreadable({"t": "none"}, "None"),
    unreadable({"t": "object", "type": "builtins.function"}, "a function"),
    unreadable({"t": "complex", "v": "(1+2j)"}, "a complex number"),
)

NOT_NUMBERS = (
    *NOTHING,
    unreadable(NAN, "NaN"),
    unreadable({"t": "float", "v": "inf"}, "infinity"),
    unreadable({"t": "float", "v": "-inf"}, "minus infinity"),
    unreadable({"t": "bool", "v": True}, "a truth value"),
    unreadable({"t": "int", "digits": 5000}, "a huge integer"),
    unreadable(
        {"t": "array", "shape": [1], "dtype": "float64", "v": [{"t": "float", "v": "1.0"}]},
        "an array of one element",
    ),
    unreadable(a_list([number(1)]), "a list"),
    unreadable(a_dict([]), "a dict"),
    unreadable(text(""), "an empty text"),
    unreadable(text("about that much"), "words"),
    unreadable({"t": "str", "v": "9" * 10_000, "cut": True}, "a text that is too long"),
)

NOT_LETTERS = (
    *NOTHING,
    unreadable(number(1), "a number"),
    unreadable(NAN, "NaN"),
    unreadable({"t": "bool", "v": True}, "a truth value"),
    unreadable(text("?"), "no letter"),
    unreadable(text(""), "an empty text"),
)
