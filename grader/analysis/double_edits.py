"""Expressions that differ from the right one by two errors, computed for a whole class at once."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from grader import units
from grader.analysis.arrays import AnyNumbers
from grader.analysis.edits import edits_of_edits
from grader.model import Draw, Expr
from grader.units.quantity import Quantity

MOST = 40_000
"""Most expressions that are tried for one part."""


def iter_double_edits(
    answer: Expr, unit: str, draws: Sequence[Draw], is_wanted: Callable[[AnyNumbers], bool]
) -> Iterator[tuple[str, AnyNumbers]]:
    """Yields expressions with two errors whose values, one for each of *draws*, are wanted.

    The values are computed with floats and without a check of dimensions, so the expressions
    have to be evaluated again before they are used.
    """
    scale = float(units.parse_unit(unit).scale) if unit else 1.0
    evaluate = _Arrays(draws)
    seen: set[bytes] = set()
    with np.errstate(all="ignore"):
        for tree in islice(edits_of_edits(answer, draws[0]), MOST):
            try:
                values = np.broadcast_to(evaluate(tree), len(draws)) / scale
            except (TypeError, ValueError, KeyError, ZeroDivisionError, OverflowError):
                continue
            if values.dtype != np.float64 or not is_wanted(values):
                continue
            code = np.round(values / np.abs(values).max(), 9).tobytes()
            if code not in seen:
                seen.add(code)
                yield ast.unparse(tree), values


class _Arrays:
    """Evaluates expressions for many students at once. Raises TypeError for what it can't."""

    def __init__(self, draws: Sequence[Draw]):
        self._names: dict[str, AnyNumbers] = {}
        for name in draws[0].scope:
            values = [plain_value(draw.scope.get(name)) for draw in draws]
            if None not in values:
                self._names[name] = np.array(values)
        for name, value in units.named_units().items():
            self._names.setdefault(name, np.array(plain_value(value)))
        self._facts = draws[0].facts

    def __call__(self, node: ast.expr) -> AnyNumbers:
        """Returns the value of *node* for each student. Raises TypeError for unknown syntax."""
        match node:
            case ast.Name(name):
                values = self._names[name]
            case ast.Constant(value) if isinstance(value, (int, float, str)):
                values = np.array(value if isinstance(value, str) else float(value))
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                values = _BINARY[type(op)](self(left), self(right))
            case ast.UnaryOp(ast.USub(), operand):
                values = -self(operand)
            case ast.IfExp(test, body, orelse):
                values = np.where(self(test), self(body), self(orelse))
            case ast.Compare(left, [comparison], [right]) if type(comparison) in _COMPARISONS:
                values = _COMPARISONS[type(comparison)](self(left), self(right))
            case ast.Call(ast.Name("number"), [value, ast.Constant(str(unit))]):
                values = self(value) / float(units.parse_unit(unit).scale)
            case ast.Call(ast.Name("fact"), [item, field]):
                values = self._look_up(self(item), self(field))
            case ast.Call(ast.Name(name), args) if name in _FUNCTIONS:
                values = _FUNCTIONS[name](*map(self, args))
            case _:
                raise TypeError
        return np.asarray(values)

    def _look_up(self, item: AnyNumbers, field: AnyNumbers) -> AnyNumbers:
        """Returns the facts with these items and fields."""
        values = [
            plain_value(self._facts[str(one)][str(key)])
            for one, key in zip(*map(np.ravel, np.broadcast_arrays(item, field)), strict=True)
        ]
        return np.array(values) if np.ndim(item) else np.array(values[0])


def plain_value(value: object) -> float | str | None:
    """Returns a number in base units, or a text; None for anything else."""
    if isinstance(value, Quantity):
        value = value.magnitude
    if isinstance(value, (bool, str)):
        return value if isinstance(value, str) else float(value)
    if isinstance(value, (int, float)) and abs(value) < 1e300:
        return float(value)
    return None


def _floor(x: AnyNumbers) -> AnyNumbers:
    """Rounds down, except that a value just below a whole number counts as that number."""
    return np.asarray(np.floor(x + 1e-9 * np.abs(x)))


_BINARY: Mapping[type[ast.operator], Callable[[AnyNumbers, AnyNumbers], AnyNumbers]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.true_divide,
    ast.Pow: np.power,
    ast.FloorDiv: lambda x, y: _floor(x / y),
    ast.Mod: np.mod,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[AnyNumbers, AnyNumbers], Any]] = {
    ast.Eq: lambda x, y: x == y,
    ast.NotEq: lambda x, y: x != y,
    ast.Lt: lambda x, y: x < y,
    ast.LtE: lambda x, y: x <= y,
    ast.Gt: lambda x, y: x > y,
    ast.GtE: lambda x, y: x >= y,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": np.abs,
    "ceil": lambda x: -_floor(-x),
    "exp": np.exp,
    "floor": _floor,
    "log": lambda x, base=math.e: np.log(x) / np.log(base),
    "log2": np.log2,
    "max": lambda *x: np.maximum.reduce(np.broadcast_arrays(*x)),
    "min": lambda *x: np.minimum.reduce(np.broadcast_arrays(*x)),
    "round": np.round,
    "sqrt": np.sqrt,
    "sum": lambda *x: np.add.reduce(np.broadcast_arrays(*x)),
}
