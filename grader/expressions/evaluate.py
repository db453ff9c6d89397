"""Evaluates expressions, which are parsed and compiled to closures once, then called per
variant."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from grader import units
from grader.expressions import syntax
from grader.expressions.arithmetic import (
    BINARY,
    COMPARISONS,
    check_size,
    negate,
    require_truth,
    unary_plus,
)
from grader.expressions.fault import ExpressionError
from grader.expressions.functions import (
    FUNCTIONS,
    NO_FACTS,
    Facts,
    call_function,
    describe_unknown_name,
)
from grader.units.quantity import Value

Scope = Mapping[str, Value]
Closure = Callable[[Scope, Facts], Value]


class CompiledExpression(NamedTuple):
    """A compiled expression and the names that it needs in scope."""

    run: Closure
    names: frozenset[str]


def names_in(source: str) -> frozenset[str]:
    """Returns the names that *source* needs in scope, without units and functions.

    Raises ExpressionError if it is not an expression.
    """
    return _compile(source).names


def evaluate(source: str | float | bool, scope: Scope, facts: Facts = NO_FACTS) -> Value:
    """Returns the value of *source* with names from *scope*.

    A number or a truth value is its own value. Raises ExpressionError.
    """
    if not isinstance(source, str):
        return check_size(source)
    return _compile(source).run(scope, facts)


def holds(source: str | float | bool, scope: Scope, facts: Facts = NO_FACTS) -> bool:
    """Returns whether the condition *source* is true. Raises ExpressionError for other values."""
    return require_truth(evaluate(source, scope, facts), "a condition")


def compile_expression(source: str | float | bool) -> Closure:
    """Returns *source* as a function of scope and facts, for repeated evaluation.

    Raises ExpressionError if it is not an expression; the function raises like `evaluate`.
    """
    return _compile(source).run if isinstance(source, str) else _make_constant(check_size(source))


def _compile(source: str) -> CompiledExpression:
    if len(source) > syntax.MAX_LENGTH:
        syntax.parse(source)  # rejects it before it becomes a cache key
    return _compile_cached(source)


@lru_cache(maxsize=8192)
def _compile_cached(source: str) -> CompiledExpression:
    tree = syntax.parse(source)
    functions = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in functions}
    return CompiledExpression(_compile_node(tree), frozenset(names - units.named_units().keys()))


def _compile_node(node: ast.expr) -> Closure:
    """Returns a part of an expression as a function. Constant parts are evaluated now, once."""
    run = _COMPILERS[type(node)](node)
    if isinstance(node, (ast.Constant, ast.Tuple)) or not _is_independent(node):
        return run
    try:
        return _make_constant(run({}, NO_FACTS))
    except ExpressionError:
        # For example 1/0 in a branch that is never taken: it raises only if it is reached.
        return run


def _is_independent(node: ast.expr) -> bool:
    """Returns whether a part has the same value for all scopes and facts: it names only units, and
    functions that don't take facts."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    functions = [FUNCTIONS.get(name) for name in names - units.named_units().keys()]
    return all(function and not function.takes_facts for function in functions)


def _make_constant(value: Value) -> Closure:
    return lambda _scope, _facts: value


def _with_column(error: ExpressionError, column: int) -> ExpressionError:
    return ExpressionError(error.what, error.column or column, error.fix)


def _compile_constant(node: ast.Constant) -> Closure:
    return _make_constant(node.value)  # type: ignore[arg-type]


def _compile_name(node: ast.Name) -> Closure:
    name, column = node.id, node.col_offset
    if name in units.named_units():
        return _make_constant(units.named_units()[name])

    def run(scope: Scope, _facts: Facts) -> Value:
        try:
            return scope[name]
        except KeyError:
            what, fix = describe_unknown_name(name, scope)
            raise ExpressionError(what, column, fix) from None

    return run


