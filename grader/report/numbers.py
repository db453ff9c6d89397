"""Statistics of the class report, with explicit definitions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def quartiles(numbers: Sequence[float]) -> tuple[float, float, float] | None:
    """Returns lower quartile, median and upper quartile; None if there are no numbers.

    Between two numbers, they are interpolated linearly, as in spreadsheets.

    >>> quartiles([1, 2, 3, 4])
    (1.75, 2.5, 3.25)
    """
    if len(numbers) < 2:
        return (numbers[0], numbers[0], numbers[0]) if numbers else None
    low, median, high = statistics.quantiles(numbers, n=4, method="inclusive")
    return low, median, high


def histogram(shares: Sequence[float], bins: int) -> tuple[int, ...]:
    """Returns the number of shares in each of *bins* equal parts from 0 to 1; 1 is in the last.

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
    return max(-1.0, min(1.0, statistics.correlation(xs, ys)))
