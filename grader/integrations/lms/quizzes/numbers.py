"""Ranges of numbers as other systems write them."""

from __future__ import annotations

from decimal import Decimal

from grader.model.item import Range

Centred = tuple[int | float, int | float]


def written(value: float) -> str:
    """The shortest text that comes back as this very number."""
    return repr(value)


def centred(found: Range) -> tuple[Centred, ...]:
    """A range as values with the distance that is accepted around them: one, or two overlapping.

    The first is around the number that the range is about, which is shown as the right one.
    """
    low, high, value = found.low, found.high, found.value
    if low == high:
        return ((value, 0),)
    below, above = value - low, high - value
    if abs(below - above) <= 1e-9 * (high - low):
        return ((value, _short(value, low, high)),)
    middle = (low + high) / 2
    around: Centred = (middle, _short(middle, low, high))
    return ((value, min(below, above)), around) if min(below, above) >= 0 else (around,)


def ends(value: float, width: float) -> tuple[str, str]:
    """Both ends of what is accepted around *value*, without a binary fraction's last digits."""
    middle, half = Decimal(written(value)), Decimal(written(width))
    return str(middle - half), str(middle + half)


def _short(value: float, low: float, high: float) -> float:
    """A width of 12 digits around *value* that reaches both ends, such as 0.44.

    Rather than 0.4399999999999977, with which another system's arithmetic loses an end.
    """
    width = max(value - low, high - value)
    short = float(f"{width:.11e}")
    reached = [Decimal(end) for end in ends(value, short)]
    if reached[0] <= Decimal(written(low)) and Decimal(written(high)) <= reached[1]:
        return short
    return float(f"{width * (1 + 1e-11):.11e}")
