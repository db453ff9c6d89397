"""Checks of parts of kind `plan`: students know every rule, and no recipe or guess earns much."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from operator import itemgetter

from grader.expressions import TextError
from grader.kinds.plan import PlanKey, as_text
from grader.kinds.plan_outcomes import Requirement
from grader.kinds.texts import fill
from grader.model import Draw, Variant
from grader.notebook.render import given_values
from grader.verify.case import Case, Finding

MOST_BY_RECIPE = 0.5
"""The largest mean credit of one plan over all variants, beyond the error of the mean."""
MOST_BY_CHANCE = 0.2
"""The largest mean credit of a plan chosen at random."""
FEWEST_VARIANTS = 40
"""The number of variants from which means and frequencies say something."""


def check_stated_rules(case: Case) -> Iterator[Finding]:
    """Yields a finding for each requirement that is not one rule, or that no words of the question
    state.

    A student can only search among the plans that they know to be feasible.
    """
    problem, drawn = case.problem, case.variant.draw
    for part_id, key in case.variant.keys.items():
        if not isinstance(key, PlanKey):
            continue
        labels = (label for label, _ in given_values(case.variant))
        shown = (problem.prompt, *problem.assumptions, key.part.ask)
        read = [*(fill(text, drawn) for text in shown), *labels]
        for index, rule in enumerate(key.part.require):
            wrong = _find_rule_fault(rule, drawn, [_on_one_line(text) for text in read])
            if wrong:
                at = (*case.part_path(part_id), "require", index)
                yield case.finding(
                    "stated-rules", at, f"requirement '{rule.id}' {wrong[0]}", wrong[1]
                )


def _find_rule_fault(rule: Requirement, drawn: Draw, read: Sequence[str]) -> tuple[str, str] | None:
    """Returns what is wrong with how *rule* is stated, and what to do; None if nothing is."""
    if any(isinstance(node, ast.And) for node in ast.walk(ast.parse(str(rule.that), mode="eval"))):
        return "joins rules with 'and'", "split it, so that each rule quotes its own words"
    if not rule.stated:
        return "has no 'stated'", "quote the words of the prompt or the assumptions that state it"
    try:
        quoted = _on_one_line(fill(rule.stated, drawn))
    except TextError as error:
        return (
            f"quotes words that can't be filled in: {error.what}",
            "check the names in the braces",
        )
    if not any(quoted in text for text in read):
        return f'quotes "{quoted}", which the question does not say', "state the rule there"
    return None


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def check_plans(case: Case, variants: Sequence[Variant]) -> Iterator[Finding]:
    """Yields a finding for each plan part that is too easy over *variants*, and for each of its
    conditions and shortcomings that applies to no plan.

    Conditions and shortcomings must apply to some plan, no fixed plan may earn more than half of
    the points on average, and a random plan not more than a fifth.
    """
    for part_id, key in variants[0].keys.items():
        if isinstance(key, PlanKey):
            keys = [variant.keys[part_id] for variant in variants]
            yield from _check_part(case, [k for k in keys if isinstance(k, PlanKey)])


def _check_part(case: Case, keys: Sequence[PlanKey]) -> Iterator[Finding]:
    """Yields the findings of `check_plans` for one part, whose keys in all variants are *keys*."""
    part = keys[0].part

    def finding(what: str, fix: str) -> Finding:
        at = case.part_path(part.id)
        return case.general_finding("plans", at, f"part '{part.id}': {what}", fix)

    earned: dict[str, float] = {}
    names: set[str | None] = set()
    count = 0
    for key in keys:
        for plan in key.judged_plans:
            count += 1
            written = as_text(plan.plan)
            earned[written] = earned.get(written, 0.0) + plan.share
            names.add(plan.mistake)
    if len(keys) < FEWEST_VARIANTS:
        return
    for reason_id in (*(r.id for r in part.require), *(s.id for s in part.shortcomings)):
        if reason_id not in names:
            what = f"'{reason_id}' is the first reason for no plan"
            yield finding(what, "drop it, or check its condition and its place")
    recipe, most = max(earned.items(), key=itemgetter(1))
    chance = sum(earned.values()) / count
    margin = 1 / math.sqrt(len(keys))  # twice the largest standard error of the mean
    if most / len(keys) > MOST_BY_RECIPE + margin:
        what = f"the plan {recipe} earns {most / len(keys):.0%} on average"
        yield finding(what, "vary the numbers more, or lower 'none'")
    if chance > MOST_BY_CHANCE:
        what = f"a plan chosen at random earns {chance:.0%} on average"
        yield finding(what, "lower 'none', or add requirements")
