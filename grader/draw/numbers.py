"""Draws a problem's numbers until they satisfy its conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from grader.draw.fault import DrawError, draw_error, expression_error
from grader.draw.parameters import draw_parameter
from grader.expressions import ExpressionError, evaluate, holds, names_in
from grader.model import Expr, Facts, Problem
from grader.units.quantity import Value

MAX_DRAWS = 1000


class DrawnNumbers(NamedTuple):
    """Numbers that satisfy `where`."""

    parameters: dict[str, Value]
    scope: dict[str, Value]
    """Parameters, and the values computed from them."""
    draws: int
    """Number of draws it took."""


def draw_numbers(problem: Problem, seed: bytes, facts: Facts) -> DrawnNumbers:
    """Returns the first numbers for *seed* that satisfy all conditions. Raises DrawError."""
    # Conditions without values come first, so that none are computed for rejected numbers.
    late = [c for c in problem.where if isinstance(c, str) and _names_of(c) & problem.values.keys()]
    early = [c for c in problem.where if c not in late]
    for number in range(MAX_DRAWS):
        parameters: dict[str, Value] = {}
        for name, parameter in problem.parameters.items():
            parameters.update(draw_parameter(name, parameter, seed, b"%d" % number))
        early_error, rejected = _check_conditions(early, problem, parameters, facts)
        if rejected:
            continue
        scope, value_error = _compute_values(problem, parameters, facts)
        late_error, rejected = _check_conditions(late, problem, scope, facts)
        # An error counts only if no condition rejects the numbers that cause it.
        if rejected:
            continue
        error = early_error or value_error or late_error
        if error:
            raise error
        return DrawnNumbers(parameters, scope, number + 1)
    raise draw_error(
        problem,
        ("where",),
        f"no numbers in {MAX_DRAWS} draws satisfy: " + "; ".join(map(str, problem.where)),
        "widen the parameters or relax 'where'",
        "hit-rate",
    )


def compute_scope(
    problem: Problem, parameters: Mapping[str, Value], facts: Facts
) -> dict[str, Value]:
    """Returns *parameters* and the values computed from them. Raises DrawError."""
    scope, error = _compute_values(problem, parameters, facts)
    if error:
        raise error
    return scope


def _compute_values(
    problem: Problem, parameters: Mapping[str, Value], facts: Facts
) -> tuple[dict[str, Value], DrawError | None]:
    """Returns *parameters* and the values up to the first that fails, and its error or None."""
    scope = dict(parameters)
    for name, expression in problem.values.items():
        try:
            scope[name] = evaluate(expression, scope, facts)
        except ExpressionError as error:
            path, place = ("values", name), f"value '{name}'"
            return scope, expression_error(problem, path, place, error, scope)
    return scope, None


def _check_conditions(
    conditions: Iterable[Expr], problem: Problem, scope: Mapping[str, Value], facts: Facts
) -> tuple[DrawError | None, bool]:
    """Returns the first error and False, or None and True if a condition does not hold."""
    first_error: DrawError | None = None
    for condition in conditions:
        try:
            if not holds(condition, scope, facts):
                return None, True
        except ExpressionError as error:
            place = f"condition '{condition}'"
            if first_error is None:
                first_error = expression_error(problem, ("where",), place, error, scope)
    return first_error, False


def _names_of(expression: str) -> frozenset[str]:
    """Returns the names in *expression*; none if it can't be parsed, which evaluation reports."""
    try:
        return names_in(expression)
    except ExpressionError:
        return frozenset()
