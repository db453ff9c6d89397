"""The instructions in the first cell of a notebook, as far as this paper needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from grader import units
from grader.kinds.code import Code
from grader.kinds.integer import Integer
from grader.kinds.numbers import NumberPart
from grader.kinds.numeric import Numeric
from grader.kinds.table import Table
from grader.kinds.tolerance import EXACT
from grader.model import Part, Tolerance


def how_to_answer(parts: Mapping[str, Part]) -> dict[str, object]:
    """Returns the values for the template: an answer's name for the example, and which advice
    applies.

    *parts* are the parts of the paper by the names of their answers.
    """
    values = [name for name, part in parts.items() if not isinstance(part, Code)]
    computed = [name for name, part in parts.items() if isinstance(part, Numeric)]
    return {
        "variable": (computed or values or [""])[0],
        "computed": bool(computed),
        "has_code": len(values) < len(parts),
        "has_numbers": any(isinstance(part, NumberPart | Table) for part in parts.values()),
        "tolerance": _tolerance(list(parts.values())),
    }


def _tolerance(parts: list[Part]) -> str:
    """Returns the tolerance in one sentence; empty if it differs between the parts."""
    whole = {part.tolerance for part in parts if isinstance(part, Integer)}
    rules = {_relative(rule) for part in parts for rule in _rules(part)}
    if len(rules) != 1 or None in rules or whole - {EXACT}:
        return ""
    near = (
        f"A number is accepted within {units.format_number(100 * (rules.pop() or 0))}% of the key"
    )
    return f"{near}; a whole number must be exact." if whole else f"{near}."


def _rules(part: Part) -> Iterator[Tolerance]:
    if isinstance(part, Table):
        yield from (column.tolerance for column in part.columns)
    elif isinstance(part, NumberPart) and not isinstance(part, Integer):
        yield part.tolerance


def _relative(rule: Tolerance) -> float | None:
    """Returns the relative tolerance of *rule*; None if it has any other rule."""
    if rule.relative is None or replace(rule, because=None) != Tolerance(relative=rule.relative):
        return None
    return rule.relative
