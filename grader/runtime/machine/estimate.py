"""Samples to a median with an interval, and the rule that says when there are enough of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat

CONFIDENCE = 0.95
FEWEST = 6
"""With fewer samples, not even the lowest and the highest enclose the median in 95% of cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long to try, and when to be content."""

    seconds: float = 0.6
    """For the samples of one figure; what is needed for the fewest samples is always taken."""
    least_seconds: float = 0.2
    """Samples of one instant are alike, and say little of the next: they are spread over this."""
    half_width: float = 0.03
    """Of the 95% interval of the median, as a share of the median."""
    batch_seconds: float = 1e-3
    """Short calls are timed together for at least so long, far above the clock's own steps."""
    warm_ups: int = 2
    fewest: int = FEWEST
    most: int = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What samples say about their median."""

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


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which *share* of the *ordered* samples lie, by linear interpolation.

    >>> quantile([1.0, 2.0, 3.0, 4.0], 0.5)
    2.5
    """
    place = share * (len(ordered) - 1)
    under = math.floor(place)
    over = min(under + 1, len(ordered) - 1)
    low, high = ordered[under], ordered[over]
    # Kept between its neighbours, which rounding could leave.
    return min(max(low + (high - low) * (place - under), low), high)


@lru_cache(maxsize=4096)
def ranks(count: int) -> tuple[int, int]:
    """Places, from 0, of the ordered samples that enclose the median in at least 95% of cases.

    How many of n independent samples lie below the median is binomial with a chance of one half,
    whatever the distribution (the sign test's interval). With fewer than 6 samples no two of them
    enclose it so surely, and the whole range is given.

    >>> ranks(6), ranks(20)
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
    """The median of *samples* with its quartiles and its 95% interval. Needs one sample or more."""
    ordered = sorted(samples)
    low, high = ranks(len(ordered))
    return Estimate(
        median=quantile(ordered, 0.5),
        low=ordered[low],
        high=ordered[high],
        q1=quantile(ordered, 0.25),
        q3=quantile(ordered, 0.75),
        lowest=ordered[0],
        highest=ordered[-1],
        count=len(ordered),
    )


def collect(
    sample: Callable[[], float], effort: Effort, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, ...]:
    """Samples until the median is known well enough or the time is used up.

    The warm-up is not kept. Looking again and again makes the stated interval a little too hopeful;
    so there is a look only each time a tenth more samples have come in.
    """
    for _ in range(effort.warm_ups):
        sample()
    values: list[float] = []
    start = clock()
    look = effort.fewest
    while len(values) < effort.most:
        values.append(sample())
        if len(values) < effort.fewest:
            continue
        spent = clock() - start
        if spent >= effort.seconds:
            break
        if spent >= effort.least_seconds and len(values) >= look:
            if estimate(values).half_width < effort.half_width:
                break
            look = len(values) + max(1, len(values) // 10)
    return tuple(values)


def seconds_a_call(
    work: Callable[[], object], calls: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The mean time of *calls* calls in a row, in seconds."""
    rounds = repeat(None, calls)
    start = clock()
    for _ in rounds:
        work()
    return (clock() - start) / calls


def calls_for(
    work: Callable[[], object], seconds: float, clock: Callable[[], float] = time.perf_counter
) -> int:
    """How many calls in a row take at least *seconds*, as a power of two; it is tried out."""
    calls = 1
    while calls < 1 << 24 and seconds_a_call(work, calls, clock) * calls < seconds:
        calls *= 2
    return calls
