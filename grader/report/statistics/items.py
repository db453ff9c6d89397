"""Difficulty and discrimination of one part of an exam."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

_FEWEST_IN_THIRD = 3


class Thirds(NamedTuple):
    """Mean shares among the students in the lowest and in the highest third by the rest."""

    lowest: float
    highest: float


def correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Returns Pearson's correlation; None for fewer than three pairs or no variance."""
    # Equal shares may differ in the last digits due to the order of summation.
    if len(xs) < 3 or max(xs) - min(xs) < 1e-9 or max(ys) - min(ys) < 1e-9:
        return None
    return max(-1.0, min(1.0, statistics.correlation(xs, ys)))


def thirds(values: Sequence[float], rests: Sequence[float]) -> Thirds | None:
    """Returns the mean of *values* in the lowest and in the highest third by *rests*; None for
    fewer than nine students.

    Of students with equal rests at the edge of a third, each counts with the mean of all of them,
    so that the order of the students doesn't matter.
    """
    count = len(values) // 3
    if count < _FEWEST_IN_THIRD or max(rests) - min(rests) < 1e-9:
        return None
    order = sorted(range(len(values)), key=rests.__getitem__)
    ranked = _average_ties([values[i] for i in order], [rests[i] for i in order])
    return Thirds(statistics.fmean(ranked[:count]), statistics.fmean(ranked[-count:]))


def _average_ties(values: Sequence[float], rests: Sequence[float]) -> list[float]:
    """Returns *values*, sorted by *rests*, with the mean of all values that have equal rests."""
    ranks: list[float] = []
    start = 0
    for place in range(1, len(values) + 1):
        if place == len(values) or rests[place] - rests[place - 1] > 1e-9:
            size = place - start
            ranks += [statistics.fmean(values[start:place])] * size
            start = place
    return ranks
