"""Adds up the questions of a paper, and compares the sum with a blueprint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.bank.blueprint.groups import PartGroup
from grader.model import Blueprint

_EXACT = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTotals:
    """The questions of a paper, added up."""

    questions: int = 0
    minutes: float = 0.0
    points: float = 0.0
    families: Mapping[str, float] = field(default_factory=dict)
    """The points of each family."""
    levels: Mapping[str, float] = field(default_factory=dict)
    """The points of each level."""
    concepts: frozenset[str] = frozenset()

    def plus(self, group: PartGroup, weight: float = 1.0) -> PaperTotals:
        """Returns the totals with *group* added, or with the share *weight* of it."""
        points = weight * group.points
        return PaperTotals(
            questions=self.questions + 1,
            minutes=self.minutes + weight * group.minutes,
            points=self.points + points,
            families={
                **self.families,
                group.family: self.families.get(group.family, 0.0) + points,
            },
            levels={**self.levels, group.level: self.levels.get(group.level, 0.0) + points},
            concepts=self.concepts | group.concepts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperBounds:
    """What a blueprint allows the totals of a paper to be."""

    points: float
    minutes: tuple[float, float]
    families: Mapping[str, tuple[float, float]]
    """The fewest and the most points of each family; any families if empty."""
    levels: Mapping[str, tuple[float, float]]
    """The fewest and the most points of each level; any levels if empty."""
    questions: int | None

    def allow(self, totals: PaperTotals) -> bool:
        """Returns whether a paper may continue from *totals*."""
        remaining = self.points - totals.points
        if remaining < -_EXACT or totals.minutes > self.minutes[1] + _EXACT:
            return False
        if self.questions is not None and totals.questions > self.questions - (remaining > _EXACT):
            return False
        return _fits(self.families, totals.families, remaining) and _fits(
            self.levels, totals.levels, remaining
        )

    def accept(self, totals: PaperTotals) -> bool:
        """Returns whether a paper may end with *totals*, which `allow` allows."""
        return (
            abs(self.points - totals.points) <= _EXACT
            and totals.minutes >= self.minutes[0] - _EXACT
            and self.questions in (None, totals.questions)
        )


def _fits(
    bounds: Mapping[str, tuple[float, float]], points: Mapping[str, float], remaining: float
) -> bool:
    """Returns whether no share is exceeded, and *remaining* points can fill those that lack."""
    lacking = 0.0
    for name, (low, high) in bounds.items():
        have = points.get(name, 0.0)
        if have > high + _EXACT:
            return False
        lacking += max(0.0, low - have)
    return lacking <= remaining + _EXACT


def bounds_of(blueprint: Blueprint, limit: float | None = None) -> PaperBounds:
    """Returns the bounds that *blueprint* states, with at most *limit* minutes if that is given."""
    off, points = blueprint.tolerance, blueprint.points
    low, high = blueprint.minutes * (1 - off), blueprint.minutes * (1 + off)

    def around(shares: Mapping[str, float]) -> dict[str, tuple[float, float]]:
        """Returns the fewest and the most points for each share."""
        return {
            name: (max(share / 2, share - off) * points, min(1.0, share + off) * points)
            for name, share in shares.items()
        }

    return PaperBounds(
        points=points,
        minutes=(low, high if limit is None else min(high, limit)),
        families=around(blueprint.families),
        levels=around({str(level): share for level, share in blueprint.levels.items()}),
        questions=blueprint.questions,
    )
