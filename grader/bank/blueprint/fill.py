"""Fills the blueprint of a set: from heads of problems to the entries of the set."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice
from typing import get_args

from grader.bank.blueprint.faults import UnfilledBlueprint
from grader.bank.blueprint.groups import PartGroup, group_in_slot, leading_groups
from grader.bank.blueprint.pools import GroupPool, variety, widen
from grader.bank.blueprint.search import Groups, iter_papers
from grader.bank.blueprint.totals import PaperTotals, bounds_of
from grader.bank.heads import Head
from grader.bank.yaml12 import Located
from grader.errors import SpecErrors
from grader.model import Blueprint, ExamSet, Level

_COMPARED = 30
"""The number of papers that are tried; the best is used."""
_EXACTNESS = 10.0
"""How much of the variety a paper gives up to be closer to the blueprint."""
_CUT = 0.3
"""How much of the variety a paper gives up to ask one more problem whole."""
_LEVELS = get_args(Level)


def fill_blueprint(
    exam: ExamSet,
    blueprint: Blueprint,
    source: Located,
    heads: Collection[Head],
    listed: Mapping[str, Head],
) -> ExamSet:
    """Returns *exam* with entries that fill *blueprint*, after those that it lists.

    The entries are drawn from *heads*; *listed* are the heads of the problems that the set lists.
    The result depends only on these and on the blueprint's seed. Raises SpecErrors if the bank
    can't fill the blueprint.
    """
    start = _listed_totals(exam, listed)
    groups = find_groups(blueprint, heads, listed)
    bounds = bounds_of(blueprint, exam.minutes)
    seed = hashlib.sha256(f"blueprint/{exam.id}/{blueprint.seed}".encode()).digest()
    papers = list(islice(iter_papers(groups, start, bounds, seed), _COMPARED))
    if not papers:
        unfilled = UnfilledBlueprint(
            blueprint=blueprint,
            source=source,
            groups=groups,
            others=find_groups(replace(blueprint, families={}, levels={}), heads, listed),
            start=start,
            bounds=bounds,
            seed=seed,
        )
        raise SpecErrors((unfilled.error(),))
    filled = [widen(paper, groups, start, bounds, seed) for paper in papers]
    best = max(filled, key=lambda pools: _merit(pools, start, blueprint))
    pools = sorted(best, key=lambda pool: _sort_key(pool, blueprint))
    return replace(exam, problems=(*exam.problems, *(pool.slot() for pool in pools)))


def find_groups(blueprint: Blueprint, heads: Iterable[Head], listed: Mapping[str, Head]) -> Groups:
    """Returns what *blueprint* may ask of each problem, without those that the set lists."""
    groups_by_problem: dict[str, tuple[PartGroup, ...]] = {}
    for head in heads:
        if (
            head.id not in listed
            and head.id not in blueprint.exclude
            and not any(part.pool for part in head.parts)
            and (not blueprint.families or head.family in blueprint.families)
            and (not blueprint.levels or head.level in blueprint.levels)
            and (not blueprint.topics or set(blueprint.topics) & set(head.topics))
        ):
            groups_by_problem[head.id] = leading_groups(head, code=blueprint.code)
    return {name: groups for name, groups in groups_by_problem.items() if groups}


def _listed_totals(exam: ExamSet, listed: Mapping[str, Head]) -> PaperTotals:
    """Returns the totals of the entries that the set lists; a pool counts with its average."""
    totals = PaperTotals()
    for slot in exam.slots:
        before = totals.questions
        for name in slot.problem_ids:
            group = group_in_slot(listed[name], slot)
            totals = totals.plus(group, slot.count / len(slot.problem_ids))
        totals = replace(totals, questions=before + slot.count)
    return totals


def _merit(pools: Sequence[GroupPool], start: PaperTotals, blueprint: Blueprint) -> float:
    """Returns how good *pools* are: their variety, less how far they are off the blueprint, and
    less the problems that are not asked whole."""
    totals = reduce(PaperTotals.plus, (pool.groups[0] for pool in pools), start)
    off = abs(totals.minutes / blueprint.minutes - 1)
    for shares, points in (
        (blueprint.families, totals.families),
        (blueprint.levels, totals.levels),
    ):
        off += sum(
            abs(points.get(name, 0.0) / blueprint.points - share) for name, share in shares.items()
        )
    cut = sum(bool(group.parts) / len(pool.groups) for pool in pools for group in pool.groups)
    return variety(pools) - _EXACTNESS * off - _CUT * cut


def _sort_key(pool: GroupPool, blueprint: Blueprint) -> tuple[int, str, int, str]:
    """Returns the sort key of a question: families as the blueprint lists them, then easy levels
    first."""
    group = pool.groups[0]
    families = list(blueprint.families)
    first = families.index(group.family) if group.family in families else 0
    return first, group.family, _LEVELS.index(group.level), group.problem
