"""Findings that need many variants, and the grouping of findings that differ in their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from grader.errors import Location
from grader.model import Variant
from grader.model.grouping import group_by_key
from grader.verify.case import Case, Finding
from grader.verify.numbers import cells_of
from grader.verify.plans import check_plans

# With fewer different variants, neighbors in a room would share their numbers.
FEWEST_VARIANTS = 8
LOWEST_HIT_RATE = 0.02
MOST_AT_A_PLACE = 3
"""Different findings kept per check and place in the YAML."""
LUCKY_SHARE = 0.02
"""The share of variants below which an accepted guess is luck."""
FEW_SEEDS = frozenset({"zero-marks", "implementations", "properties"})
"""Checks for which a few seeds are enough, or which run code."""
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?")


def check_all_variants(
    case: Case, variants: Sequence[Variant], distinct: int, hit_rate: float
) -> Iterator[Finding]:
    """Yields the findings that need many variants."""
    fewest = min(FEWEST_VARIANTS, len(variants))
    if case.problem.parameters and distinct < fewest:
        what = f"{len(variants)} seeds gave {distinct} different sets of numbers"
        fix = f"give the parameters more values: at least {FEWEST_VARIANTS} sets"
        yield case.general_finding("variants-differ", ("parameters",), what, fix)
    numbers = [tuple(_key_numbers(v)) for v in variants]
    if len(variants) >= FEWEST_VARIANTS and numbers[0] and len(set(numbers)) == 1:
        what = "every student has the same answers: no parameter changes any key"
        fix = "make at least one answer depend on the parameters"
        yield case.general_finding("variants-differ", ("parts",), what, fix)
    if not case.problem.parameters and len(variants) > 1 and not case.problem.solution:
        what = "the problem has no parameters, so all students have the same numbers"
        yield case.general_finding("variants-differ", (), what, "add at least one parameter")
    yield from check_plans(case, variants)
    if hit_rate < LOWEST_HIT_RATE:
        what = f"only {hit_rate:.1%} of the draws satisfy 'where'"
        fix = "choose parameters that fit together more often, or use rows"
        yield case.general_finding("hit-rate", ("where",), what, fix)


def _key_numbers(variant: Variant) -> Iterator[float]:
    for key in variant.keys.values():
        yield from (cell.value for cell in cells_of(key))


def group_findings(findings: Sequence[Finding], seeds: int, code_seeds: int) -> tuple[Finding, ...]:
    """Merges *findings* that differ only in their numbers; keeps the first, with its seed count.

    *seeds* variants were checked, *code_seeds* of them by the checks that use few. Drops guesses
    that are accepted so rarely that nobody could count on them.
    """
    groups = group_by_key(
        ((finding.check, finding.where, _NUMBER.sub("0", finding.what)), finding)
        for finding in findings
    )
    kept: list[Finding] = []
    places: dict[tuple[str, Location], int] = {}
    for (check, where, _), group in groups.items():
        checked = min(seeds, code_seeds) if check in FEW_SEEDS else seeds
        hit = len({finding.seed for finding in group})
        if check == "trivial-guess" and hit < LUCKY_SHARE * checked:
            continue
        places[check, where] = places.get((check, where), 0) + 1
        if places[check, where] <= MOST_AT_A_PLACE:
            kept.append(replace(group[0], seeds=hit, of=max(checked, hit)))
    return tuple(kept)
