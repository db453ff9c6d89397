"""The filters of texts, as in {{ state | unit("GB", 4) }}."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from grader import units
from grader.expressions.arithmetic import BINARY, describe_type
from grader.expressions.fault import ExpressionError
from grader.expressions.functions import FUNCTIONS, Function
from grader.units.quantity import RAISED, Quantity, Value

_MAX_JOINED = 10_000


def format_placeholder(value: object) -> str:
    """Returns a placeholder's value as text: quantities with their unit, 24.0 as 24."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ExpressionError("the value is not a finite number")
    if isinstance(value, (bool, str, int, float, Quantity)):
        return units.format_quantity(value)
    raise ExpressionError(f"can't print {describe_type(value)}", fix="print its items in a loop")


def _require_plain(value: object, name: str) -> int | float:
    if isinstance(value, Quantity):
        fix = f'write | unit("...") for a quantity, or number(x, "...") | {name}'
        raise ExpressionError(f"'{name}' needs a plain number, got {describe_type(value)}", fix=fix)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ExpressionError(f"'{name}' needs a number, got {describe_type(value)}")
    return value


def _require_digits(digits: object) -> int:
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 17:
        raise ExpressionError("the number of digits must be a whole number from 1 to 17")
    return digits


def _format_in_unit(value: Value, unit: object, digits: object = None) -> str:
    if not isinstance(unit, str):
        raise ExpressionError("'unit' needs a unit in quotes", fix='write | unit("GB")')
    return units.format_quantity(value, unit, None if digits is None else _require_digits(digits))


def _format_number(value: Value, digits: object = 6) -> str:
    return units.format_number(_require_plain(value, "number"), _require_digits(digits))


def _format_thousands(value: Value, digits: object = 6) -> str:
    # The English separator; answers may use it too, as in "1,200 MB".
    text = units.format_number(_require_plain(value, "thousands"), _require_digits(digits))
    whole, point, rest = text.partition(".")
    sign = "-" if whole.startswith("-") else ""  # -0 as an int has none
    digits_only = whole.removeprefix("-")
    return f"{sign}{int(digits_only):,}{point}{rest}" if digits_only.isdigit() else text


def _format_percent(value: Value, digits: object = 4) -> str:
    share = units.magnitude(_require_plain(value, "percent"), "%")
    return units.format_with_unit(share, "%", _require_digits(digits))


def _format_scientific(value: Value, digits: object = 6) -> str:
    """Returns a number as "1.5 × 10⁹", without trailing zeros."""
    x = _require_plain(value, "scientific")
    mantissa, exponent = f"{x:.{_require_digits(digits) - 1}e}".split("e")
    short = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    # Readable in plain text, Markdown, and between dollar signs.
    return f"{short} × 10{str(int(exponent)).translate(RAISED)}"


def _round(value: Value, digits: Value = 0, method: object = "common") -> Value:
    """Returns a number rounded to *digits* decimal places, by default to the nearest."""
    if method == "common":
        return FUNCTIONS["round"].call(_require_plain(value, "round"), digits)
    if method not in {"ceil", "floor"}:
        raise ExpressionError("the method of 'round' must be 'common', 'ceil', or 'floor'")
    scale = BINARY["**"](10, digits)
    scaled = BINARY["*"](_require_plain(value, "round"), scale)
    return BINARY["/"](FUNCTIONS[str(method)].call(scaled), scale)


def _join(values: object, separator: object = "") -> str:
    if not isinstance(values, (list, tuple, range)) or not isinstance(separator, str):
        raise ExpressionError("'join' needs a list and a separator text")
    joined = separator.join(format_placeholder(v) for v in values)
    if len(joined) > _MAX_JOINED:
        raise ExpressionError("the result of 'join' is too long")
    return joined


def _text_method(name: str) -> Callable[[Value], str]:
    """Returns the filter that applies a method of `str`, such as "title", to a text."""
    method = "strip" if name == "trim" else name

    def apply(value: Value) -> str:
        if not isinstance(value, str):
            raise ExpressionError(f"'{name}' needs text, got {describe_type(value)}")
        return str(getattr(value, method)())

    return apply


# The numbers of arguments are those after the value.
FILTERS: Mapping[str, Function] = MappingProxyType(
    {
        "abs": Function(FUNCTIONS["abs"].call, 0, 0, "x | abs"),
        "capitalize": Function(_text_method("capitalize"), 0, 0, "x | capitalize"),
        "int": Function(lambda x: int(_require_plain(x, "int")), 0, 0, "x | int"),
        "join": Function(_join, 0, 1, 'list | join(", ")'),
        "lower": Function(_text_method("lower"), 0, 0, "x | lower"),
        "number": Function(_format_number, 0, 1, "x | number or x | number(digits)"),
        "percent": Function(_format_percent, 0, 1, "x | percent or x | percent(digits)"),
        "round": Function(_round, 0, 2, "x | round or x | round(digits)"),
        "scientific": Function(
            _format_scientific, 0, 1, "x | scientific or x | scientific(digits)"
        ),
        "thousands": Function(_format_thousands, 0, 1, "x | thousands or x | thousands(digits)"),
        "title": Function(_text_method("title"), 0, 0, "x | title"),
        "trim": Function(_text_method("trim"), 0, 0, "x | trim"),
        "unit": Function(_format_in_unit, 1, 2, 'x | unit("GB") or x | unit("GB", digits)'),
        "upper": Function(_text_method("upper"), 0, 0, "x | upper"),
    }
)
