"""A number with a dimension, and the arithmetic that keeps dimensions apart."""

from __future__ import annotations

from dataclasses import dataclass

# Exponents of: information, computation, tokens, parameters, samples, time, energy, currency.
Dimension = tuple[int, int, int, int, int, int, int, int]
NAMES = ("information", "computation", "token", "param", "sample", "time", "energy", "currency")
ONE: Dimension = (0, 0, 0, 0, 0, 0, 0, 0)


class DimensionError(ValueError):
    """Two dimensions that don't go together, in words."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A magnitude in base units (bit, FLOP, token, param, sample, s, J, USD) and its dimension.

    Never dimensionless: arithmetic that cancels the dimension gives a plain number.
    """

    magnitude: int | float
    dimension: Dimension
    unit: str | None = None
    """The unit it was written in, used when it is printed; lost in arithmetic."""


Value = int | float | bool | str | Quantity
