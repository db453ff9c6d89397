"""The gate's checks, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from grader.draw import DrawError, check_explanations, check_question
from grader.expressions import ExpressionError, TextError
from grader.kinds import kinds
from grader.kinds.answers import explain_part
from grader.verify.answers import (
    carried_forward,
    examples,
    full_marks,
    second_computation,
    zero_marks,
)
from grader.verify.case import Case, Finding
from grader.verify.code import implementations
from grader.verify.figures import figures
from grader.verify.forged import properties
from grader.verify.numbers import (
    mistakes_apart,
    printed_rounding,
    readable_numbers,
    trivial_guesses,
)
from grader.verify.plans import stated_rules

Check = Callable[[Case], Iterator[Finding]]


def texts(case: Case) -> Iterator[Finding]:
    """Yields a finding for the worked solution, and for each part's, that can't be filled in."""
    try:
        check_explanations(case.variant)
    except DrawError as error:
        yield _as_finding(case, error)
        return
    for part_id, key in case.variant.keys.items():
        try:
            explain_part(kinds.find(key.part.kind), key)
        except (TextError, ExpressionError) as error:
            yield case.finding("texts", case.part_path(part_id), error.what, "check the names")


def check_draw(case: Case) -> Iterator[Finding]:
    """Yields a finding if the variant can't be drawn, such as when dimensions disagree, or if its
    question can't be printed."""
    try:
        check_question(case.variant)
    except DrawError as error:
        yield _as_finding(case, error)


def _as_finding(case: Case, error: DrawError) -> Finding:
    fix = error.fix or "check the expressions and their units"
    general = case.general_finding(error.check, error.path, error.what, fix)
    return replace(general, seed=case.number)


# In this order, because a variant that can't be drawn is not checked further.
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
    stated_rules,
    figures,
)
