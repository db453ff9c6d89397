"""Compares results with expected ones and says how they differ, without revealing expected values.

Students read these texts, and hidden inputs must not leak through them. So they contain nothing
that a student's code can choose, neither texts (names of classes or keys) nor numbers (shapes,
lengths, dtypes, positions, or counts of differences): code that knows a hidden input could encode
it there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from grader.model.spec import STRICT
from grader.wire.values import Array, Opaque


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """How close numbers must be: within absolute + relative * |expected|.

    Integers must match within `absolute` alone: an index or a count that is off by one is wrong,
    however large it is.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    relative: float = 1e-5
    absolute: float = 1e-7
    dtype: bool = True
    """Whether an array must have the expected dtype."""


def difference(got: object, want: object, near: Closeness, what: str = "the result") -> str | None:
    """Returns how *got* differs from *want*, as returned by `values.read`; None if it does not.

    Lists and tuples are equal, and so are numbers and 0-dimensional arrays.
    """
    got, want = as_scalar(got), as_scalar(want)
    for kinds, compare in _COMPARED:
        if isinstance(want, kinds):
            return compare(got, want, near, what)
    return None if type(got) is type(want) and got == want else type_difference(got, want, what)


def _bool_difference(got: object, want: bool, _near: Closeness, what: str) -> str | None:
    if isinstance(got, bool) and got is not want:
        return f"{what} has a wrong value"
    return None if got is want else type_difference(got, want, what)


def _number_difference(got: object, want: complex, near: Closeness, what: str) -> str | None:
    if isinstance(got, bool) or not isinstance(got, (int, float, complex)):
        return type_difference(got, want, what)
    return None if _is_close(got, want, near) else f"{what} has a wrong value"


def as_scalar(value: object) -> object:
    """Returns a single number for a 0-dimensional array; anything else unchanged."""
    return value.number if isinstance(value, Array) and not value.shape else value


def _is_close(got: complex, want: complex, near: Closeness) -> bool:
    if isinstance(got, int) and isinstance(want, int):
        return abs(got - want) <= near.absolute
    if _is_nan(got) or _is_nan(want):
        return _is_nan(got) and _is_nan(want)
    if got == want:
        return True
    try:
        return math.isfinite(abs(want)) and bool(
            abs(got - want) <= near.absolute + near.relative * abs(want)
        )
    except OverflowError:
        return False


def _is_nan(value: complex) -> bool:
    return not isinstance(value, int) and (math.isnan(value.real) or math.isnan(value.imag))


def _array_difference(got: object, want: Array, near: Closeness, what: str) -> str | None:
    if not isinstance(got, Array) or got.form != want.form:
        return type_difference(got, want, what)
    if got.shape != want.shape:
        return f"{what} has a wrong shape"
    if near.dtype and got.dtype != want.dtype:
        return f"{what} has a wrong dtype"
    return f"{what} has wrong values" if _any_differs(got.numbers, want.numbers, near) else None


def _any_differs(got: Any, want: Any, near: Closeness) -> bool:
    """Returns whether any element differs.

    Compares in blocks, because intermediate results take many times as much memory as the arrays.
    """
    got, want = got.reshape(-1), want.reshape(-1)
    blocks = (slice(start, start + _BLOCK) for start in range(0, want.size, _BLOCK))
    return any(_differs_in_block(got[block], want[block], near) for block in blocks)


def _differs_in_block(got: Any, want: Any, near: Closeness) -> bool:
    import numpy as np

    whole = want.dtype.kind in "biu" and got.dtype.kind in "biu"
    if whole and near.absolute < 1:
        return bool(np.any(got != want))
    with np.errstate(all="ignore"):
        wide = np.complex128 if "c" in (got.dtype.kind, want.dtype.kind) else np.float64
        a, b = got.astype(wide), want.astype(wide)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        limit = near.absolute + (0 if whole else near.relative) * np.abs(b)
        same |= np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= limit)
    return not bool(np.all(same))


def _items_difference(
    got: object, want: list[object] | tuple[object, ...], near: Closeness, what: str
) -> str | None:
    if not isinstance(got, (list, tuple)):
        return type_difference(got, want, what)
    if len(got) != len(want):
        return f"{what} has a wrong number of items"
    found = (difference(*both, near, f"an item of {what}") for both in zip(got, want, strict=True))
    return next((why for why in found if why is not None), None)


def mapping_difference(
    got: object,
    want: dict[object, object],
    near: Closeness,
    what: str,
    differs: Callable[[object, object, Closeness, str], str | None],
) -> str | None:
    """Returns how the keys of *got* differ from those of *want*, or, by *differs*, the values."""
    if not isinstance(got, dict):
        return type_difference(got, want, what)
    missing = [key for key in want if key not in got]
    if missing:
        return f"{what} has no {key_name(missing[0])}"
    if len(got) > len(want):
        return f"{what} has an unexpected key"
    found = (differs(got[key], want[key], near, f"{key_name(key)} of {what}") for key in want)
    return next((why for why in found if why is not None), None)


