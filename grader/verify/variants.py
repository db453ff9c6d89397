"""Findings that only many variants of a problem together can show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.model import Variant
from grader.verify.case import Case, Finding
from grader.verify.numbers import cells_of
from grader.verify.plans import check_plans

# With fewer different variants, neighbors in a room would share their numbers.
FEWEST_VARIANTS = 8
LOWEST_HIT_RATE = 0.02


def across(
    case: Case, variants: Sequence[Variant], distinct: int, hit_rate: float
) -> Iterator[Finding]:
    """Findings that only many variants together can show."""
    fewest = min(FEWEST_VARIANTS, len(variants))
    if case.problem.parameters and distinct < fewest:
        yield _general(
            case,
            "variants-differ",
            ("parameters",),
            f"{len(variants)} seeds gave {distinct} different sets of numbers",
            f"give the parameters more values: at least {FEWEST_VARIANTS} sets",
        )
    numbers = [tuple(_key_numbers(v)) for v in variants]
    if len(variants) >= FEWEST_VARIANTS and numbers[0] and len(set(numbers)) == 1:
        yield _general(
            case,
            "variants-differ",
            ("parts",),
            "every student has the same answers: no parameter changes any key",
            "make at least one answer depend on the parameters",
        )
    if not case.problem.parameters and len(variants) > 1 and not case.problem.solution:
        yield _general(
            case,
            "variants-differ",
            (),
            "the problem has no parameters, so all students have the same numbers",
            "add at least one parameter",
        )
    yield from check_plans(case, variants)
    if hit_rate < LOWEST_HIT_RATE:
        yield _general(
            case,
            "hit-rate",
            ("where",),
            f"only {hit_rate:.1%} of the draws satisfy 'where'",
            "choose parameters that fit together more often, or use rows",
        )


def _key_numbers(variant: Variant) -> Iterator[float]:
    for key in variant.keys.values():
        yield from (cell.value for cell in cells_of(key))


def _general(case: Case, check: str, at: tuple[str, ...], what: str, fix: str) -> Finding:
    return Finding(
        problem=case.problem.id, check=check, where=case.source.at(at), what=what, fix=fix
    )
