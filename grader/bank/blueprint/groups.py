"""What can be one question of a paper: a problem, or its leading parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.bank.heads import Head, HeadPart
from grader.kinds.answers import needs_computer
from grader.model import Slot

_LEAST = 0.5
"""The least share of a problem's points that stands for the problem."""

_MOST_KNOWN = 0.5
"""The least share of a group's points whose mean must be known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartGroup:
    """The parts of one problem that a paper asks."""

    problem: str
    parts: tuple[str, ...]
    """The ids of the parts; empty for the whole problem."""
    family: str
    level: str
    minutes: float
    points: float
    concepts: frozenset[str]
    """The concepts that the whole problem examines, which no other question of a paper may."""
    examined: frozenset[str] = frozenset()
    """The concepts that these parts examine."""
    part_count: int = 0
    """The number of parts that a paper asks."""
    mean: float | None = None
    """The mean share of the points in earlier terms; None if it is unknown for most of them."""
    pool_draws: str = ""
    """What is drawn from pools of parts, such as "2 of 8 claims"; empty for nothing."""


def leading_groups(head: Head, *, code: bool | None) -> tuple[PartGroup, ...]:
    """Returns the whole problem, and its leading parts with at least half of the points, the
    longest first.

    Leading parts never use or mention a part that is left out. If *code* is True, each group has a
    part with code or a measurement; if it is False, problems with such parts have no group.
    """
    coded = [needs_computer(part.kind) for part in head.parts]
    if code is False and any(coded):
        return ()
    counts = range(len(head.parts), 0, -1)
    groups = (_make_group(head, count) for count in counts if not code or any(coded[:count]))
    return tuple(group for group in groups if group.points >= _LEAST * head.points)


def _make_group(head: Head, count: int) -> PartGroup:
    """Returns the group of the first *count* parts of a problem."""
    first = head.parts[:count]
    return PartGroup(
        problem=head.id,
        parts=() if count == len(head.parts) else tuple(part.id for part in first),
        part_count=count,
        family=head.family,
        level=head.level,
        minutes=sum(part.minutes for part in first),
        points=round(sum(part.points for part in first), 6),
        concepts=frozenset(head.concepts),
        examined=head.examined_by(part.id for part in first),
        mean=_mean([(part.points, part.mean) for part in first]),
    )


def _mean(parts: Sequence[tuple[float, float | None]]) -> float | None:
    """Returns the mean of the known means, weighted by points; None if most points have none."""
    known = [(points, mean) for points, mean in parts if mean is not None]
    points = sum(points for points, _ in known)
    if not points or points < _MOST_KNOWN * sum(points for points, _ in parts):
        return None
    return sum(points * mean for points, mean in known) / points


def group_in_slot(head: Head, slot: Slot) -> PartGroup:
    """Returns what *slot* asks of the problem, with the slot's points."""
    asked = [part for part in head.parts if slot.asks(head.id, part.id)]
    weights, pool_draws = _weigh_parts(asked, slot)
    points = slot.points
    if points is None:
        points = sum(weights.get(part.id, 0.0) * part.points for part in asked)
    return PartGroup(
        problem=head.id,
        parts=slot.parts_of(head.id),
        family=head.family,
        level=head.level,
        minutes=sum(weights.get(part.id, 0.0) * part.minutes for part in asked),
        points=round(points, 6),
        concepts=frozenset(head.concepts),
        examined=head.examined_by(weights),
        part_count=round(sum(weights.values())),
        mean=_mean([(weights.get(p.id, 0.0) * p.points, p.mean) for p in asked]),
        pool_draws=pool_draws,
    )


def _weigh_parts(asked: Sequence[HeadPart], slot: Slot) -> tuple[dict[str, float], str]:
    """Returns the share of papers that ask each part, by id, and what *slot* draws in words, which
    is empty if it draws nothing."""
    if not slot.draw:
        return {part.id: 1.0 for part in asked}, ""
    weights = {part.id: 1.0 for part in asked if not part.pool}
    words = []
    for pool, count in slot.draw.items():
        share = slot.pool_share([part.id for part in asked if part.pool == pool])
        weights.update({part: count / len(share) for part in share})
        words.append(f"{count} of {len(share)} {pool}")
    return weights, ", ".join(words)
