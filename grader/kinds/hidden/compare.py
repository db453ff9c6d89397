"""Compares results with expected ones and says how they differ, without revealing expected values.

Students read these texts, and hidden inputs must not leak through them. So they contain nothing
that a student's code can choose, neither texts (names of classes or keys) nor numbers (shapes,
lengths, dtypes, positions, or counts of differences): code that knows a hidden input could encode
it there.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from grader.model.spec import Strict
from grader.wire.values import ArrayValue, Opaque, SetOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness(Strict):
    """How close numbers must be: within absolute + relative * |expected|.

    Integers must match within `absolute` alone: an index or a count that is off by one is wrong,
    however large it is.
    """

    relative: float = 1e-5
    absolute: float = 1e-7
    dtype: bool = True
    """Whether an array must have the expected dtype."""


def difference(got: object, want: object, near: Closeness) -> str | None:
    """Returns how *got* differs from *want*, as returned by `values.decode_result`; None if it does
    not.

    Lists and tuples are equal, and so are numbers and 0-dimensional arrays.
    """
    return _Comparison(near, form_only=False).find_fault(got, want, "the result")


def form_difference(got: object, want: object, near: Closeness) -> str | None:
    """Returns how the form of *got* differs from that of *want*.

    If only properties decide, the author's code computes with the student's result. A wrong shape
    may broadcast to many times its size in memory, and empty or NaN values pass many comparisons.
    The form is the nesting, lengths, keys, shapes, and kinds of numbers (within arrays, only with
    `near.dtype`). If *want* has no NaN or infinity, *got* must not have any. A number that is not
    in a list must not be negative if that of *want* is not: a count of -1 would be below any limit.
    Values and texts are not compared. An array is accepted for a list, because code that reads
    items can't tell them apart.
    """
    return _Comparison(near, form_only=True).find_fault(got, want, "the result")


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Compares two results, by their values or only by their form."""

    near: Closeness
    form_only: bool

    def find_fault(self, got: object, want: object, what: str, *, alone: bool = True) -> str | None:
        """Returns how *got* differs, or None; *alone* says that it is not an item of a list."""
        got, want = as_scalar(got), as_scalar(want)
        finders: dict[type, Callable[[Any, Any, str], str | None]] = {
            ArrayValue: self._check_array, list: self._check_items, tuple: self._check_items,
            dict: self._check_dict, SetOf: self._check_set,
        }  # fmt: skip
        if type(want) in finders:
            return finders[type(want)](got, want, what)
        if isinstance(want, (int, float, complex)) and not isinstance(want, bool):
            return self._check_number(got, want, what, alone=alone)
        if type(got) is not type(want):
            return type_difference(got, want, what)
        if self.form_only or (got == want and not isinstance(want, Opaque)):
            return None
        wrong = f"{what} has a wrong value"
        return wrong if isinstance(want, bool) else type_difference(got, want, what)

    def _check_array(self, got: object, want: ArrayValue, what: str) -> str | None:
        """Returns how *got* differs from an array; None if it does not."""
        if not isinstance(got, ArrayValue) or got.form != want.form:
            return type_difference(got, want, what)
        if got.shape != want.shape:
            return f"{what} has a wrong shape"
        if self.form_only:
            if self.near.dtype and _number_class(got) != _number_class(want):
                return f"{what} has a wrong dtype"
            return _check_special_numbers(got, want, what)
        if self.near.dtype and got.dtype != want.dtype:
            return f"{what} has a wrong dtype"
        differs = _any_differs(got.numbers, want.numbers, self.near)
        return f"{what} has wrong values" if differs else None

    def _check_items(self, got: object, want: Sequence[object], what: str) -> str | None:
        """Returns how *got* or its first wrong item differs from a list; None if it does not."""
        if not isinstance(got, (list, tuple, ArrayValue) if self.form_only else (list, tuple)):
            return type_difference(got, want, what)
        if (got.shape[0] if isinstance(got, ArrayValue) else len(got)) != len(want):
            return f"{what} has a wrong number of items"
        items = map(partial(_row_of, got), range(len(want))) if isinstance(got, ArrayValue) else got
        for item, right in zip(items, want, strict=True):
            fault = self.find_fault(item, right, f"an item of {what}", alone=False)
            if fault is not None:
                return fault
        return None

    def _check_set(self, got: object, want: SetOf, what: str) -> str | None:
        """Returns how *got* or its first wrong item differs from a set; None if it does not."""
        if not isinstance(got, SetOf):
            return type_difference(got, want, what)
        return self._check_items(got.items, want.items, what)

    def _check_dict(self, got: object, want: dict[object, object], what: str) -> str | None:
        """Returns how *got* or its first wrong value differs from a dict; None if it does not."""
        if not isinstance(got, dict):
            return type_difference(got, want, what)
        missing = [key for key in want if key not in got]
        if missing:
            return f"{what} lacks {_key_name(missing[0])}"
        if len(got) > len(want):
            return f"{what} has an unexpected key"
        faults = (self.find_fault(got[k], want[k], f"{_key_name(k)} of {what}") for k in want)
        return next((fault for fault in faults if fault is not None), None)

    def _check_number(self, got: object, want: complex, what: str, *, alone: bool) -> str | None:
        """Returns how *got* differs from a number; None if it does not."""
        if isinstance(got, bool) or not isinstance(got, (int, float, complex)):
            return type_difference(got, want, what)
        if not self.form_only:
            return None if _is_close(got, want, self.near) else f"{what} has a wrong value"
        if isinstance(got, complex) and not isinstance(want, complex):
            return type_difference(got, want, what)
        if _is_finite(want) and not _is_finite(got):
            return f"{what} is not finite"
        if not alone or isinstance(got, complex) or isinstance(want, complex):
            return None
        # A rounding error may turn 0 into a negative number.
        room = self.near.absolute + (0 if isinstance(want, int) else self.near.relative * abs(want))
        return f"{what} is negative" if got < -room and want >= 0 else None


