"""Statistics of the class report, with explicit definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence


def mean(numbers: Sequence[float]) -> float | None:
    """Returns the arithmetic mean; None if there are no numbers."""
    return math.fsum(numbers) / len(numbers) if numbers else None


def quartiles(ordered: Sequence[float]) -> tuple[float, float, float] | None:
    """Lower quartile, median and upper quartile of sorted numbers; None of nothing.

    Between two numbers it goes in a straight line, as spreadsheets do.

    >>> quartiles([1, 2, 3, 4])
    (1.75, 2.5, 3.25)
    """
    if not ordered:
        return None
    return _quantile(ordered, 0.25), _quantile(ordered, 0.5), _quantile(ordered, 0.75)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def histogram(shares: Sequence[float], bins: int) -> tuple[int, ...]:
    """How many shares lie in each of *bins* equal parts from 0 to 1; 1 is in the last.

    >>> histogram([0, 0.5, 0.99, 1], 2)
    (1, 3)
    """
    counts = [0] * bins
    for share in shares:
        # A small margin, because 0.29 * 100 is 28.999999999999996.
        counts[max(0, min(int(share * bins + 1e-9), bins - 1))] += 1
    return tuple(counts)


def correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Returns Pearson's correlation; None for fewer than three pairs or no variance."""
    # Equal shares may differ in the last digits due to the order of summation.
    if len(xs) < 3 or max(xs) - min(xs) < 1e-9 or max(ys) - min(ys) < 1e-9:
        return None
    x_mean, y_mean = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    x_off = [x - x_mean for x in xs]
    y_off = [y - y_mean for y in ys]
    together = math.fsum(x * y for x, y in zip(x_off, y_off, strict=True))
    spread = math.sqrt(math.fsum(x * x for x in x_off) * math.fsum(y * y for y in y_off))
    return max(-1.0, min(1.0, together / spread))
