"""The accepted interval from a key and its tolerance, with the reason for its width."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

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
class Interval:
    """The accepted values, both ends included."""

    low: int | float
    high: int | float
    reason: str
    """The reason for this width, shown to the student after release."""

    def __contains__(self, value: float) -> bool:
        return is_within(value, self.low, self.high)


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


def scale_interval(interval: Interval, key: float, centre: float) -> tuple[float, float]:
    """Returns the ends of an interval with the same relative width around *centre*."""
    low, high = interval.low, interval.high
    if low == high:
        return centre, centre
    if key == 0:
        return centre + low, centre + high
    ends = (low * (centre / key), high * (centre / key))
    return min(ends), max(ends)


def accepted_interval(
    key: float,
    tolerance: Tolerance,
    *,
    unit: str,
    draw: Draw,
    compute: Callable[[Mapping[str, Value]], float],
) -> Interval:
    """Returns the values accepted for *key*: the union of what each rule of *tolerance* accepts.

    *compute* returns the answer in another scope; only rounded inputs need it. Raises ValueError
    if the tolerance is invalid.
    """
    found = list(_intervals(key, tolerance, unit, draw, compute))
    found = found or list(_intervals(key, DEFAULT, unit, draw, compute))
    if len(found) == 1 and not tolerance.because:
        return found[0]
    low = min(i.low for i in found)
    high = max(i.high for i in found)
    widest = [i for i in found if i.low == low and i.high == high]
    needed = widest[:1] or [i for i in found if i.low == low or i.high == high]
    reason = " or ".join(dict.fromkeys(i.reason for i in needed))
    if tolerance.because:
        reason = f"{reason}; {tolerance.because.strip().rstrip('.')}"
    return Interval(low, high, reason)


def _intervals(
    key: float,
    tolerance: Tolerance,
    unit: str,
    draw: Draw,
    compute: Callable[[Mapping[str, Value]], float],
) -> Iterator[Interval]:
    if tolerance.relative is not None:
        yield _relative_interval(key, tolerance.relative)
    if tolerance.absolute is not None:
        yield _absolute_interval(key, _evaluate_distance(tolerance.absolute, unit, draw), unit)
    if tolerance.significant_figures is not None:
        yield _significant_interval(key, tolerance.significant_figures)
    if tolerance.factor is not None:
        yield _factor_interval(key, tolerance.factor)
    if tolerance.input_rounding is not None:
        yield _rounding_interval(key, tolerance.input_rounding, draw, compute)


def _relative_interval(key: float, width: float) -> Interval:
    if key == 0:
        return Interval(key, key, "a relative tolerance has no width at 0")
    if width == 0:
        return Interval(key, key, "an exact value is required")
    half = width * abs(key)
    return Interval(key - half, key + half, _relative_reason(width))


@lru_cache(maxsize=256)
def _relative_reason(width: float) -> str:
    return f"within {units.format_number(100 * width)}% of the key"


def _absolute_interval(key: float, distance: float, unit: str) -> Interval:
    if distance == 0:
        return Interval(key, key, "an exact value is required")
    shown = f"{units.format_number(distance)} {unit}".strip()
    return Interval(key - distance, key + distance, f"within {shown} of the key")


def _significant_interval(key: float, figures: int) -> Interval:
    if figures < 1:
        raise ValueError(f"significant_figures must be at least 1, not {figures}")
    if key == 0:
        return Interval(key, key, "0 has no significant figures")
    half = 0.5 * 10.0 ** (math.floor(math.log10(abs(key))) - figures + 1)
    noun = "figure" if figures == 1 else "figures"
    return Interval(key - half, key + half, f"the key to {figures} significant {noun}")


def _factor_interval(key: float, factor: float) -> Interval:
    if not factor > 1:
        raise ValueError(f"the factor of a tolerance must be more than 1, not {factor}")
    if key == 0:
        return Interval(key, key, "a factor has no width at 0")
    ends = (key / factor, key * factor)
    return Interval(
        min(ends), max(ends), f"within a factor of {units.format_number(factor)} of the key"
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
) -> Interval:
    below = above = 0.0
    reasons = []
    for name in inputs:
        half = inputs[name] if isinstance(inputs, Mapping) else None
        given = _printed_input(name, draw.scope.get(name))
        width = _half_width(given, half, draw)
        moved = [
            compute(scope_with(draw, {name: given.at(given.number + d)})) - key
            for d in (-width, width)
        ]
        below += max(0.0, -min(moved))
        above += max(0.0, *moved)
        step = f"{units.format_number(2 * width)} {given.unit}".strip()
        reasons.append(f"{name.replace('_', ' ')} is given to the nearest {step}")
    return Interval(key - below, key + above, " and ".join(reasons))


@dataclass(frozen=True, slots=True)
class _PrintedInput:
    """A parameter as printed: a number and its unit."""

    number: int | float
    unit: str

    def at(self, number: float) -> Value:
        return units.quantity(number, self.unit) if self.unit else number


def _printed_input(name: str, value: Value | None) -> _PrintedInput:
    if isinstance(value, Quantity) and value.unit:
        return _PrintedInput(units.magnitude(value, value.unit), value.unit)
    if value is None or isinstance(value, (bool, str, Quantity)):
        raise ValueError(f"input_rounding names '{name}', which is not a given number")
    return _PrintedInput(value, "")


def _half_width(given: _PrintedInput, written: Expr | None, draw: Draw) -> float:
    """Returns the author's half-width or half a unit in the last printed digit, in the input's
    unit."""
    if written is not None:
        return float(_evaluate_distance(written, given.unit, draw))
    exponent = Decimal(units.format_number(given.number)).as_tuple().exponent
    return 0.5 * 10.0 ** int(exponent)
