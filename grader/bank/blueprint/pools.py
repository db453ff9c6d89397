"""Turns one paper into pools, so that students get different problems of the same weight."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from grader.bank.blueprint.groups import PartGroup
from grader.bank.blueprint.search import Groups
from grader.bank.blueprint.totals import PaperBounds, PaperTotals
from grader.model import Slot, dice

_LONGER = 1.1
"""How many times as long as the shortest group of a pool the longest may take."""

_HARDER = 0.15
"""How much the means of a pool's groups in earlier terms may differ."""


@dataclass(frozen=True)
class GroupPool:
    """Groups that stand for one another: the same family, level, and points, about the same
    minutes, and, as far as known from earlier terms, about the same mean."""

    groups: tuple[PartGroup, ...]

    @cached_property
    def minutes(self) -> tuple[float, float]:
        """The minutes of the shortest and of the longest group."""
        times = [group.minutes for group in self.groups]
        return min(times), max(times)

    @cached_property
    def concepts(self) -> frozenset[str]:
        """The concepts of all groups."""
        return frozenset().union(*(group.concepts for group in self.groups))

    def takes(self, group: PartGroup) -> bool:
        """Returns whether *group* can stand for the groups of this pool."""
        first = self.groups[0]
        low, high = self.minutes
        means = [one.mean for one in (*self.groups, group) if one.mean is not None]
        if means and max(means) - min(means) > _HARDER:
            return False
        return (
            (group.family, group.level) == (first.family, first.level)
            and math.isclose(group.points, first.points)
            and max(high, group.minutes) <= _LONGER * min(low, group.minutes)
        )

    def slot(self) -> Slot:
        """Returns the pool as an entry of a set."""
        if len(self.groups) == 1:
            return Slot(problem=self.groups[0].problem, parts=self.groups[0].parts)
        return Slot(
            pool=tuple(group.problem for group in self.groups),
            parts={group.problem: group.parts for group in self.groups if group.parts},
        )


def widen(
    paper: Sequence[PartGroup], groups: Groups, start: PaperTotals, bounds: PaperBounds, seed: bytes
) -> tuple[GroupPool, ...]:
    """Returns a pool for each question of *paper*.

    Whatever is drawn from the pools keeps to *bounds*, and no two of them share a concept.
    """
    pools = [GroupPool((group,)) for group in paper]
    used = {group.problem for group in paper}
    names = sorted(set(groups) - used)
    asked = {(group.family, group.level) for group in paper}
    for index in dice.draw_permutation(seed, "widen", len(names)):
        longest = groups[names[index]][0]
        if (longest.family, longest.level) not in asked:
            continue
        fits = list(_find_places(groups[names[index]], pools, start, bounds))
        if fits:
            _, place, group = min(fits, key=lambda fit: fit[:2])
            members = (*pools[place].groups, group)
            pools[place] = GroupPool(tuple(sorted(members, key=lambda member: member.problem)))
    return tuple(pools)


def _find_places(
    choices: Sequence[PartGroup],
    pools: Sequence[GroupPool],
    start: PaperTotals,
    bounds: PaperBounds,
) -> Iterator[tuple[int, int, PartGroup]]:
    """Yields the size and the index of each pool that can take one of *choices*, and that
    choice."""
    low = start.minutes + sum(pool.minutes[0] for pool in pools)
    high = start.minutes + sum(pool.minutes[1] for pool in pools)
    for place, pool in enumerate(pools):
        fitting = [group for group in choices if pool.takes(group)]
        if not fitting:
            continue
        others = [other.concepts for number, other in enumerate(pools) if number != place]
        blocked = start.concepts.union(*others)
        for group in fitting:
            if group.concepts & blocked:
                continue
            shortest = low - max(0.0, pool.minutes[0] - group.minutes)
            longest = high + max(0.0, group.minutes - pool.minutes[1])
            if bounds.minutes[0] <= shortest and longest <= bounds.minutes[1]:
                yield len(pool.groups), place, group


def variety(pools: Sequence[GroupPool]) -> float:
    """Returns the logarithm of how many papers can be drawn from *pools*."""
    return sum(math.log(len(pool.groups)) for pool in pools)
