"""Searches for a paper that keeps to the bounds of a blueprint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.bank.blueprint.groups import PartGroup
from grader.bank.blueprint.totals import PaperBounds, PaperTotals
from grader.model import dice

_ATTEMPTS = 150
_STEPS = 400
"""The groups that one attempt tries before it gives up."""

Groups = Mapping[str, tuple[PartGroup, ...]]
"""What can be asked of each problem, by its id."""


def iter_papers(
    groups: Groups, start: PaperTotals, bounds: PaperBounds, seed: bytes
) -> Iterator[tuple[PartGroup, ...]]:
    """Yields papers that extend *start* within *bounds*, with at most one problem per concept.

    Each attempt takes the problems in another order and goes back where they don't fit. The papers
    depend only on the arguments; an attempt without success yields nothing.
    """
    names = sorted(groups)
    mean_points = bounds.points / bounds.questions if bounds.questions else None
    choices = {name: _order_choices(groups[name], mean_points) for name in names}
    for attempt in range(_ATTEMPTS):
        order = dice.draw_permutation(seed, f"attempt/{attempt}", len(names))
        paper = _Attempt([choices[names[i]] for i in order], bounds).extend(start, 0)
        if paper is not None:
            yield paper


def _order_choices(groups: Sequence[PartGroup], mean_points: float | None) -> tuple[PartGroup, ...]:
    """Returns the groups of a problem in the order to try: those closest to *mean_points* first,
    or, without it, as they are, the longest first."""
    if mean_points is None:
        return tuple(groups)
    return tuple(sorted(groups, key=lambda group: abs(group.points - mean_points)))


@dataclass
class _Attempt:
    problems: list[tuple[PartGroup, ...]]
    bounds: PaperBounds
    steps: int = _STEPS

    def extend(self, totals: PaperTotals, first: int) -> tuple[PartGroup, ...] | None:
        """Returns groups that complete *totals*, from the problems with the index *first* and
        higher; None if there are none, or if the attempt has used up its steps."""
        if self.bounds.accept(totals):
            return ()
        for index in range(first, len(self.problems)):
            for group in self.problems[index]:
                if self.steps == 0:
                    return None
                self.steps -= 1
                if group.concepts & totals.concepts:
                    break  # all groups of a problem have its concepts
                after = totals.plus(group)
                if self.bounds.allow(after):
                    rest = self.extend(after, index + 1)
                    if rest is not None:
                        return (group, *rest)
        return None
