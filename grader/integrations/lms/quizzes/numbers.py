"""Ranges of numbers as other systems write them."""

from __future__ import annotations

from decimal import Decimal

from grader.model.item import NumberRange

Centred = tuple[int | float, int | float]


def exact_text(value: float) -> str:
    """The shortest text that parses to exactly this number."""
    return repr(value)


def split_range(found: NumberRange) -> tuple[Centred, ...]:
    """A range as one value with a tolerance, or as two that overlap.

    The first value is the range's own, which the other system shows as the right answer.
    """
    low, high, value = found.low, found.high, found.value
    if low == high:
        return ((value, 0),)
    below, above = value - low, high - value
    if abs(below - above) <= 1e-9 * (high - low):
        return ((value, _short_width(value, low, high)),)
    middle = (low + high) / 2
    around: Centred = (middle, _short_width(middle, low, high))
    return ((value, min(below, above)), around) if min(below, above) >= 0 else (around,)


def interval_ends(value: float, width: float) -> tuple[str, str]:
    """Both ends of *value* ± *width*, in decimal arithmetic."""
    middle, half = Decimal(exact_text(value)), Decimal(exact_text(width))
    return str(middle - half), str(middle + half)


def _short_width(value: float, low: float, high: float) -> float:
    """A width of 12 digits around *value* that reaches both ends.

    For example 0.44 rather than 0.4399999999999977, which can exclude an end in the other
    system's arithmetic.
    """
    width = max(value - low, high - value)
    short = float(f"{width:.11e}")
    reached = [Decimal(end) for end in interval_ends(value, short)]
    if reached[0] <= Decimal(exact_text(low)) and Decimal(exact_text(high)) <= reached[1]:
        return short
    return float(f"{width * (1 + 1e-11):.11e}")
