"""A number with a dimension, with arithmetic that checks dimensions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import ge, gt, le, lt, mod
from typing import NoReturn, Union, cast

# Exponents of: information, computation, tokens, parameters, samples, time, energy, currency.
Dimension = tuple[int, int, int, int, int, int, int, int]
NAMES = ("information", "computation", "token", "param", "sample", "time", "energy", "currency")
BASES = ("bit", "FLOP", "token", "param", "sample", "s", "J", "USD")
ONE: Dimension = (0, 0, 0, 0, 0, 0, 0, 0)
MAX_EXPONENT = 12

_DESCRIPTIONS: dict[Dimension, str] = {
    ONE: "a plain number",
    (1, 0, 0, 0, 0, 0, 0, 0): "a size",
    (1, 0, 0, 0, 0, -1, 0, 0): "a bandwidth",
    (0, 1, 0, 0, 0, 0, 0, 0): "a number of operations",
    (0, 1, 0, 0, 0, -1, 0, 0): "a computing speed",
    (-1, 1, 0, 0, 0, 0, 0, 0): "an arithmetic intensity",
    (0, 0, 1, 0, 0, 0, 0, 0): "a number of tokens",
    (0, 0, 1, 0, 0, -1, 0, 0): "a token rate",
    (0, 0, 0, 1, 0, 0, 0, 0): "a number of parameters",
    (0, 0, 0, 0, 1, 0, 0, 0): "a number of samples",
    (0, 0, 0, 0, 1, -1, 0, 0): "a sample rate",
    (0, 0, 0, 0, 0, 1, 0, 0): "a time",
    (0, 0, 0, 0, 0, -1, 0, 0): "a frequency",
    (0, 0, 0, 0, 0, 0, 1, 0): "an energy",
    (0, 0, 0, 0, 0, -1, 1, 0): "a power",
    (0, 0, 0, 0, 0, 0, 0, 1): "an amount of money",
    (0, 0, 0, 0, 0, -1, 0, 1): "a cost per time",
    (1, 0, -1, 0, 0, 0, 0, 0): "a size per token",
    (1, 0, 0, -1, 0, 0, 0, 0): "a size per parameter",
    (0, 1, -1, 0, 0, 0, 0, 0): "a number of operations per token",
    (0, 0, -1, 0, 0, 0, 1, 0): "an energy per token",
    (0, 0, -1, 0, 0, 0, 0, 1): "a cost per token",
}


class DimensionError(ValueError):
    """The dimensions of two values don't match; the message says which."""


def base_unit(dimension: Dimension) -> str:
    """Returns the unit of *dimension* in base units, such as "bit/s"; empty for a plain number."""
    over = [_format_power(n, e) for n, e in zip(BASES, dimension, strict=True) if e > 0]
    under = [_format_power(n, -e) for n, e in zip(BASES, dimension, strict=True) if e < 0]
    if not over and not under:
        return ""
    return "/".join(["*".join(over) or "1", *under])


RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


PARAMETERS: Mapping[str, str] = {
    "kparam": "thousand parameters",
    "Mparam": "million parameters",
    "Gparam": "billion parameters",
    "Tparam": "trillion parameters",
}
"""Units that are printed in words, which an answer may also use."""


@lru_cache(maxsize=512)
def printed_unit(text: str) -> str:
    """Returns a unit as it is printed; `us` and `bit^2/s` are how it is typed.

    >>> printed_unit("us"), printed_unit("bit^2/s"), printed_unit("W*s")
    ('µs', 'bit²/s', 'W·s')
    """
    if text in PARAMETERS:
        return PARAMETERS[text]
    micro = re.sub(r"(?<![A-Za-z])u(?=[sJW]\b)", "µ", text.replace("*", "·"))
    return re.sub(r"\^(-?\d)", lambda power: power[1].translate(RAISED), micro)


def asked_unit(text: str) -> str:
    """Returns a unit as it follows "a number in".

    >>> asked_unit("Gparam"), asked_unit("us")
    ('billions of parameters', 'µs')
    """
    printed = printed_unit(text)
    return printed.replace(" ", "s of ") if text in PARAMETERS else printed


def describe_dimension(dimension: Dimension) -> str:
    """Returns what a quantity of *dimension* is called in a sentence, such as "a size".

    >>> describe_dimension((0, 0, 0, 0, 0, 1, 0, 0))
    'a time'
    """
    return _DESCRIPTIONS.get(dimension) or f"a quantity in {printed_unit(base_unit(dimension))}"


def dimension_of(value: object) -> Dimension:
    """Returns the dimension of a quantity; ONE for anything else."""
    return value.dimension if isinstance(value, Quantity) else ONE


