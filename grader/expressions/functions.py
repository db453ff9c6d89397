"""The functions of expressions and texts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from grader import units
from grader.expressions.arithmetic import (
    BINARY,
    COMPARISONS,
    MAX_BITS,
    are_equal,
    describe_type,
    require_numeric,
    without_rounding_error,
)
from grader.expressions.fault import ExpressionError
from grader.registry import suggest
from grader.units.parse import shorten
from grader.units.quantity import Quantity, Value, dimension_of

Facts = Mapping[str, Mapping[str, Value]]
NO_FACTS: Facts = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Function:
    """A function: its implementation, its number of arguments, and its usage."""

    call: Callable[..., Value]
    least: int
    most: int | None
    usage: str
    takes_facts: bool = False

    def accepts_count(self, count: int) -> bool:
        """Returns whether it can be called with *count* arguments."""
        return self.least <= count and (self.most is None or count <= self.most)


def _require_plain(value: Value, name: str) -> int | float:
    number = require_numeric(value, f"use {name}() on")
    if isinstance(number, Quantity):
        raise ExpressionError(
            f"{name}() needs a plain number, got {describe_type(number)}",
            fix=f'write {name}(number(..., "{units.format_quantity(number).split(" ", 1)[1]}"))',
        )
    return number


def _require_whole(value: Value, name: str) -> int:
    number = _require_plain(value, name)
    if isinstance(number, float):
        if not number.is_integer():
            raise ExpressionError(
                f"{name}() needs whole numbers, got {units.format_number(number)}"
            )
        return int(number)
    return number


def _require_same_dimension(values: tuple[Value, ...], name: str) -> None:
    """Raises ExpressionError if *values* are not numbers of the same dimension."""
    verb = f"use {name}() on"
    first = dimension_of(require_numeric(values[0], verb))
    for value in values[1:]:
        if dimension_of(require_numeric(value, verb)) != first:
            raise ExpressionError(
                f"{name}() got {describe_type(values[0])} and {describe_type(value)}"
            )


def _absolute(x: Value) -> Value:
    number = require_numeric(x, "use abs() on")
    size = number.magnitude if isinstance(number, Quantity) else number
    return -number if size < 0 else number


def _smallest(*values: Value) -> Value:
    _require_same_dimension(values, "min")
    return min(values)


def _largest(*values: Value) -> Value:
    _require_same_dimension(values, "max")
    return max(values)


def _sum(*values: Value) -> Value:
    return functools.reduce(BINARY["+"], values)


def _clamp(x: Value, low: Value, high: Value) -> Value:
    _require_same_dimension((x, low, high), "clamp")
    if COMPARISONS[">"](low, high):
        raise ExpressionError("clamp() got a lower bound above its upper bound")
    return min(max(x, low), high)


def _round(x: Value, digits: Value = 0) -> Value:
    places = _require_whole(digits, "round")
    if abs(places) > 300:
        raise ExpressionError("round() supports at most 300 digits")
    number = _require_plain(x, "round")
    return round(number, places) if places else round(number)


def _floor(x: Value) -> Value:
    return math.floor(without_rounding_error(_require_plain(x, "floor")))


def _ceil(x: Value) -> Value:
    return math.ceil(without_rounding_error(_require_plain(x, "ceil")))


def _sqrt(x: Value) -> Value:
    number = require_numeric(x, "use sqrt() on")
    size = number.magnitude if isinstance(number, Quantity) else number
    if size < 0:
        raise ExpressionError("sqrt() needs a number of at least 0")
    return BINARY["**"](number, 0.5) if isinstance(number, Quantity) else math.sqrt(number)


def _exp(x: Value) -> Value:
    return math.exp(_require_plain(x, "exp"))


def _require_positive(x: Value, name: str) -> int | float:
    number = _require_plain(x, name)
    if number <= 0:
        raise ExpressionError(
            f"{name}() needs a number above zero, got {units.format_number(number)}"
        )
    return number


def _log(x: Value, base: Value | None = None) -> Value:
    if base is None:
        return math.log(_require_positive(x, "log"))
    plain_base = _require_positive(base, "log")
    if plain_base == 1:
        raise ExpressionError("the base of log() can't be 1")
    return math.log(_require_positive(x, "log"), plain_base)


def _gcd(*values: Value) -> Value:
    return math.gcd(*(_require_whole(v, "gcd") for v in values))


def _lcm(*values: Value) -> Value:
    return math.lcm(*(_require_whole(v, "lcm") for v in values))


def _comb(n: Value, k: Value) -> Value:
    total, taken = _require_whole(n, "comb"), _require_whole(k, "comb")
    if total < 0 or taken < 0:
        raise ExpressionError("comb() needs numbers of at least 0")
    # The cost grows with the smaller side and the length of n.
    if min(taken, abs(total - taken)) * total.bit_length() > 16 * MAX_BITS:
        raise ExpressionError("the numbers in comb() are too large")
    return math.comb(total, taken)


def _factorial(n: Value) -> Value:
    number = _require_whole(n, "factorial")
    if not 0 <= number <= 170:
        raise ExpressionError(f"factorial() supports 0 to 170, got {units.format_number(number)}")
    return math.factorial(number)


def _significant(x: Value, digits: Value) -> Value:
    places = _require_whole(digits, "significant")
    if not 1 <= places <= 17:
        raise ExpressionError("significant() supports 1 to 17 digits")
    number = _require_plain(x, "significant")
    if isinstance(number, int):
        return round(number, places - len(str(abs(number))))
    return float(f"{number:.{places - 1}e}")


def _number(x: Value, unit: Value) -> Value:
    if not isinstance(unit, str):
        raise ExpressionError('number() needs a unit in quotes, as in number(size, "GB")')
    try:
        return units.magnitude(x, unit)
    except units.UnitError as error:
        raise ExpressionError(error.what, fix=error.fix) from None


def _pick(key: Value, *pairs: Value) -> Value:
    """Returns the value after the first case equal to *key*. Raises ExpressionError if none is."""
    if len(pairs) % 2:
        raise ExpressionError("pick() has a case without a value", fix=FUNCTIONS["pick"].usage)
    for case, value in zip(pairs[::2], pairs[1::2], strict=True):
        if are_equal(key, case):
            return value
    cases = ", ".join(units.format_quantity(case) for case in pairs[::2])
    raise ExpressionError(
        f"pick() has no case for '{units.format_quantity(key)}'", fix=f"it has {cases}"
    )


def _choice_of(plan: Value, name: Value) -> Value:
    """Returns the value that a plan, such as "tp = 8, checkpoint = full", has for *name*."""
    choices = dict(choice.split(" = ", 1) for choice in str(plan).split(", ") if " = " in choice)
    if not isinstance(name, str) or name not in choices:
        raise ExpressionError(
            f"the plan has no choice '{shorten(str(name))}'", fix=f"it has {', '.join(choices)}"
        )
    return read_choice(choices[name])


def read_choice(written: str) -> Value:
    """Returns a value as a plan prints it: a truth value, a number, or any other text.

    >>> read_choice("8"), read_choice("True"), read_choice("full")
    (8, True, 'full')
    """
    if written in ("True", "False"):
        return written == "True"
    try:
        value = float(written)
    except ValueError:
        return written
    return int(value) if value.is_integer() else value


def find_fact(facts: Facts, item: Value, field: Value) -> Value:
    """Returns the fact *field* of *item*. Raises ExpressionError if there is none."""
    for name, known, noun in ((item, facts, "item"), (field, facts.get(str(item), {}), "field")):
        if not isinstance(name, str):
            raise ExpressionError("fact() needs names in quotes", fix=FUNCTIONS["fact"].usage)
        if name not in known:
            where = f" of '{shorten(str(item))}'" if noun == "field" else ""
            raise ExpressionError(
                f"the facts have no {noun} '{shorten(name)}'{where}",
                fix=suggest(name[:100], known, "see the files in problems/facts"),
            )
    return facts[str(item)][str(field)]


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "abs": Function(_absolute, 1, 1, "abs(x)"),
        "ceil": Function(_ceil, 1, 1, "ceil(x)"),
        "choice_of": Function(_choice_of, 2, 2, 'choice_of(layout, "tp")'),
        "clamp": Function(_clamp, 3, 3, "clamp(x, low, high)"),
        "comb": Function(_comb, 2, 2, "comb(n, k)"),
        "exp": Function(_exp, 1, 1, "exp(x)"),
        "fact": Function(find_fact, 2, 2, 'fact("h100-sxm", "memory_bandwidth")', takes_facts=True),
        "factorial": Function(_factorial, 1, 1, "factorial(n)"),
        "floor": Function(_floor, 1, 1, "floor(x)"),
        "gcd": Function(_gcd, 1, None, "gcd(a, b)"),
        "lcm": Function(_lcm, 1, None, "lcm(a, b)"),
        "log": Function(_log, 1, 2, "log(x) or log(x, base)"),
        "log2": Function(lambda x: math.log2(_require_positive(x, "log2")), 1, 1, "log2(x)"),
        "log10": Function(lambda x: math.log10(_require_positive(x, "log10")), 1, 1, "log10(x)"),
        "max": Function(_largest, 1, None, "max(a, b)"),
        "min": Function(_smallest, 1, None, "min(a, b)"),
        "number": Function(_number, 2, 2, 'number(size, "GB")'),
        "pick": Function(_pick, 3, None, 'pick(key, "a", 1, "b", 2)'),
        "round": Function(_round, 1, 2, "round(x) or round(x, digits)"),
        "significant": Function(_significant, 2, 2, "significant(x, digits)"),
        "sqrt": Function(_sqrt, 1, 1, "sqrt(x)"),
        "sum": Function(_sum, 1, None, "sum(a, b)"),
    }
)


def describe_unknown_name(name: str, scope: Mapping[str, Value]) -> tuple[str, str]:
    """Returns what is wrong with a *name* that is not in *scope*, and what to do."""
    if name in FUNCTIONS:
        fix = f"write {FUNCTIONS[name].usage}"
    else:
        known = [*scope, *units.named_units()]
        fix = suggest(name[:100], known, "name a parameter, a value or a unit")
    return f"unknown name '{shorten(name)}'", fix


def check_call(name: str, count: int) -> Function:
    """Returns the function *name*. Raises ExpressionError if none takes *count* arguments."""
    function = FUNCTIONS.get(name)
    if function is None:
        fix = suggest(name[:100], FUNCTIONS, "choose from " + ", ".join(FUNCTIONS))
        raise ExpressionError(f"unknown function '{shorten(name)}'", fix=fix)
    if not function.accepts_count(count):
        raise ExpressionError(
            f"{name}() with {count} argument{'' if count == 1 else 's'}",
            fix=f"write {function.usage}",
        )
    return function


def call_function(function: Function, facts: Facts, arguments: list[Value]) -> Value:
    """Returns the result of *function*. Any error in it becomes an ExpressionError."""
    try:
        if function.takes_facts:
            return function.call(facts, *arguments)
        return function.call(*arguments)
    except ExpressionError:
        raise
    except OverflowError:
        raise ExpressionError("the result is too large") from None
    except ValueError as error:
        raise ExpressionError(str(error)) from None
