"""The operators of expressions, with bounded, finite results and strict types."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType

from grader.expressions.fault import ExpressionError
from grader.units.quantity import Quantity, Value, describe_dimension, dimension_of

MAX_BITS = 1024
# Covers every finite float too, so that one comparison bounds both; nan and inf fail it.
LIMIT = 1 << MAX_BITS
NUMBERS = frozenset({int, float})
ARITHMETIC = NUMBERS | {Quantity}
MOST = sys.float_info.max
"""The largest float: faster to compare than LIMIT, which also allows larger integers."""

Operator = Callable[[Value, Value], Value]


def describe_type(value: object) -> str:
    """Returns what a value is called in an error, such as "text"."""
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (int, float, Quantity)):
        return describe_dimension(dimension_of(value))
    return "a list" if isinstance(value, (list, tuple, range)) else "nothing"


def check_size(value: Value) -> Value:
    """Returns *value*. Raises ExpressionError if it is too large or not a finite number."""
    magnitude = value.magnitude if isinstance(value, Quantity) else value
    if isinstance(magnitude, str) or -LIMIT < magnitude < LIMIT:
        return value
    raise ExpressionError("the result is too large", fix="check the powers and the units")


def require_numeric(value: object, verb: str) -> int | float | Quantity:
    """Returns *value* if it supports arithmetic. Raises ExpressionError for anything else."""
    if type(value) in ARITHMETIC:
        return value  # type: ignore[return-value]
    if isinstance(value, bool):
        fix = "write 'a if condition else b'"
        raise ExpressionError(f"can't {verb} a truth value", fix=fix)
    # Converts a numpy scalar, for example, whose own operators would otherwise be used.
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    fix = "write a quantity as numbers and a 'unit:', such as {choice: [1, 2], unit: GB}"
    raise ExpressionError(f"can't {verb} {describe_type(value)}", fix=fix)


def _make_operator(verb: str, operate: Callable[..., Value]) -> Operator:
    """Returns *operate* with checks of its operands and its result, which raise ExpressionError."""

    def apply(a: Value, b: Value) -> Value:
        if type(a) not in NUMBERS or type(b) not in NUMBERS:
            a, b = require_numeric(a, verb), require_numeric(b, verb)
        try:
            result = operate(a, b)
        except ZeroDivisionError:
            raise ExpressionError("division by zero") from None
        except OverflowError:
            raise ExpressionError("the result is too large") from None
        except ValueError as error:
            raise ExpressionError(str(error)) from None
        except TypeError:
            raise ExpressionError(
                f"can't {verb} {describe_type(a)} and {describe_type(b)}"
            ) from None
        size = result.magnitude if type(result) is Quantity else result
        return result if -MOST <= size <= MOST else check_size(result)  # type: ignore[operator]

    return apply


def without_rounding_error(x: float) -> int | float:
    """Returns the whole number nearest to *x* if only rounding errors separate the two, else *x*.

    A quotient that is 3 on paper may be 3.0000000000000004 in binary, of which `ceil` must not
    make 4.
    """
    if isinstance(x, int) or not math.isfinite(x):
        return x
    # A few operations err by about 1e-15 of the result. The bound of 1e-6 keeps large quotients,
    # which are that close to a whole number by chance, as they are.
    whole = round(x)
    return whole if abs(x - whole) <= min(1e-12 * max(1.0, abs(x)), 1e-6) else x


def _floor_divide(a: Value, b: Value) -> Value:
    """Returns the quotient rounded down, without rounding errors, in the type that `//` gives."""
    quotient: int | float = operator.floordiv(a, b)
    if isinstance(a, int) and isinstance(b, int):
        return quotient
    whole = math.floor(without_rounding_error(operator.truediv(a, b)))
    return type(quotient)(whole)


def _power(a: Value, b: Value) -> Value:
    """Returns *a* to the power *b*. Raises ExpressionError before it computes a huge number."""
    assert isinstance(a, (int, float, Quantity))  # noqa: S101 - checked by apply()
    size = a.magnitude if isinstance(a, Quantity) else a
    if not isinstance(b, (int, float)):
        raise ExpressionError(f"an exponent must be a plain number, got {describe_type(b)}")
    # Checked before computing: 9**9**9 has 370 million digits.
    if isinstance(size, int) and isinstance(b, int) and size.bit_length() * abs(b) > 2 * MAX_BITS:
        if b < 0:
            size = float(size)
        elif abs(size) > 1:
            raise ExpressionError(
                "the power is too large", fix=f"results may have at most {MAX_BITS} bits"
            )
    result = a**b if isinstance(a, Quantity) else size**b
    if isinstance(result, complex):
        raise ExpressionError("can't take a root of a negative number")
    return result


BINARY: Mapping[str, Operator] = MappingProxyType(
    {
        "+": _make_operator("add", operator.add),
        "-": _make_operator("subtract", operator.sub),
        "*": _make_operator("multiply", operator.mul),
        "/": _make_operator("divide", operator.truediv),
        "//": _make_operator("floor-divide", _floor_divide),
        "%": _make_operator("take the remainder of", operator.mod),
        "**": _make_operator("raise to a power", _power),
    }
)


def negate(a: Value) -> Value:
    """Returns -a."""
    return -require_numeric(a, "negate")


def unary_plus(a: Value) -> Value:
    """Returns +a."""
    return require_numeric(a, "use a plus sign on")


def require_truth(value: object, place: str) -> bool:
    """Returns *value* if it is a truth value. Raises ExpressionError for anything else."""
    if isinstance(value, bool):
        return value
    raise ExpressionError(
        f"{place} must be true or false, got {describe_type(value)}", fix="write a comparison"
    )


def _make_ordering(compare: Callable[..., bool]) -> Callable[[object, object], bool]:
    """Returns *compare* for values with the same dimension; others raise ExpressionError."""

    def apply(a: object, b: object) -> bool:
        if type(a) not in NUMBERS or type(b) not in NUMBERS:
            a, b = require_numeric(a, "order"), require_numeric(b, "order")
        try:
            return compare(a, b)
        except ValueError as error:
            raise ExpressionError(str(error)) from None

    return apply


def are_equal(a: object, b: object) -> bool:
    """Returns whether two values are equal. Raises ExpressionError if they can't be compared."""
    if type(a) is type(b) and not isinstance(a, Quantity):
        return bool(a == b)
    if isinstance(a, (str, bool)) or isinstance(b, (str, bool)):
        raise ExpressionError(f"can't compare {describe_type(a)} with {describe_type(b)}")
    left, right = require_numeric(a, "compare"), require_numeric(b, "compare")
    if dimension_of(left) == dimension_of(right):
        return left == right
    # Zero is zero in every unit, as for "<".
    if left == 0 or right == 0:
        return not left and not right
    raise ExpressionError(f"can't compare {describe_type(left)} with {describe_type(right)}")


def contains(a: object, b: object) -> bool:
    """Returns whether *a* equals an item of *b*. Raises ExpressionError if *b* is not a tuple."""
    if not isinstance(b, tuple):
        raise ExpressionError(f"'in' needs a list such as (1, 2), got {describe_type(b)}")
    return any(are_equal(a, item) for item in b)


COMPARISONS: Mapping[str, Callable[[object, object], bool]] = MappingProxyType(
    {
        "<": _make_ordering(operator.lt),
        "<=": _make_ordering(operator.le),
        ">": _make_ordering(operator.gt),
        ">=": _make_ordering(operator.ge),
        "==": are_equal,
        "!=": lambda a, b: not are_equal(a, b),
        "in": contains,
        "not in": lambda a, b: not contains(a, b),
    }
)
