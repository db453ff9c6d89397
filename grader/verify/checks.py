"""The gate's checks, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from grader.draw import DrawError, check_explanations, check_question
from grader.expressions import ExpressionError, TextError
from grader.kinds import kinds
from grader.kinds.answers import explain_part
from grader.verify.answers import (
    check_carried_forward,
    check_examples,
    check_full_marks,
    check_second_computation,
    check_zero_marks,
)
from grader.verify.case import Case, Finding
from grader.verify.code import check_implementations
from grader.verify.figures import check_figures
from grader.verify.forged import check_properties
from grader.verify.numbers import (
    check_distinct_mistakes,
    check_printed_rounding,
    check_readable_numbers,
    check_trivial_guesses,
)
from grader.verify.plans import check_stated_rules

Check = Callable[[Case], Iterator[Finding]]


def check_texts(case: Case) -> Iterator[Finding]:
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
    check_second_computation,
    check_full_marks,
    check_zero_marks,
    check_examples,
    check_implementations,
    check_properties,
    check_carried_forward,
    check_distinct_mistakes,
    check_trivial_guesses,
    check_readable_numbers,
    check_printed_rounding,
    check_texts,
    check_stated_rules,
    check_figures,
)
