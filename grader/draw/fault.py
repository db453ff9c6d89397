"""Errors of variants that can't be drawn, with the piece of the spec that is at fault."""

from __future__ import annotations

from collections.abc import Mapping

from grader import units
from grader.errors import SpecError
from grader.expressions import ExpressionError
from grader.model import Problem
from grader.units.quantity import DimensionError, Value

Path = tuple[str | int, ...]


class DrawError(SpecError):
    """A variant can't be drawn. *path* leads to the piece of the spec that is at fault."""

    path: Path = ()
    check: str = "values"
    """The class of defect: `dimensions`, `hit-rate`, `texts`, or `values` for anything else."""


def draw_error(
    problem: Problem, path: Path, what: str, fix: str | None, check: str = "values"
) -> DrawError:
    """Returns the error for the piece of *problem* at *path*."""
    error = DrawError(what, where=problem.id, fix=fix)
    error.path, error.check = path, check
    return error


def defect_class(error: Exception) -> str:
    """Returns the class of defect that *error* shows."""
    causes = (error, error.__cause__, error.__context__)
    return "dimensions" if any(isinstance(e, DimensionError) for e in causes) else "values"


def expression_error(
    problem: Problem, path: Path, place: str, error: ExpressionError, scope: Mapping[str, Value]
) -> DrawError:
    """Returns the error for an expression that failed in *scope*, with the drawn numbers."""
    what = f"in the {place}: {error.what} (with {format_numbers(problem, scope)})"
    return draw_error(problem, path, what, error.fix, defect_class(error))


def format_numbers(problem: Problem, scope: Mapping[str, Value]) -> str:
    """Returns the drawn parameters on one line, so that an error can be reproduced."""
    drawn = [
        n for name, p in problem.parameters.items() for n in (p.rows[0] if p.rows else (name,))
    ]
    return (
        ", ".join(f"{n} = {units.format_quantity(scope[n])}" for n in drawn if n in scope)
        or "no numbers"
    )