@dataclass(frozen=True, slots=True)
class Quantity:
    """A magnitude in base units (bit, FLOP, token, param, sample, s, J, USD) and its dimension.

    Never dimensionless: arithmetic that cancels the dimension returns a plain number. Rounding and
    integer division by a plain number are not supported, because both depend on the unit.
    """

    magnitude: int | float
    dimension: Dimension
    unit: str | None = field(default=None, compare=False)
    """The unit it was written in, for printing; lost in arithmetic."""

    def __add__(self, other: object) -> Quantity:
        magnitude = self._matching_magnitude(other, "add", "and")
        return Quantity(self.magnitude + magnitude, self.dimension)

    __radd__ = __add__

    def __sub__(self, other: object) -> Quantity:
        magnitude = self._matching_magnitude(other, "subtract", "and")
        return Quantity(self.magnitude - magnitude, self.dimension)

    def __rsub__(self, other: object) -> NoReturn:
        raise self._mismatch_error(other, "subtract", "and")  # another Quantity has its own __sub__

    def __mul__(self, other: object) -> Number:
        if isinstance(other, Quantity):
            dimension = _add_exponents(self.dimension, other.dimension, 1)
            return _simplify(self.magnitude * other.magnitude, dimension)
        if _is_plain(other):
            return Quantity(self.magnitude * other, self.dimension)  # type: ignore[operator]
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Number:
        if isinstance(other, Quantity):
            dimension = _add_exponents(self.dimension, other.dimension, -1)
            return _simplify(self.magnitude / other.magnitude, dimension)
        if _is_plain(other):
            return Quantity(self.magnitude / other, self.dimension)  # type: ignore[operator]
        return NotImplemented

    def __rtruediv__(self, other: object) -> Number:
        if _is_plain(other):
            dimension = _add_exponents(ONE, self.dimension, -1)
            return Quantity(other / self.magnitude, dimension)  # type: ignore[operator]
        return NotImplemented

    def __floordiv__(self, other: object) -> int | float:
        return self.magnitude // self._matching_magnitude(other, "floor-divide", "by")

    def __rfloordiv__(self, other: object) -> NoReturn:
        by = describe_dimension(self.dimension)
        raise DimensionError(f"can't floor-divide {_describe_operand(other)} by {by}")

    def __mod__(self, other: object) -> Quantity:
        divisor = self._matching_magnitude(other, "divide", "by")
        return Quantity(mod(self.magnitude, divisor), self.dimension)

    def __pow__(self, exponent: object) -> Number:
        if not _is_plain(exponent):
            raise DimensionError("an exponent must be a plain number")
        # A float exponent allows square roots: (B**2) ** 0.5 is B again.
        powers = [e * cast("float", exponent) for e in self.dimension]
        if not all(math.isfinite(p) and p == int(p) for p in powers):
            raise DimensionError(
                f"can't raise {describe_dimension(self.dimension)} to the power {exponent}"
            )
        dimension = _check_exponents([int(p) for p in powers])
        magnitude = self.magnitude ** cast("float", exponent)
        if isinstance(magnitude, complex):
            raise DimensionError("can't take a root of a negative quantity")
        return _simplify(magnitude, dimension)

    def __rpow__(self, base: object) -> Number:
        raise DimensionError("an exponent must be a plain number")

    def __bool__(self) -> bool:
        return self.magnitude != 0

    def __neg__(self) -> Quantity:
        return Quantity(-self.magnitude, self.dimension, self.unit)

    def __lt__(self, other: object) -> bool:
        return self._compare(other, lt)

    def __le__(self, other: object) -> bool:
        return self._compare(other, le)

    def __gt__(self, other: object) -> bool:
        return self._compare(other, gt)

    def __ge__(self, other: object) -> bool:
        return self._compare(other, ge)

    def _compare(self, other: object, how: Callable[[float, float], bool]) -> bool:
        # Zero is zero in every unit, so "free_memory > 0" is allowed.
        if _is_plain(other) and other == 0:
            return how(self.magnitude, 0)
        return how(self.magnitude, self._matching_magnitude(other, "compare", "with"))

    def _matching_magnitude(self, other: object, verb: str, link: str) -> int | float:
        """Returns the magnitude of *other*. Raises DimensionError if its dimension differs."""
        if type(other) is Quantity and other.dimension == self.dimension:
            return other.magnitude
        raise self._mismatch_error(other, verb, link)

    def _mismatch_error(self, other: object, verb: str, link: str) -> DimensionError:
        """Returns the error that says in words which two values don't match."""
        noun = _describe_operand(other)
        return DimensionError(f"can't {verb} {describe_dimension(self.dimension)} {link} {noun}")


Number = Union[int, float, Quantity]  # noqa: UP007 - Quantity's methods name it before it exists
Value = int | float | bool | str | Quantity


def _describe_operand(value: object) -> str:
    """Returns what an operand is called in an error, such as "a plain number"."""
    if isinstance(value, Quantity) or _is_plain(value):
        return describe_dimension(dimension_of(value))
    return "text" if isinstance(value, str) else f"a {type(value).__name__}"


def _format_power(name: str, exponent: int) -> str:
    return name if exponent == 1 else f"{name}^{exponent}"


def _is_plain(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _simplify(magnitude: float, dimension: Dimension) -> Number:
    return magnitude if dimension == ONE else Quantity(magnitude, dimension)


@lru_cache(maxsize=1024)
def _add_exponents(one: Dimension, other: Dimension, sign: int) -> Dimension:
    return _check_exponents([a + sign * b for a, b in zip(one, other, strict=True)])


def _check_exponents(exponents: list[int]) -> Dimension:
    if any(abs(e) > MAX_EXPONENT for e in exponents):
        raise DimensionError(f"an exponent of a unit is larger than {MAX_EXPONENT}")
    return cast("Dimension", tuple(exponents))
