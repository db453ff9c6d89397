"""Turns samples into a median with an interval, and decides when there are enough of them."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

CONFIDENCE = 0.95
FEWEST = 6
"""With fewer samples, even the lowest and the highest do not enclose the median in 95% of cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many samples to take for one figure."""

    seconds: float = 0.6
    """Time limit; FEWEST samples are always taken."""
    least_seconds: float = 0.2
    """Samples are spread over at least this time, because samples of one instant are alike."""
    half_width: float = 0.03
    """Target for half of the 95% interval of the median, as a share of the median."""
    batch_seconds: float = 1e-3
    """Short calls are timed together for at least this long."""
    most: int = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The median of samples with its 95% interval, quartiles and range."""

    median: float
    low: float
    high: float
    q1: float
    q3: float
    lowest: float
    highest: float
    count: int

    @property
    def half_width(self) -> float:
        """Half of the interval, as a share of the median; infinite for a median of zero."""
        return (self.high - self.low) / 2 / abs(self.median) if self.median else math.inf


@lru_cache(maxsize=4096)
def interval_ranks(count: int) -> tuple[int, int]:
    """Returns the indexes of the sorted samples that enclose the median in at least 95% of cases.

    The number of independent samples below the median is binomial with probability one half for any
    distribution (the interval of the sign test). With fewer than 6 samples, the indexes are those
    of the lowest and the highest.

    >>> interval_ranks(6), interval_ranks(20)
    ((0, 5), (5, 14))
    """
    tail, outside = 0.0, 0
    while True:
        tail += math.exp(
            math.lgamma(count + 1)
            - math.lgamma(outside + 1)
            - math.lgamma(count - outside + 1)
            - count * math.log(2)
        )
        if tail > (1 - CONFIDENCE) / 2:
            break
        outside += 1
    place = max(outside - 1, 0)
    return place, count - 1 - place


def estimate(samples: Sequence[float]) -> Estimate:
    """Returns the median of two or more *samples* with its interval and quartiles."""
    ordered = sorted(samples)
    low, high = interval_ranks(len(ordered))
    q1, median, q3 = statistics.quantiles(ordered, n=4, method="inclusive")
    return Estimate(
        median=median,
        # Rounding may move an interpolated quantile past a neighbor.
        low=min(ordered[low], median),
        high=max(ordered[high], median),
        q1=min(q1, median),
        q3=max(q3, median),
        lowest=ordered[0],
        highest=ordered[-1],
        count=len(ordered),
    )


def collect_samples(
    sample: Callable[[], float], effort: Effort, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Returns samples, until their median is certain enough or the time is used up.

    Checking repeatedly makes the interval slightly too narrow, so it is checked only each time
    there are a tenth more samples.
    """
    values: list[float] = []
    start, next_check = clock(), FEWEST
    while len(values) < effort.most:
        values.append(sample())
        if len(values) < FEWEST:
            continue
        spent = clock() - start
        if spent >= effort.seconds:
            break
        if spent >= effort.least_seconds and len(values) >= next_check:
            if estimate(values).half_width < effort.half_width:
                break
            next_check = len(values) + max(1, len(values) // 10)
    return values
