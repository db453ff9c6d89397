"""Units of machine-learning systems: parsing, conversion, printing, and dimension checks.

`grader.units.read` reads the numbers that students write, with or without a unit.
"""

from grader.units.convert import (
    format_number,
    format_quantity,
    format_with_unit,
    magnitude,
    named_units,
    quantity,
)
from grader.units.parse import Unit, UnitError, parse_unit
from grader.units.quantity import DimensionError, asked_unit, describe_dimension, printed_unit
from grader.units.read import MAX_LENGTH, ReadError, read