def as_scalar(value: object) -> object:
    """Returns a single number for a 0-dimensional array; anything else unchanged."""
    return value.number if isinstance(value, ArrayValue) and not value.shape else value


def _row_of(array: ArrayValue, row: int) -> ArrayValue:
    return ArrayValue(array.form, array.dtype, array.shape[1:], array.numbers[row, ...])


def _number_class(array: ArrayValue) -> str:
    """Returns the class of the numbers: Boolean, integer, real, or complex, of any width."""
    kind = str(array.numbers.dtype.kind)
    return "i" if kind == "u" else kind


def _check_special_numbers(got: ArrayValue, want: ArrayValue, what: str) -> str | None:
    """Returns a message if *got* contains NaN or infinity and *want* does not; otherwise None."""
    import numpy as np

    for test, words in ((np.isnan, "NaN"), (np.isinf, "infinity")):
        if test(got.numbers).any() and not test(want.numbers).any():
            return f"{what} contains {words}"
    return None


def _is_finite(value: complex) -> bool:
    return isinstance(value, int) or cmath.isfinite(value)


_HALF = 0.5 - 1e-9
"""A float is compared with a whole number up to this distance, so an index must not be off by one,
whatever its type."""
_ROUNDINGS = 4
"""Number of last bits by which a float may differ from a whole number that is too large for it."""


def _is_close(got: complex, want: complex, near: Closeness) -> bool:
    """Returns whether *got* is as close to *want* as *near* requires; NaN is close to NaN only."""
    if isinstance(got, int) and isinstance(want, int):
        return abs(got - want) <= near.absolute
    if _is_nan(got) or _is_nan(want):
        return _is_nan(got) and _is_nan(want)
    if got == want:
        return True
    try:
        limit = near.absolute + near.relative * abs(want)
        if isinstance(want, int) and isinstance(got, float):
            limit = max(near.absolute, min(limit, max(_HALF, _ROUNDINGS * math.ulp(want))))
        return math.isfinite(abs(want)) and bool(abs(got - want) <= limit)
    except OverflowError:
        return False


def _is_nan(value: complex) -> bool:
    return not isinstance(value, int) and cmath.isnan(value)


def _any_differs(got: Any, want: Any, near: Closeness) -> bool:
    """Returns whether any element differs.

    Compares in blocks, because intermediate results take many times as much memory as the arrays.
    """
    got, want = got.reshape(-1), want.reshape(-1)
    blocks = (slice(start, start + _BLOCK) for start in range(0, want.size, _BLOCK))
    return any(_differs_in_block(got[block], want[block], near) for block in blocks)


