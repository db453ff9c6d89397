"""Errors of variants that can't be drawn, with the piece of the spec that is at fault."""

from __future__ import annotations

from collections.abc import Mapping

from grader import units
from grader.draw.parameters import list_drawn_names
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
    """Returns "dimensions" if *error* or its cause is a DimensionError, otherwise "values"."""
    causes = (error, error.__cause__, error.__context__)
    return "dimensions" if any(isinstance(e, DimensionError) for e in causes) else "values"


def expression_error(
    problem: Problem, path: Path, place: str, error: ExpressionError, scope: Mapping[str, Value]
) -> DrawError:
    """Returns the error for an expression that failed in *scope*, with the drawn numbers."""
    what = f"in the {place}: {error.what} (with {format_numbers(problem, scope)})"
    return draw_error(problem, path, what, error.fix, defect_class(error))


def format_numbers(problem: Problem, scope: Mapping[str, Value]) -> str:
    """Returns the drawn parameters on one line, to reproduce an error; "no numbers" without any."""
    drawn = [name for name in list_drawn_names(problem) if name in scope]
    texts = [f"{name} = {units.format_quantity(scope[name])}" for name in drawn]
    return ", ".join(texts) or "no numbers"
