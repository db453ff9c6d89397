"""Evaluates expressions, which are parsed and compiled to closures once, then called per
variant."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from grader import units
from grader.expressions import arithmetic, functions, syntax
from grader.expressions.fault import ExpressionError
from grader.expressions.functions import FUNCTIONS, NO_FACTS, Facts
from grader.units.quantity import Value

Scope = Mapping[str, Value]
Closure = Callable[[Scope, Facts], Value]


class CompiledExpression(NamedTuple):
    """A compiled expression and the names that it needs in scope."""

    run: Closure
    names: frozenset[str]


def names_in(source: str) -> frozenset[str]:
    """Returns the names in *source* without units and functions. Raises ExpressionError."""
    return _compile(source).names


def evaluate(source: str | float | bool, scope: Scope, facts: Facts = NO_FACTS) -> Value:
    """Returns the value of *source* with names from *scope*.

    A number or a truth value is its own value. Raises ExpressionError.
    """
    if not isinstance(source, str):
        return arithmetic.check_size(source)
    return _compile(source).run(scope, facts)


def holds(source: str | float | bool, scope: Scope, facts: Facts = NO_FACTS) -> bool:
    """Returns whether the condition *source* is true. Raises ExpressionError for other values."""
    return arithmetic.require_truth(evaluate(source, scope, facts), "a condition")


@lru_cache(maxsize=8192)
def _compile(source: str) -> CompiledExpression:
    tree = syntax.parse(source)
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called}
    return CompiledExpression(_compile_node(tree), frozenset(names - units.named_units().keys()))


def _compile_node(node: ast.expr) -> Closure:
    """Returns a part of an expression as a function. Constant parts are evaluated now, once."""
    if isinstance(node, ast.Constant):
        return _make_constant(node.value)  # type: ignore[arg-type]
    # An operator is at fault for a wrong right side, and a condition for its test.
    at_fault = getattr(node, "right", getattr(node, "test", node))
    run = _locate_errors(_COMPILERS[type(node)](node), at_fault.col_offset)
    if isinstance(node, ast.Tuple) or not _is_independent(node):
        return run
    try:
        return _make_constant(run({}, NO_FACTS))
    except ExpressionError:
        # For example 1/0 in a branch that is never taken: it raises only if it is reached.
        return run


def _is_independent(node: ast.expr) -> bool:
    """Returns whether a part names only units, and functions that don't take facts."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    found = [FUNCTIONS.get(name) for name in names - units.named_units().keys()]
    return all(function and not function.takes_facts for function in found)


def _make_constant(value: Value) -> Closure:
    return lambda _scope, _facts: value


def _locate_errors(run: Closure, column: int) -> Closure:
    """Returns *run*, whose errors are at *column* unless they already have a column."""

    def try_run(scope: Scope, facts: Facts) -> Value:
        try:
            return run(scope, facts)
        except ExpressionError as error:
            raise ExpressionError(error.what, error.column or column, error.fix) from None

    return try_run


def _compile_name(node: ast.Name) -> Closure:
    name = node.id
    if name in units.named_units():
        return _make_constant(units.named_units()[name])

    def run(scope: Scope, _facts: Facts) -> Value:
        try:
            return scope[name]
        except KeyError:
            what, fix = functions.describe_unknown_name(name, scope)
            raise ExpressionError(what, fix=fix) from None

    return run


def _compile_binary(node: ast.BinOp) -> Closure:
    left, right = _compile_node(node.left), _compile_node(node.right)
    apply = arithmetic.BINARY[syntax.BINARY[type(node.op)]]
    return lambda scope, facts: apply(left(scope, facts), right(scope, facts))


def _compile_unary(node: ast.UnaryOp) -> Closure:
    operand = _compile_node(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda scope, facts: (
            not arithmetic.require_truth(operand(scope, facts), "the operand of 'not'")
        )
    apply = arithmetic.negate if isinstance(node.op, ast.USub) else arithmetic.unary_plus
    return lambda scope, facts: apply(operand(scope, facts))


def _compile_comparison(node: ast.Compare) -> Closure:
    """Returns a function that compares each operand with the next, until a comparison fails."""
    comparisons = [arithmetic.COMPARISONS[syntax.COMPARISONS[type(op)]] for op in node.ops]
    steps = list(zip(comparisons, map(_compile_node, node.comparators), strict=True))
    first = _compile_node(node.left)

    def run(scope: Scope, facts: Facts) -> Value:
        x = first(scope, facts)
        for compare, following in steps:
            y = following(scope, facts)
            if not compare(x, y):
                return False
            x = y
        return True

    return run


def _compile_boolean(node: ast.BoolOp) -> Closure:
    """Returns a function for `and` or `or`, which stops at the operand that decides."""
    runs = [_compile_node(value) for value in node.values]
    decides, place = (all, "and") if isinstance(node.op, ast.And) else (any, "or")
    return lambda scope, facts: decides(
        arithmetic.require_truth(run(scope, facts), f"both sides of '{place}'") for run in runs
    )


def _compile_condition(node: ast.IfExp) -> Closure:
    test, then, other = map(_compile_node, (node.test, node.body, node.orelse))

    def run(scope: Scope, facts: Facts) -> Value:
        is_true = arithmetic.require_truth(test(scope, facts), "the condition after 'if'")
        return (then if is_true else other)(scope, facts)

    return run


def _compile_call(node: ast.Call) -> Closure:
    assert isinstance(node.func, ast.Name)  # noqa: S101 - checked by syntax
    function = FUNCTIONS[node.func.id]
    runs = [_compile_node(argument) for argument in node.args]
    return lambda scope, facts: arithmetic.check_size(
        functions.call_function(function, facts, *(run(scope, facts) for run in runs))
    )


def _compile_tuple(node: ast.Tuple) -> Closure:
    runs = [_compile_node(element) for element in node.elts]
    # Used only by 'in', so it never becomes the value of an expression.
    return lambda scope, facts: tuple(each(scope, facts) for each in runs)  # type: ignore[return-value]


_COMPILERS: Mapping[type[ast.expr], Callable[..., Closure]] = {
    ast.BinOp: _compile_binary,
    ast.BoolOp: _compile_boolean,
    ast.Call: _compile_call,
    ast.Compare: _compile_comparison,
    ast.IfExp: _compile_condition,
    ast.Name: _compile_name,
    ast.Tuple: _compile_tuple,
    ast.UnaryOp: _compile_unary,
}