def _differs_in_block(got: Any, want: Any, near: Closeness) -> bool:
    """Returns whether any element of *got* differs from *want* by more than *near* allows."""
    import numpy as np

    are_whole = want.dtype.kind in "biu" and got.dtype.kind in "biu"
    if are_whole and near.absolute < 1:
        return bool(np.any(got != want))
    with np.errstate(all="ignore"):
        wide = np.complex128 if "c" in (got.dtype.kind, want.dtype.kind) else np.float64
        a, b = got.astype(wide), want.astype(wide)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        limit = near.absolute + (0 if are_whole else near.relative) * np.abs(b)
        if want.dtype.kind in "iu" and got.dtype.kind == "f":
            room = np.maximum(_HALF, _ROUNDINGS * np.spacing(np.abs(b)))
            limit = np.maximum(near.absolute, np.minimum(limit, room))
        same |= np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= limit)
    return not bool(np.all(same))


def _key_name(key: object) -> str:
    """Returns an expected key if it is part of the question rather than of a hidden input."""
    return repr(key) if isinstance(key, str) and key.isidentifier() else A_KEY


def hide_unknown_keys(why: str, known: Container[str]) -> str:
    """Returns the sentence *why* with "one of the keys" for each quoted key that is not *known*."""
    return _KEY.sub(lambda match: match[0] if match[1] in known else A_KEY, why)


WIDEST = 16
"""Bytes of the widest number."""


def count_numbers(value: object) -> int:
    """Returns how many numbers the arrays of a result contain."""
    if isinstance(value, ArrayValue):
        return int(value.numbers.size)
    items = value.items if isinstance(value, SetOf) else value
    items = list(items.values()) if isinstance(items, dict) else items
    return sum(map(count_numbers, items)) if isinstance(items, (list, tuple)) else 0


def type_difference(got: object, want: object, what: str) -> str:
    """Returns that two values differ in type or, if they don't, are not the same object."""
    mine, right = type_in_words(got), type_in_words(want)
    return f"{what} is {mine}, not {right}" if mine != right else f"{what} is a different one"


_BLOCK = 2**16
"""Number of array elements to compare at once."""
_KEY = re.compile(r"'(\w+)'")
A_KEY = "one of the keys"

# Types that students often return by mistake, by their names in the kernel.
_OPAQUE = {
    **dict.fromkeys(
        ("builtins.function", "builtins.builtin_function_or_method"), "a function"
    ),
    **{f"builtins.{name}": f"a {name}" for name in ("method", "generator", "coroutine", "range",
                                                    "module")},
    **{f"builtins.{name}": f"a {name} object" for name in ("map", "filter", "zip")},
    "builtins.enumerate": "an enumerate object",
    **{f"builtins.dict_{name}": f"the {name} of a dict" for name in ("keys", "values", "items")},
    "builtins.ellipsis": "...",
    "builtins.type": "a class",
    "an array of object": "an array of objects",
    "pandas.core.series.Series": "a pandas Series",
    "pandas.core.frame.DataFrame": "a pandas DataFrame",
}  # fmt: skip

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "True or False"),
    (int, "a whole number"),
    (float, "a number"),
    (complex, "a complex number"),
    (str, "a text"),
    (bytes, "bytes"),
    (dict, "a dict"),
    (SetOf, "a set"),
    (list, "a list"),
    (tuple, "a list"),
)


def type_in_words(value: object) -> str:
    """Returns the type of *value* in a word or two."""
    if isinstance(value, ArrayValue):
        return "an array" if value.form == "array" else "a tensor"
    if isinstance(value, Opaque):
        return _OPAQUE.get(value.type, "an object of another type")
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "None")


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
    """Yields the text of a result in bounded pieces, so that the caller can stop early."""
    if isinstance(value, ArrayValue):
        yield _format_array(value)
    elif isinstance(value, (list, tuple, dict, SetOf)):
        begin, end = "{}" if isinstance(value, (dict, SetOf)) else "()"
        yield begin
        for number, item in enumerate(value.items if isinstance(value, SetOf) else value):
            yield ", " if number else ""
            yield from _iter_pieces(item)
            if isinstance(value, dict):
                yield ": "
                yield from _iter_pieces(value[item])
        yield end
    else:
        cut = value[:_READ] if isinstance(value, (str, bytes)) else value
        yield type_in_words(value) if isinstance(value, Opaque) else repr(cut)


def _format_array(value: ArrayValue) -> str:
    if not value.shape:
        return f"{value.numbers}"
    if not value.numbers.size:
        # Not nested lists: for a shape such as (4000, 5000, 0), there would be millions of them.
        return f"an empty {value.form} of shape {value.shape} ({value.dtype})"
    first = value.numbers if value.numbers.size <= _LONGEST else value.numbers.flat[:_LONGEST]
    return f"{first.tolist()} ({value.dtype})"