def _compile_binary(node: ast.BinOp) -> Closure:
    left, right = _compile_node(node.left), _compile_node(node.right)
    apply, column = BINARY[syntax.BINARY[type(node.op)]], node.right.col_offset

    def run(scope: Scope, facts: Facts) -> Value:
        x, y = left(scope, facts), right(scope, facts)
        try:
            return apply(x, y)
        except ExpressionError as error:
            raise _with_column(error, column) from None

    return run


def _compile_unary(node: ast.UnaryOp) -> Closure:
    operand, column = _compile_node(node.operand), node.col_offset
    if isinstance(node.op, ast.Not):
        apply: Callable[[Value], Value] = lambda x: not require_truth(x, "the operand of 'not'")  # noqa: E731
    else:
        apply = negate if isinstance(node.op, ast.USub) else unary_plus

    def run(scope: Scope, facts: Facts) -> Value:
        try:
            return apply(operand(scope, facts))
        except ExpressionError as error:
            raise _with_column(error, column) from None

    return run


def _compile_comparison(node: ast.Compare) -> Closure:
    """Returns a function that compares each operand with the next, until a comparison fails."""
    comparisons = [COMPARISONS[syntax.COMPARISONS[type(op)]] for op in node.ops]
    steps = list(zip(comparisons, map(_compile_node, node.comparators), strict=True))
    first, column = _compile_node(node.left), node.col_offset

    def run(scope: Scope, facts: Facts) -> Value:
        x = first(scope, facts)
        for compare, following in steps:
            y = following(scope, facts)
            try:
                held = compare(x, y)
            except ExpressionError as error:
                raise _with_column(error, column) from None
            if not held:
                return False
            x = y
        return True

    return run


def _compile_boolean(node: ast.BoolOp) -> Closure:
    """Returns a function for `and` or `or`, which stops at the operand that decides."""
    runs = [_compile_node(value) for value in node.values]
    column = node.col_offset
    stops_at = isinstance(node.op, ast.Or)
    place = "both sides of 'or'" if stops_at else "both sides of 'and'"

    def run(scope: Scope, facts: Facts) -> Value:
        for run_operand in runs:
            try:
                if require_truth(run_operand(scope, facts), place) is stops_at:
                    return stops_at
            except ExpressionError as error:
                raise _with_column(error, column) from None
        return not stops_at

    return run


def _compile_condition(node: ast.IfExp) -> Closure:
    test, then, other = map(_compile_node, (node.test, node.body, node.orelse))
    column = node.test.col_offset

    def run(scope: Scope, facts: Facts) -> Value:
        try:
            holds_here = require_truth(test(scope, facts), "the condition after 'if'")
        except ExpressionError as error:
            raise _with_column(error, column) from None
        return (then if holds_here else other)(scope, facts)

    return run


def _compile_call(node: ast.Call) -> Closure:
    assert isinstance(node.func, ast.Name)  # noqa: S101 - checked by syntax
    function, column = FUNCTIONS[node.func.id], node.col_offset
    runs = [_compile_node(argument) for argument in node.args]

    def run(scope: Scope, facts: Facts) -> Value:
        values = [run_argument(scope, facts) for run_argument in runs]
        try:
            return check_size(call_function(function, facts, values))
        except ExpressionError as error:
            raise _with_column(error, column) from None

    return run


def _compile_tuple(node: ast.Tuple) -> Closure:
    runs = [_compile_node(element) for element in node.elts]
    # Used only by 'in', so it never becomes the value of an expression.
    return lambda scope, facts: tuple(each(scope, facts) for each in runs)  # type: ignore[return-value]


_COMPILERS: Mapping[type[ast.expr], Callable[..., Closure]] = MappingProxyType(
    {
        ast.BinOp: _compile_binary,
        ast.BoolOp: _compile_boolean,
        ast.Call: _compile_call,
        ast.Compare: _compile_comparison,
        ast.Constant: _compile_constant,
        ast.IfExp: _compile_condition,
        ast.Name: _compile_name,
        ast.Tuple: _compile_tuple,
        ast.UnaryOp: _compile_unary,
    }
)
