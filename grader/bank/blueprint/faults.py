"""Says why a bank can't fill a blueprint, and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice

from grader.bank.blueprint.groups import PartGroup
from grader.bank.blueprint.search import Groups, iter_papers
from grader.bank.blueprint.totals import PaperBounds, PaperTotals, bounds_of
from grader.bank.yaml12 import Located, Path_
from grader.errors import SpecError
from grader.model import Blueprint, dice

_ORDERS = 20
"""The orders in which problems are added up to estimate what the bank has."""
_PAPERS = 8
"""The papers that are looked at when a requirement is left out."""
_NO_LIMIT = float("inf")
_OFF = (-0.5, 0.5, -1, 1, -2, 2, -3, 3)
"""Changes of the points that are tried in order, if no single requirement is at odds."""


@dataclass(frozen=True, slots=True)
class _Requirement:
    """The points that a paper can have for the requirement at *path*, and that it needs."""

    path: tuple[str, ...]
    have: float
    need: float
    is_unknown: bool = False
    """Whether no problem has this family or level, whatever else the blueprint states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfilledBlueprint:
    """A blueprint that no paper fits."""

    blueprint: Blueprint
    source: Located
    groups: Groups
    others: Groups
    """What the blueprint could ask if it allowed all families and levels."""
    start: PaperTotals
    """What the set lists."""
    bounds: PaperBounds
    seed: bytes

    def error(self) -> SpecError:
        """Returns the error, at the key of the blueprint that is hardest to meet."""
        if not self.groups:
            fix = "allow more 'families:', 'levels:' or 'topics:', or omit 'code:'"
            return self._error((), "the bank has no problem that fits this blueprint", fix)
        error = self._find_shortage() or next(self._contradictory_requirements(), None)
        error = error or self._suggest_points()
        what = "no paper has these minutes, points, and shares together"
        return error or self._error((), what, "raise 'tolerance:', or add problems to the bank")

    def _error(self, path: Path_, what: str, fix: str) -> SpecError:
        return self.source.error(("blueprint", *path), what, fix)

    def _find_shortage(self) -> SpecError | None:
        """Returns the error for the requirement that is hardest to meet; None if all can be met."""
        unmet = [item for item in self._requirements() if item.have < item.need]
        if not unmet:
            return None
        worst = max(unmet, key=lambda item: (1 - item.have / item.need, item.is_unknown))
        of = f" of '{worst.path[-1]}'" if len(worst.path) > 1 else ""
        have = _with_noun(f"{worst.have:.3g}", "point")
        what = f"a paper can have {have}{of}, but needs {worst.need:.3g}"
        allow = ", or omit 'code:'" if self.blueprint.code is not None else ""
        fix = f"add problems{of} on other concepts to the bank, or ask for less{allow}"
        return self._error(worst.path, what, fix)

    def _requirements(self) -> Iterator[_Requirement]:
        """Yields each requirement, with the points that it needs and that a paper can have."""
        # The longest group of a problem comes first, and all have its level and family.
        longest = [groups[0] for groups in self.groups.values()]
        known_levels = {groups[0].level for groups in self.others.values()}
        known_families = {groups[0].family for groups in self.others.values()}
        start, bounds = self.start, self.bounds
        for name, (need, _) in bounds.levels.items():
            of_level = [group for group in longest if group.level == name]
            have = start.levels.get(name, 0.0) + self._estimate(of_level)
            yield _Requirement(("levels", name), have, need, name not in known_levels)
        for name, (need, _) in bounds.families.items():
            of_family = [group for group in longest if group.family == name]
            have = start.families.get(name, 0.0) + self._estimate(of_family)
            yield _Requirement(("families", name), have, need, name not in known_families)
        yield _Requirement(("points",), start.points + self._estimate(longest), bounds.points)

    def _estimate(self, longest: Sequence[PartGroup]) -> float:
        """Returns an estimate of the most points that one paper can have from *longest*, of which
        no two may share a concept."""
        largest = 0.0
        for number in range(_ORDERS):
            concepts, points = self.start.concepts, 0.0
            for index in dice.draw_permutation(self.seed, f"supply/{number}", len(longest)):
                if not longest[index].concepts & concepts:
                    concepts |= longest[index].concepts
                    points += longest[index].points
            largest = max(largest, points)
        return largest

    def _contradictory_requirements(self) -> Iterator[SpecError]:
        """Yields an error for each requirement without which a paper could be made."""
        bounds = self.bounds
        low, high = bounds.minutes
        if papers := self._possible_papers(replace(bounds, minutes=(0.0, _NO_LIMIT))):
            times = _describe_closest([totals.minutes for totals in papers], low, high)
            what = (
                f"the closest papers with these points and shares take {times} minutes, not "
                f"{low:.1f} to {high:.1f}"
            )
            fix = "change 'minutes:' or 'points:', or raise 'tolerance:'"
            yield self._error(("minutes",), what, fix)
        if papers := self._possible_papers(replace(bounds, questions=None)):
            counts = " or ".join(map(str, sorted({paper.questions for paper in papers})))
            have = _with_noun(counts, "question")
            what = f"papers with these points and shares have {have}"
            yield self._error(("questions",), what, "change 'questions:', or omit it")
        yield from self._check_shares("levels", replace(bounds, levels={}), bounds.levels)
        yield from self._check_shares("families", replace(bounds, families={}), bounds.families)

    def _check_shares(
        self, key: str, bounds: PaperBounds, wanted: Mapping[str, tuple[float, float]]
    ) -> Iterator[SpecError]:
        """Yields an error for the share in *wanted* that the closest paper misses most, if any."""
        papers = self._possible_papers(bounds) if wanted else []
        if not papers:
            return
        shares = [paper.families if key == "families" else paper.levels for paper in papers]
        closest = min(shares, key=lambda points: max(_gaps(points, wanted).values()))
        gaps = _gaps(closest, wanted)
        name = max(gaps, key=lambda name: gaps[name])
        low, high = (points / bounds.points for points in wanted[name])
        have = closest.get(name, 0.0) / bounds.points
        what = (
            f"the closest paper has {have:.0%} of its points in '{name}', "
            f"not {low:.0%} to {high:.0%}"
        )
        fix = f"add problems of '{name}' that fit, change its share, or raise 'tolerance:'"
        yield self._error((key, name), what, fix)

    def _suggest_points(self) -> SpecError | None:
        """Returns an error that suggests other points; None if no small change is enough."""
        for off in _OFF:
            points = self.blueprint.points + off
            bounds = bounds_of(replace(self.blueprint, points=points))
            if points > 0 and self._possible_papers(replace(bounds, minutes=self.bounds.minutes)):
                exact = _with_noun(f"{self.blueprint.points:g}", "point")
                what = f"no paper has exactly {exact} and these shares"
                return self._error(("points",), what, f"write 'points: {points:g}'")
        return None

    def _possible_papers(self, bounds: PaperBounds) -> list[PaperTotals]:
        """Returns the totals of some papers within *bounds*; empty if there are none."""
        papers = iter_papers(self.groups, self.start, bounds, self.seed)
        return [reduce(PaperTotals.plus, paper, self.start) for paper in islice(papers, _PAPERS)]


def _gaps(
    points: Mapping[str, float], wanted: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    """Returns by how many points each share misses its range; 0 for a share within it."""
    return {
        name: max(low - points.get(name, 0.0), points.get(name, 0.0) - high, 0.0)
        for name, (low, high) in wanted.items()
    }


def _describe_closest(numbers: Sequence[float], low: float, high: float) -> str:
    """Returns the nearest of *numbers* below and above the range from *low* to *high*, in words."""
    below = sorted(number for number in numbers if number < low)
    above = sorted(number for number in numbers if number > high)
    closest = (*below[-1:], *above[:1])
    return " or ".join(f"{number:.1f}" for number in closest)


def _with_noun(number: str, noun: str) -> str:
    """Returns *number* with *noun*, which gets an "s" unless the number is 1."""
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"
