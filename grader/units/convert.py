"""Conversion of values to numbers in a unit, to text, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from grader.units.parse import Unit, parse_unit
from grader.units.quantity import (
    ONE,
    DimensionError,
    Quantity,
    Value,
    base_unit,
    describe_dimension,
    dimension_of,
    printed_unit,
)
from grader.units.table import FITTING, NAMES, SYMBOLS

_MAX_POSITIONAL = 10**15
_DIGITS = 6


@lru_cache(maxsize=1)
def named_units() -> Mapping[str, Value]:
    """Returns the value of every unit that an expression may name, such as 1 GB for "GB"."""
    return {name: quantity(1, name) for name in NAMES if name in SYMBOLS}


def quantity(number: float, unit_text: str) -> Value:
    """Returns *number* of a unit, which is kept for printing; a plain number if it is "" or %."""
    unit = parse_unit(unit_text)
    magnitude = rescale(number, unit.numerator, unit.denominator)
    return magnitude if unit.dimension == ONE else Quantity(magnitude, unit.dimension, unit.text)


def magnitude(value: Value, unit_text: str) -> int | float:
    """Returns *value* as a number in a unit. Raises DimensionError if the dimensions differ.

    Plain zero is zero in every unit.
    """
    unit = parse_unit(unit_text)
    if type(value) is Quantity and value.dimension == unit.dimension:
        return _convert_from_base(value.magnitude, unit)
    if isinstance(value, (bool, str)):
        noun = "text" if isinstance(value, str) else "a truth value"
        raise DimensionError(f"expected {describe_dimension(unit.dimension)}, got {noun}")
    if dimension_of(value) != unit.dimension and value:
        wanted, noun = describe_dimension(unit.dimension), describe_dimension(dimension_of(value))
        inside = f" in {printed_unit(unit.text)}" if unit.text else ""
        raise DimensionError(f"expected {wanted}{inside}, got {noun}")
    base = value.magnitude if isinstance(value, Quantity) else value
    return _convert_from_base(base, unit)


def _convert_from_base(base: float, unit: Unit) -> int | float:
    """Returns a number of base units as a number of *unit*."""
    if unit.numerator == unit.denominator:
        return base
    number = rescale(base, unit.denominator, unit.numerator)
    if isinstance(number, float):
        # Gives 0.3 ms as 0.3, not 0.30000000000000004, if both units are the same.
        short = float(f"{number:.15g}")
        if short != number and rescale(short, unit.numerator, unit.denominator) == base:
            return short
    return number


def rescale(number: float, numerator: int, denominator: int) -> int | float:
    """Returns number * numerator / denominator: an int if *number* is one and the result whole."""
    if isinstance(number, int):
        whole, rest = divmod(number * numerator, denominator)
        return whole if not rest else number * numerator / denominator
    return number * numerator / denominator


def format_number(x: float, digits: int = 6) -> str:
    """Returns *x* with that many significant digits, its whole part always in full.

    >>> format_number(28.0), format_number(1 / 3), format_number(1.2e15), format_number(1234567.8)
    ('28', '0.333333', '1.2e+15', '1234568')
    """
    if x == 0:
        return "0"  # never "-0"
    size = abs(x)
    if isinstance(x, int) and size < _MAX_POSITIONAL:
        return str(x)
    if size >= 1e308:
        try:
            return f"{float(x):.{digits}g}"
        except OverflowError:
            return f"about {'-' if x < 0 else ''}10^{int(math.log10(size))}"
    if 10**digits <= size < _MAX_POSITIONAL:
        return f"{x:.0f}"
    text = f"{x:.{digits}g}"
    # Rounding may add a digit, as for 999999.5.
    return f"{x:.0f}" if "e+" in text and size < _MAX_POSITIONAL else text


def format_quantity(value: Value, unit_text: str | None = None, digits: int | None = None) -> str:
    """Returns *value* as readable text, such as "28 GB".

    Without a unit, a quantity is printed in the unit it was written in, or in one that fits its
    size.
    """
    if isinstance(value, (bool, str)):
        return str(value)
    if unit_text is None:
        if not isinstance(value, Quantity):
            return format_number(value, digits or _DIGITS)
        unit_text = _fitting_unit(value) if value.unit is None else value.unit
    return format_with_unit(magnitude(value, unit_text), unit_text, digits)


def format_with_unit(x: float, unit_text: str, digits: int | None = None) -> str:
    """Returns the number followed by its unit, such as "28 GB", "25%" or "28".

    It has 6 significant digits unless *digits* says otherwise, and a percentage 4.

    >>> format_with_unit(1 / 3, "us"), format_with_unit(100 / 9, "%")
    ('0.333333 µs', '11.11%')
    """
    text = printed_unit(parse_unit(unit_text).text)
    space = "" if text in {"", "%"} else " "
    return f"{format_number(x, digits or (4 if text == '%' else _DIGITS))}{space}{text}"


def _fitting_unit(value: Quantity) -> str:
    """Returns the unit to print a quantity in: the largest in which it is at least 1, if any."""
    candidates = FITTING.get(value.dimension)
    if candidates is None:
        return base_unit(value.dimension)
    size = abs(value.magnitude)
    if size == 0:  # such as "0 B", and not "0 ps"
        return "B" if "B" in candidates else base_unit(value.dimension)
    fitting = [c for c in candidates if size >= parse_unit(c).scale]
    return fitting[-1] if fitting else candidates[0]
