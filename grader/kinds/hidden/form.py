"""Checks that a result has the form of the reference's result, before any property is checked.

If only properties decide, the author's code computes with the student's result. A wrong shape may
broadcast to many times its size in memory, and empty or NaN values pass many comparisons. As in
`grader.kinds.hidden.compare`, no message contains text from the student.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from grader.kinds.hidden.compare import Closeness, as_scalar, mapping_difference, type_difference
from grader.wire.values import Array


def form_difference(
    got: object, want: object, near: Closeness, what: str = "the result", *, alone: bool = True
) -> str | None:
    """Returns how the form of *got* differs from that of *want*, both from `values.read`.

    The form is the nesting, lengths, keys, shapes, and kinds of numbers (within arrays, only with
    `near.dtype`). If *want* has no NaN or infinity, *got* must not have any. A number that stands
    *alone*, not in a list, must not be negative if that of *want* is not: a count of -1 would be
    below any limit. Values and texts are not compared.
    """
    got, want = as_scalar(got), as_scalar(want)
    if isinstance(want, (list, tuple)):
        return _items_difference(got, want, near, what)
    if isinstance(want, dict):
        return mapping_difference(got, want, near, what, form_difference)
    if isinstance(want, Array):
        return _array_difference(got, want, near, what)
    if isinstance(want, (int, float, complex)) and not isinstance(want, bool):
        return _number_difference(got, want, near, what, alone=alone)
    return None if type(got) is type(want) else type_difference(got, want, what)


def _items_difference(
    got: object, want: Sequence[object], near: Closeness, what: str
) -> str | None:
    """Arrays are accepted for lists of numbers, because code that reads their items can't tell them
    apart."""
    if not isinstance(got, (list, tuple, Array)):
        return type_difference(got, want, what)
    length = got.shape[0] if isinstance(got, Array) else len(got)
    if length != len(want):
        return f"{what} has a wrong number of items"
    mine, item = _rows(got) if isinstance(got, Array) else got, f"an item of {what}"
    pairs = zip(mine, want, strict=True)
    found = (form_difference(one, right, near, item, alone=False) for one, right in pairs)
    return next((why for why in found if why is not None), None)


def _rows(array: Array) -> Sequence[object]:
    """Returns its items along the first dimension."""
    form, dtype, shape = array.form, array.dtype, array.shape[1:]
    return [Array(form, dtype, shape, array.numbers[i, ...]) for i in range(array.shape[0])]


def _array_difference(got: object, want: Array, near: Closeness, what: str) -> str | None:
    import numpy as np

    if not isinstance(got, Array) or got.form != want.form:
        return type_difference(got, want, what)
    if got.shape != want.shape:
        return f"{what} has a wrong shape"
    if near.dtype and _number_class(got) != _number_class(want):
        return f"{what} has a wrong dtype"
    for test, words in ((np.isnan, "NaN"), (np.isinf, "infinity")):
        if test(got.numbers).any() and not test(want.numbers).any():
            return f"{what} contains {words}"
    return None


def _number_class(array: Array) -> str:
    """Returns whether its numbers are Boolean, integer, real, or complex, of any width."""
    kind = str(array.numbers.dtype.kind)
    return "i" if kind == "u" else kind


def _number_difference(
    got: object, want: complex, near: Closeness, what: str, *, alone: bool
) -> str | None:
    if isinstance(got, bool) or not isinstance(got, (int, float, complex)):
        return type_difference(got, want, what)
    if isinstance(got, complex) and not isinstance(want, complex):
        return type_difference(got, want, what)
    if _is_finite(want) and not _is_finite(got):
        return f"{what} is not finite"
    if not alone or isinstance(got, complex) or isinstance(want, complex):
        return None
    # A rounding error may turn 0 into a negative number.
    room = near.absolute + (0 if isinstance(want, int) else near.relative * abs(want))
    return f"{what} is negative" if got < -room and want >= 0 else None


def _is_finite(value: complex) -> bool:
    return isinstance(value, int) or (math.isfinite(value.real) and math.isfinite(value.imag))
