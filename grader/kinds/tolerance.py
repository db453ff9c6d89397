"""The accepted interval from a key and its tolerance, with the reason for its width."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from grader import units
from grader.expressions import evaluate
from grader.kinds.texts import scope_with
from grader.model import Draw, Expr, Tolerance
from grader.units.quantity import Quantity, Value

DEFAULT = Tolerance(relative=0.01)
EXACT = Tolerance(absolute=0)
SLACK = 1e-9
"""Relative; a value computed in another order may lie slightly beyond the boundary."""


@dataclass(frozen=True, slots=True)
class AcceptedInterval:
    """The accepted values, both ends included."""

    low: int | float
    high: int | float
    reason: str
    """The reason for this width, shown to the student after release."""


def is_within(value: float, low: float, high: float) -> bool:
    """Returns whether *value* is between *low* and *high*, ends included, up to rounding errors."""
    if low <= value <= high:
        return True
    if isinstance(value, int) and isinstance(low, int) and isinstance(high, int):
        return False  # whole numbers of any size have no rounding errors
    slack = SLACK * max(abs(low), abs(high))
    if low < high:
        slack = min(slack, 1e-3 * (high - low))
    return low - slack <= value <= high + slack


def scale_interval(interval: AcceptedInterval, key: float, center: float) -> tuple[float, float]:
    """Returns the ends of an interval with the same relative width around *center*."""
    low, high = interval.low, interval.high
    if low == high:
        return center, center
    if key == 0:
        return center + low, center + high
    ends = (low * (center / key), high * (center / key))
    return min(ends), max(ends)


def accepted_interval(
    key: float,
    tolerance: Tolerance,
    *,
    unit: str,
    draw: Draw,
    compute: Callable[[Mapping[str, Value]], float],
) -> AcceptedInterval:
    """Returns the values accepted for *key*: the union of what each rule of *tolerance* accepts.

    *compute* returns the answer in another scope; only rounded inputs need it. Raises ValueError
    if the tolerance is invalid.
    """
    intervals = list(_iter_intervals(key, tolerance, unit, draw, compute))
    intervals = intervals or list(_iter_intervals(key, DEFAULT, unit, draw, compute))
    low = min(i.low for i in intervals)
    high = max(i.high for i in intervals)
    widest = [i for i in intervals if i.low == low and i.high == high]
    deciding = widest[:1] or [i for i in intervals if i.low == low or i.high == high]
    reason = " or ".join(dict.fromkeys(i.reason for i in deciding))
    if tolerance.because:
        reason = f"{reason}; {tolerance.because.strip().rstrip('.')}"
    return AcceptedInterval(low, high, reason)


def _iter_intervals(
    key: float,
    tolerance: Tolerance,
    unit: str,
    draw: Draw,
    compute: Callable[[Mapping[str, Value]], float],
) -> Iterator[AcceptedInterval]:
    """Yields the interval around *key* that each rule of *tolerance* accepts."""
    if tolerance.relative is not None:
        yield _relative_interval(key, tolerance.relative)
    if tolerance.absolute is not None:
        distance = _evaluate_distance(tolerance.absolute, unit, draw)
        yield _interval_around(key, distance, format_distance(distance, unit))
    if tolerance.significant_figures is not None:
        yield _significant_interval(key, tolerance.significant_figures)
    if tolerance.factor is not None:
        yield _factor_interval(key, tolerance.factor)
    if tolerance.input_rounding is not None:
        yield _rounding_interval(key, tolerance.input_rounding, draw, compute)


def format_distance(distance: float, unit: str) -> str:
    """Returns a distance in words. For percentages, "2%" would read as a relative tolerance.

    >>> format_distance(0.5, "us"), format_distance(1, "%"), format_distance(2, "%")
    ('0.5 µs', '1 percentage point', '2 percentage points')
    """
    if unit == "%":
        shown = units.format_number(distance)
        return f"{shown} percentage {'point' if shown == '1' else 'points'}"
    return units.format_with_unit(distance, unit)


def _relative_interval(key: float, width: float) -> AcceptedInterval:
    if key == 0:
        return AcceptedInterval(key, key, "a relative tolerance has no width at 0")
    return _interval_around(key, width * abs(key), f"{units.format_number(100 * width)}%")


def _interval_around(key: float, distance: float, shown: str) -> AcceptedInterval:
    if distance == 0:
        return AcceptedInterval(key, key, "an exact value is required")
    return AcceptedInterval(key - distance, key + distance, f"within {shown} of the key")


def _significant_interval(key: float, figures: int) -> AcceptedInterval:
    """Returns the numbers that round to the same significant figures as *key*."""
    if figures < 1:
        raise ValueError(f"significant_figures must be at least 1, not {figures}")
    if key == 0:
        return AcceptedInterval(key, key, "0 has no significant figures")
    half = 0.5 * 10.0 ** (math.floor(math.log10(abs(key))) - figures + 1)
    noun = "figure" if figures == 1 else "figures"
    return AcceptedInterval(key - half, key + half, f"the key to {figures} significant {noun}")


def _factor_interval(key: float, factor: float) -> AcceptedInterval:
    """Returns the numbers from *key* / *factor* to *key* * *factor*."""
    if not factor > 1:
        raise ValueError(f"the factor of a tolerance must be more than 1, not {factor}")
    if key == 0:
        return AcceptedInterval(key, key, "a factor has no width at 0")
    low, high = sorted((key / factor, key * factor))
    return AcceptedInterval(
        low, high, f"within a factor of {units.format_number(factor)} of the key"
    )


def _evaluate_distance(written: Expr, unit: str, draw: Draw) -> int | float:
    """Returns a distance as a number in *unit*; a plain number is in *unit* already."""
    value = evaluate(written, draw.scope, draw.facts)
    if isinstance(value, Quantity):
        value = units.magnitude(value, unit)
    if isinstance(value, (bool, str)) or value < 0:
        raise ValueError(f"an absolute tolerance must be a number of at least 0, not {value}")
    return value


def _rounding_interval(
    key: float,
    inputs: tuple[str, ...] | Mapping[str, Expr],
    draw: Draw,
    compute: Callable[[Mapping[str, Value]], float],
) -> AcceptedInterval:
    """Returns the interval of results if the inputs are rounded as they are printed.

    The effects of all inputs, each moved by half a step in both directions, are added up.
    """
    below = above = 0.0
    reasons = []
    for name in inputs:
        half = inputs[name] if isinstance(inputs, Mapping) else None
        number, of_input = _printed_number(name, draw.scope.get(name))
        width = _half_width(number, of_input, half, draw)
        moved = [
            compute(scope_with(draw, {name: units.quantity(number + d, of_input)})) - key
            for d in (-width, width)
        ]
        below += max(0.0, -min(moved))
        above += max(0.0, *moved)
        step = units.format_with_unit(2 * width, of_input)
        reasons.append(f"{name.replace('_', ' ')} is given to the nearest {step}")
    return AcceptedInterval(key - below, key + above, " and ".join(reasons))


def _printed_number(name: str, value: Value | None) -> tuple[int | float, str]:
    """Returns a parameter's number and unit as printed. Raises ValueError if it is not a number."""
    if isinstance(value, Quantity) and value.unit:
        return units.magnitude(value, value.unit), value.unit
    if value is None or isinstance(value, (bool, str, Quantity)):
        raise ValueError(f"input_rounding names '{name}', which is not a given number")
    return value, ""


def _half_width(number: float, unit: str, written: Expr | None, draw: Draw) -> float:
    """Returns the author's half-width as a number in *unit*, or half a step of the last digit."""
    if written is not None:
        return float(_evaluate_distance(written, unit, draw))
    exponent = Decimal(units.format_number(number)).as_tuple().exponent
    return 0.5 * 10.0 ** int(exponent)
