"""Units of machine-learning systems: parsing, conversion, printing, and dimension checks."""

from grader.units.convert import magnitude, names, number, quantity, show, with_unit
from grader.units.parse import Unit, UnitError, unit
from grader.units.quantity import DimensionError, describe, printed_unit
from grader.units.read import MAX_LENGTH, ReadError, Reading, read

__all__ = [
    "MAX_LENGTH",
    "DimensionError",
    "ReadError",
    "Reading",
    "Unit",
    "UnitError",
    "describe",
    "magnitude",
    "names",
    "number",
    "printed_unit",
    "quantity",
    "read",
    "show",
    "unit",
    "with_unit",
]