def _dict_difference(
    got: object, want: dict[object, object], near: Closeness, what: str
) -> str | None:
    return mapping_difference(got, want, near, what, difference)


def key_name(key: object) -> str:
    """Returns an expected key if it is part of the question rather than of a hidden input."""
    return repr(key) if isinstance(key, str) and key.isidentifier() else A_KEY


def hide_unknown_keys(why: str, known: Container[str]) -> str:
    """Returns the sentence without keys that are not *known* as the author's own words."""
    return _KEY.sub(lambda found: found[0] if found[1] in known else A_KEY, why)


WIDEST = 16
"""Bytes of the widest number."""


def count_numbers(value: object) -> int:
    """Returns how many numbers the arrays of a result contain."""
    if isinstance(value, Array):
        return int(value.numbers.size)
    items = list(value.values()) if isinstance(value, dict) else value
    return sum(map(count_numbers, items)) if isinstance(items, (list, tuple)) else 0


def type_difference(got: object, want: object, what: str) -> str:
    """Returns that two values differ in type, or are not the same object."""
    mine, right = type_in_words(got), type_in_words(want)
    return f"{what} is {mine}, not {right}" if mine != right else f"{what} is a different one"


_BLOCK = 2**16
"""Number of array elements to compare at once."""
_KEY = re.compile(r"'(\w+)'")
A_KEY = "one of the keys"

# Types that students often return by mistake, by their names in the kernel.
_OPAQUE = {
    "builtins.function": "a function",
    "builtins.method": "a method",
    "builtins.builtin_function_or_method": "a function",
    "builtins.generator": "a generator",
    "builtins.coroutine": "a coroutine",
    "builtins.range": "a range",
    "builtins.map": "a map object",
    "builtins.filter": "a filter object",
    "builtins.zip": "a zip object",
    "builtins.enumerate": "an enumerate object",
    "builtins.dict_keys": "the keys of a dict",
    "builtins.dict_values": "the values of a dict",
    "builtins.dict_items": "the items of a dict",
    "builtins.ellipsis": "...",
    "builtins.type": "a class",
    "builtins.module": "a module",
    "an array of object": "an array of objects",
    "pandas.core.series.Series": "a pandas Series",
    "pandas.core.frame.DataFrame": "a pandas DataFrame",
}

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "True or False"),
    (int, "a whole number"),
    (float, "a number"),
    (complex, "a complex number"),
    (str, "a text"),
    (bytes, "bytes"),
    (dict, "a dict"),
    (list, "a list"),
    (tuple, "a list"),
)


def type_in_words(value: object) -> str:
    """Returns the type of *value* in a word or two."""
    if isinstance(value, Array):
        return "an array" if value.form == "array" else "a tensor"
    if isinstance(value, Opaque):
        return _OPAQUE.get(value.type, "an object of another type")
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "None")


_COMPARED: tuple[tuple[tuple[type, ...], Callable[[Any, Any, Closeness, str], str | None]], ...] = (
    ((Array,), _array_difference),
    ((list, tuple), _items_difference),
    ((dict,), _dict_difference),
    ((bool,), _bool_difference),
    ((int, float, complex), _number_difference),
    ((Opaque,), lambda got, want, _near, what: type_difference(got, want, what)),
)

_LONGEST = 80
_READ = 4 * _LONGEST
"""Maximum number of characters to examine, including whitespace that is not shown."""


def format_result(value: object) -> str:
    """Returns a result on one line of plain text, shortened."""
    text = ""
    for piece in _iter_pieces(value):
        text += piece
        if len(text) > _READ:  # don't format more of a large result than can be shown
            text += "…"
            break
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _iter_pieces(value: object) -> Iterator[str]:
    """Yields its text in pieces of bounded length."""
    if isinstance(value, Array):
        yield _format_array(value)
    elif isinstance(value, (list, tuple)):
        yield "("
        for number, item in enumerate(value):
            yield ", " if number else ""
            yield from _iter_pieces(item)
        yield ")"
    elif isinstance(value, dict):
        yield "{"
        for number, (key, item) in enumerate(value.items()):
            yield ", " if number else ""
            yield from _iter_pieces(key)
            yield ": "
            yield from _iter_pieces(item)
        yield "}"
    else:
        cut = value[:_READ] if isinstance(value, (str, bytes)) else value
        yield type_in_words(value) if isinstance(value, Opaque) else repr(cut)


def _format_array(value: Array) -> str:
    if not value.shape:
        return f"{value.numbers}"
    if not value.numbers.size:
        # Not nested lists: for a shape such as (4000, 5000, 0), there would be millions of them.
        return f"an empty {value.form} of shape {value.shape} ({value.dtype})"
    first = value.numbers if value.numbers.size <= _LONGEST else value.numbers.flat[:_LONGEST]
    return f"{first.tolist()} ({value.dtype})"
