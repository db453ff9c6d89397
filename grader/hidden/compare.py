"""Whether a result is the expected one, and if not, how it differs, without what was expected."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from grader.hidden.values import Array, Opaque
from grader.model.spec import STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """How near numbers must come: within absolute + relative times what is expected."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    relative: float = 1e-5
    absolute: float = 1e-7
    dtype: bool = True
    """Whether an array must have the expected type of numbers."""


def difference(got: object, want: object, near: Closeness, what: str = "the result") -> str | None:
    """How *got* differs from *want*, both as `values.read` returns them; None when it does not.

    Lists and tuples are alike, and so are numbers and arrays without dimensions.
    """
    got, want = _scalar(got), _scalar(want)
    for kinds, compare in _COMPARED:
        if isinstance(want, kinds):
            return compare(got, want, near, what)
    return None if type(got) is type(want) and got == want else _unlike(got, want, what)


def _flag(got: object, want: bool, _near: Closeness, what: str) -> str | None:
    return None if got is want else _unlike(got, want, what)


def _number(got: object, want: complex, near: Closeness, what: str) -> str | None:
    if isinstance(got, bool) or not isinstance(got, (int, float, complex)):
        return _unlike(got, want, what)
    return None if _close(got, want, near) else f"{what} has another value"


def _scalar(value: object) -> object:
    """A single number for an array without dimensions."""
    return value.numbers.item() if isinstance(value, Array) and not value.shape else value


def _close(got: complex, want: complex, near: Closeness) -> bool:
    try:
        if isinstance(got, int) and isinstance(want, int):
            return abs(got - want) <= near.absolute + near.relative * abs(want)
        if _nan(got) or _nan(want):
            return _nan(got) and _nan(want)
        if got == want:
            return True
        return bool(abs(got - want) <= near.absolute + near.relative * abs(want))
    except OverflowError:
        return False


def _nan(value: complex) -> bool:
    return not isinstance(value, int) and (math.isnan(value.real) or math.isnan(value.imag))


def _array(got: object, want: Array, near: Closeness, what: str) -> str | None:
    if not isinstance(got, Array) or got.form != want.form:
        return _unlike(got, want, what)
    if got.shape != want.shape:
        return f"{what} has the shape {got.shape}, not {want.shape}"
    if near.dtype and got.dtype != want.dtype:
        return f"{what} has the dtype {got.dtype}, not {want.dtype}"
    wrong = _apart(got.numbers, want.numbers, near)
    if not wrong:
        return None
    if wrong == want.numbers.size:
        return f"{what} has other values throughout" if wrong > 1 else f"{what} has another value"
    return f"{what} has other values in {wrong} of {want.numbers.size} places"


def _apart(got: Any, want: Any, near: Closeness) -> int:
    """How many places differ."""
    import numpy as np

    if want.dtype.kind in "biu" and got.dtype.kind in "biu" and near.relative == near.absolute == 0:
        return int(np.count_nonzero(got != want))
    with np.errstate(all="ignore"):
        wide = np.complex128 if "c" in (got.dtype.kind, want.dtype.kind) else np.float64
        a, b = got.astype(wide), want.astype(wide)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        limit = near.absolute + near.relative * np.abs(b)
        same |= np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= limit)
    return int(np.count_nonzero(~same))


def _items(
    got: object, want: list[object] | tuple[object, ...], near: Closeness, what: str
) -> str | None:
    if not isinstance(got, (list, tuple)):
        return _unlike(got, want, what)
    if len(got) != len(want):
        return f"{what} has {len(got)} items, not {len(want)}"
    for number, (mine, right) in enumerate(zip(got, want, strict=True), start=1):
        found = difference(mine, right, near, f"item {number} of {what}")
        if found is not None:
            return found
    return None


def _mapping(got: object, want: dict[object, object], near: Closeness, what: str) -> str | None:
    if not isinstance(got, dict):
        return _unlike(got, want, what)
    missing = [key for key in want if key not in got]
    if missing:
        return f"{what} has no {str(missing[0])!r}"
    more = [key for key in got if key not in want]
    if more:
        return f"{what} has {str(more[0])[:40]!r}, which is not asked for"
    for key, right in want.items():
        found = difference(got[key], right, near, f"{str(key)!r} of {what}")
        if found is not None:
            return found
    return None


def _unlike(got: object, want: object, what: str) -> str:
    mine, right = kind_of(got), kind_of(want)
    return f"{what} is {mine}, not {right}" if mine != right else f"{what} is another one"


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


def kind_of(value: object) -> str:
    """What sort of thing *value* is, in a word or two."""
    if isinstance(value, Array):
        kind = "an array" if value.form == "array" else "a tensor"
        return f"{kind} of shape {value.shape}"
    if isinstance(value, Opaque):
        return f"an object of type {value.type}"
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "None")


_COMPARED: tuple[tuple[tuple[type, ...], Callable[[Any, Any, Closeness, str], str | None]], ...] = (
    ((Array,), _array),
    ((list, tuple), _items),
    ((dict,), _mapping),
    ((bool,), _flag),
    ((int, float, complex), _number),
    ((Opaque,), lambda got, want, _near, what: _unlike(got, want, what)),
)

_LONGEST = 80


def shown(value: object) -> str:
    """A result in one line of plain text, cut to length."""
    text = _told(value)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _told(value: object) -> str:
    if isinstance(value, Array):
        return f"{value.numbers.tolist()} ({value.dtype})" if value.shape else f"{value.numbers}"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_told, value))})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k!r}: {_told(v)}' for k, v in value.items())}}}"
    return kind_of(value) if isinstance(value, Opaque) else repr(value)
