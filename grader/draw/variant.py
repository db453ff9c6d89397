"""Draws a variant of a problem, with its keys, from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from grader.draw.fault import defect_class, draw_error, format_numbers
from grader.draw.numbers import compute_scope, draw_numbers
from grader.draw.parameters import list_drawn_names
from grader.expressions import ExpressionError, TextError
from grader.kinds import kinds
from grader.kinds.answers import carried_answer
from grader.model import Draw, Facts, Key, Part, Problem, Variant
from grader.units.quantity import Value


def draw(
    problem: Problem, seed: bytes, facts: Facts, numbers_of: Mapping[str, Value] | None = None
) -> Variant:
    """Returns the variant of *problem* for *seed*, with its keys.

    If *numbers_of* is given, it has parameters drawn with an earlier spec, which are kept. Raises
    DrawError if the conditions are too rarely true, if an expression fails, or if *numbers_of*
    lacks a parameter.
    """
    if numbers_of is None:
        parameters, scope, draws = draw_numbers(problem, seed, facts)
    else:
        _require_numbers(problem, numbers_of)
        parameters, draws = dict(numbers_of), 1
        scope = compute_scope(problem, parameters, facts)
    keys: dict[str, Key] = {}
    drawn = Draw(
        seed=seed,
        scope=scope,
        facts=facts,
        parameters=parameters,
        values=problem.values,
        solution=problem.solution,
    )
    for part in problem.parts:
        keys[part.id], answer = _make_key(problem, part, drawn)
        if answer is not None:
            # A new mapping: keys made earlier keep the scope they were made in.
            drawn = replace(drawn, scope={**drawn.scope, part.id: answer})
    return Variant(problem=problem, draw=drawn, keys=keys, draws=draws)


def _require_numbers(problem: Problem, numbers: Mapping[str, Value]) -> None:
    """Raises DrawError if the parameters of *problem* define a name that *numbers* lack."""
    for name in list_drawn_names(problem):
        if name not in numbers:
            what = f"the corrected spec has a new parameter '{name}', which students did not get"
            fix = "define it under 'values', or correct the spec without it"
            raise draw_error(problem, ("parameters",), what, fix)


def _make_key(problem: Problem, part: Part, drawn: Draw) -> tuple[Key, Value | None]:
    """Returns the key of *part*, and the answer that later parts compute with, or None.

    Raises DrawError with the problem and the part.
    """
    kind = kinds.find(part.kind)
    try:
        key: Key = kind.key(part, drawn)
        return key, carried_answer(kind, key)
    except (ExpressionError, TextError) as error:
        what, fix, check = error.what, error.fix, defect_class(error)
    except ValueError as error:
        what, fix, check = str(error), "check the part's expressions and units", defect_class(error)
    index = next(i for i, p in enumerate(problem.parts) if p.id == part.id)
    what = f"part '{part.id}': {what} (with {format_numbers(problem, drawn.scope)})"
    raise draw_error(problem, ("parts", index), what, fix, check)
