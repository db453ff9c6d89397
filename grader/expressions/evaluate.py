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
from grader.expressions.fault import ExpressionError, shorten
from grader.expressions.functions import FUNCTIONS, Facts, call_function
from grader.registry import nearest
from grader.units.quantity import Value

Scope = Mapping[str, Value]
Closure = Callable[[Scope, Facts], Value]

NO_FACTS: Facts = MappingProxyType({})


class CompiledExpression(NamedTuple):
    """A compiled expression and the names that it needs in scope."""

    run: Closure
    names: frozenset[str]


class _CompiledNode(NamedTuple):
    """A compiled part; constants are evaluated once, when they are compiled."""

    run: Closure
    constant: bool


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
    """Returns whether the condition *source* is true. Raises ExpressionError if it is no
    condition."""
    return require_truth(evaluate(source, scope, facts), "a condition")


def compile_expression(source: str | float | bool) -> Closure:
    """Returns *source* as a function of scope and facts, for repeated evaluation.

    Raises ExpressionError if it is not an expression; the function raises like `evaluate`.
    """
    return (
        _compile(source).run if isinstance(source, str) else _constant_node(check_size(source)).run
    )


def _compile(source: str) -> CompiledExpression:
    if len(source) > syntax.MAX_LENGTH:
        syntax.parse(source)  # rejects it before it becomes a cache key
    return _compile_cached(source)


@lru_cache(maxsize=8192)
def _compile_cached(source: str) -> CompiledExpression:
    tree = syntax.parse(source)
    functions = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in functions}
    return CompiledExpression(
        _compile_node(tree).run, frozenset(names - units.named_units().keys())
    )


def _compile_node(node: ast.expr) -> _CompiledNode:
    piece = _COMPILERS[type(node)](node)
    if not piece.constant or isinstance(node, (ast.Constant, ast.Tuple)):
        return piece
    try:
        return _constant_node(piece.run({}, NO_FACTS))
    except ExpressionError:
        # For example 1/0 in a branch that is never taken: it raises only if it is reached.
        return piece


def _constant_node(value: Value) -> _CompiledNode:
    return _CompiledNode(lambda _scope, _facts: value, constant=True)


def _with_column(error: ExpressionError, column: int) -> ExpressionError:
    return ExpressionError(error.what, error.column or column, error.fix)


def _compile_constant(node: ast.Constant) -> _CompiledNode:
    return _constant_node(node.value)  # type: ignore[arg-type]


def _compile_name(node: ast.Name) -> _CompiledNode:
    name, column = node.id, node.col_offset
    if name in units.named_units():
        return _constant_node(units.named_units()[name])

    def run(scope: Scope, _facts: Facts) -> Value:
        try:
            return scope[name]
        except KeyError:
            raise _unknown_name_error(name, scope, column) from None

    return _CompiledNode(run, constant=False)


def _unknown_name_error(name: str, scope: Scope, column: int) -> ExpressionError:
    close = nearest(name[:100], [*scope, *units.named_units()])
    fix = f"did you mean '{close}'?" if close else "name a parameter, a value or a unit"
    if name in FUNCTIONS:
        fix = f"write {FUNCTIONS[name].usage}"
    return ExpressionError(f"unknown name '{shorten(name)}'", column, fix)


def _compile_binary(node: ast.BinOp) -> _CompiledNode:
    left, right = _compile_node(node.left), _compile_node(node.right)
    apply, column = BINARY[syntax.BINARY[type(node.op)]], node.right.col_offset
    a, b = left.run, right.run

    def run(scope: Scope, facts: Facts) -> Value:
        x, y = a(scope, facts), b(scope, facts)
        try:
            return apply(x, y)
        except ExpressionError as error:
            raise _with_column(error, column) from None

    return _CompiledNode(run, left.constant and right.constant)


def _compile_unary(node: ast.UnaryOp) -> _CompiledNode:
    operand, column = _compile_node(node.operand), node.col_offset
    inner = operand.run
    if isinstance(node.op, ast.Not):
        apply: Callable[[Value], Value] = lambda x: not require_truth(x, "the operand of 'not'")  # noqa: E731
    else:
        apply = negate if isinstance(node.op, ast.USub) else unary_plus

    def run(scope: Scope, facts: Facts) -> Value:
        try:
            return apply(inner(scope, facts))
        except ExpressionError as error:
            raise _with_column(error, column) from None

    return _CompiledNode(run, operand.constant)


def _compile_comparison(node: ast.Compare) -> _CompiledNode:
    pieces = [_compile_node(operand) for operand in (node.left, *node.comparators)]
    symbols = [syntax.COMPARISONS[type(op)] for op in node.ops]
    steps = [
        (COMPARISONS[symbol], piece.run) for symbol, piece in zip(symbols, pieces[1:], strict=True)
    ]
    first, column = pieces[0].run, node.col_offset

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

    return _CompiledNode(run, all(p.constant for p in pieces))


def _compile_boolean(node: ast.BoolOp) -> _CompiledNode:
    pieces = [_compile_node(value) for value in node.values]
    runs = [piece.run for piece in pieces]
    stops_at, column = isinstance(node.op, ast.Or), node.col_offset
    place = f"both sides of '{'or' if stops_at else 'and'}'"

    def run(scope: Scope, facts: Facts) -> Value:
        for each in runs:
            try:
                if require_truth(each(scope, facts), place) is stops_at:
                    return stops_at
            except ExpressionError as error:
                raise _with_column(error, column) from None
        return not stops_at

    return _CompiledNode(run, all(p.constant for p in pieces))


def _compile_condition(node: ast.IfExp) -> _CompiledNode:
    test, then, other = (
        _compile_node(node.test),
        _compile_node(node.body),
        _compile_node(node.orelse),
    )
    column = node.test.col_offset

    def run(scope: Scope, facts: Facts) -> Value:
        try:
            holds_here = require_truth(test.run(scope, facts), "the condition after 'if'")
        except ExpressionError as error:
            raise _with_column(error, column) from None
        return (then if holds_here else other).run(scope, facts)

    return _CompiledNode(run, test.constant and then.constant and other.constant)


def _compile_call(node: ast.Call) -> _CompiledNode:
    assert isinstance(node.func, ast.Name)  # noqa: S101 - checked by syntax
    function, column = FUNCTIONS[node.func.id], node.col_offset
    pieces = [_compile_node(argument) for argument in node.args]
    runs = [piece.run for piece in pieces]

    def run(scope: Scope, facts: Facts) -> Value:
        values = [each(scope, facts) for each in runs]
        try:
            return check_size(call_function(function, facts, values))
        except ExpressionError as error:
            raise _with_column(error, column) from None

    return _CompiledNode(run, all(p.constant for p in pieces) and not function.takes_facts)


def _compile_tuple(node: ast.Tuple) -> _CompiledNode:
    pieces = [_compile_node(element) for element in node.elts]
    runs = [piece.run for piece in pieces]
    # Used only by 'in', so it never becomes the value of an expression.
    return _CompiledNode(
        lambda scope, facts: tuple(each(scope, facts) for each in runs),  # type: ignore[arg-type,return-value]
        all(p.constant for p in pieces),
    )


_COMPILERS: Mapping[type[ast.expr], Callable[..., _CompiledNode]] = MappingProxyType(
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
