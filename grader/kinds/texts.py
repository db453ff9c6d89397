"""Texts of a problem with the variant's numbers, and values for other numbers."""

from __future__ import annotations

from collections.abc import Mapping

from grader import expressions
from grader.expressions import TextError, evaluate
from grader.model import Draw
from grader.units.quantity import Value


def fill(text: str, draw: Draw) -> str:
    """Returns *text*, stripped, with its placeholders filled in. Raises TextError."""
    return expressions.fill(text, draw.scope, draw.facts).strip()


def try_fill(text: str, draw: Draw) -> str:
    """Returns *text* with its placeholders filled in, or an empty text if that is impossible.

    That happens only if a student's own earlier answer is in scope, such as a division by their
    zero; the gate has tried every other scope.
    """
    try:
        return fill(text, draw)
    except TextError:
        return ""


def scope_with(draw: Draw, changed: Mapping[str, Value]) -> dict[str, Value]:
    """Returns the scope of *draw* with *changed* names and what follows. Raises ExpressionError."""
    scope = {**draw.scope, **changed}
    for name, expression in draw.values.items():
        if name not in changed:
            scope[name] = evaluate(expression, scope, draw.facts)
    return scope
