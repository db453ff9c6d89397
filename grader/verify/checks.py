"""The gate's checks, in the order in which they make sense."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from grader.draw import DrawError
from grader.expressions import ExpressionError, TextError
from grader.kinds import kinds
from grader.verify.answers import (
    carried_forward,
    examples,
    full_marks,
    second_computation,
    zero_marks,
)
from grader.verify.case import Case, Finding
from grader.verify.code import implementations
from grader.verify.forged import properties
from grader.verify.numbers import (
    mistakes_apart,
    printed_rounding,
    readable_numbers,
    trivial_guesses,
)

Check = Callable[[Case], Iterator[Finding]]


def texts(case: Case) -> Iterator[Finding]:
    """Everything a student may ever read renders with no undefined name."""
    dice = case.variant.draw
    try:
        dice.fill(case.problem.explanation, dice.scope)
    except TextError as error:
        yield case.finding("texts", ("explanation",), error.what, "check the names in the braces")
    for part_id, key in case.variant.keys.items():
        try:
            kinds.find(key.part.kind).explain(key)
        except (TextError, ExpressionError) as error:
            yield case.finding("texts", case.part_path(part_id), error.what, "check the names")


def drawable(case: Case) -> Iterator[Finding]:
    """The variant can be drawn at all: dimensions agree and expressions have values."""
    try:
        _ = case.variant
    except DrawError as error:
        yield Finding(
            problem=case.problem.id,
            check=error.check,
            where=case.source.at(error.path),
            what=error.what,
            fix=error.fix or "check the expressions and their units",
            seed=case.number,
        )


# In the order in which they make sense: what can't be drawn is not looked at further.
CHECKS: tuple[Check, ...] = (
    second_computation,
    full_marks,
    zero_marks,
    examples,
    implementations,
    properties,
    carried_forward,
    mistakes_apart,
    trivial_guesses,
    readable_numbers,
    printed_rounding,
    texts,
)
