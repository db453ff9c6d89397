"""Permutation tests, and corrections for many of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from grader.analysis.arrays import AnyNumbers, Numbers, Truths
from grader.report.statistics.distributions import f_quantile

FIRST, SECOND = 999, 19_999
"""How many permutations each test draws, and how many a promising one draws anew."""
PROMISING = 0.02
"""The largest p-value of the first permutations for which others are drawn."""
_AT_ONCE = 3_000_000
"""How many numbers are permuted at once, which limits memory."""
_SEED = 20_050
_POWER = NormalDist().inv_cdf(0.8)


@dataclass(frozen=True, slots=True)
class Deviation:
    """The group that differs most from the others, and how often chance does the same."""

    group: int
    p: float


def find_largest_deviation(values: Numbers, members: Truths, *, second: int = SECOND) -> Deviation:
    """Tests whether the mean of any group differs from that of the others.

    Returns the group that deviates most, and the p-value of a permutation test for all groups
    together. Its statistic is the largest standardized deviation of a group's mean. *members* has a
    row for each value and a column for each group; groups may overlap. If the p-value is promising,
    it is computed again from *second* other permutations.
    """
    centered = values - values.mean()
    if np.abs(centered).max() < 1e-9:
        return Deviation(0, 1.0)
    weights = _weights(centered, members)
    deviations = np.abs(centered @ weights)
    group = int(deviations.argmax())
    least = float(deviations[group]) * (1 - 1e-9)
    p = _p_value(_first_permutations(len(values)), centered, weights, least)
    if p <= PROMISING:
        # Replaces the first p-value: only drawing anew, and not adding, keeps it valid.
        p = _p_value(_permutations(len(values), second, _SEED + 1), centered, weights, least)
    return Deviation(group, p)


def _weights(centered: Numbers, members: Truths) -> Numbers:
    """Returns the matrix that turns values into standardized deviations of each group's mean."""
    count, sizes = len(centered), members.sum(axis=0)
    deviation = math.sqrt(centered @ centered / (count - 1))
    errors = deviation * np.sqrt((1 / sizes) * (1 - sizes / count))
    return np.asarray(members / (sizes * errors), dtype=float)


def _p_value(
    permutations: Iterator[AnyNumbers] | Sequence[AnyNumbers],
    centered: Numbers,
    weights: Numbers,
    least: float,
) -> float:
    """Returns the share of permutations, and of the data itself, that deviate by at least
    *least*."""
    count = reached = 0
    for rows in permutations:
        largest = np.abs(centered[rows] @ weights).max(axis=1)
        reached += int((largest >= least).sum())
        count += len(rows)
    return (reached + 1) / (count + 1)


@lru_cache(maxsize=16)
def _first_permutations(size: int) -> tuple[AnyNumbers, ...]:
    return tuple(_permutations(size, FIRST, _SEED))


def _permutations(size: int, count: int, seed: int) -> Iterator[AnyNumbers]:
    """Yields *count* permutations of range(size), some at a time."""
    # A fixed seed: the same results always give the same list.
    random = np.random.default_rng((seed, size))
    step = max(1, _AT_ONCE // size)
    for start in range(0, count, step):
        rows = min(step, count - start)
        ordered = np.broadcast_to(np.arange(size, dtype=np.int32), (rows, size))
        yield random.permuted(ordered, axis=1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p-values corrected by Holm's method, which controls any false finding.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, (len(p_values) - rank) * p_values[index])
        corrected[index] = min(1.0, highest)
    return corrected


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Returns p-values corrected by Benjamini and Hochberg's method, which controls the share of
    false findings.

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    corrected, lowest = [0.0] * len(p_values), 1.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__, reverse=True)
    for rank, index in zip(range(len(p_values), 0, -1), order, strict=True):
        lowest = min(lowest, len(p_values) / rank * p_values[index])
        corrected[index] = lowest
    return corrected


def interval_of_difference(first: Numbers, second: Numbers) -> tuple[float, float]:
    """Returns Welch's 95% confidence interval of the difference of the two means."""
    parts = [float(values.var(ddof=1)) / len(values) for values in (first, second)]
    error = math.sqrt(sum(parts))
    spread = sum(v * v / (len(x) - 1) for v, x in zip(parts, (first, second), strict=True))
    width = 0.0
    if spread:
        # The square of Student's t is distributed as F with 1 degree of freedom above.
        width = math.sqrt(f_quantile(0.95, 1, sum(parts) ** 2 / spread)) * error
    middle = float(first.mean() - second.mean())
    return middle - width, middle + width


def noticeable_difference(values: Numbers, size: int, *, chance: float) -> float:
    """Returns the minimum detectable difference between the mean of *size* of the values and that
    of the others: a two-sided test at the level *chance* finds it with a probability of 80%."""
    count = len(values)
    error = float(values.std(ddof=1)) * math.sqrt(1 / size + 1 / (count - size))
    return (NormalDist().inv_cdf(1 - chance / 2) + _POWER) * error


def poisson_binomial_tail(count: int, chances: Numbers) -> float:
    """Returns the probability that at least *count* of independent events happen, of which each
    has its own chance (the Poisson binomial distribution).

    >>> round(poisson_binomial_tail(2, np.array([0.5, 0.5, 0.0])), 2)
    0.25
    """
    exactly = np.zeros(len(chances) + 1)
    exactly[0] = 1.0
    for chance in chances[chances > 0]:
        exactly[1:] = exactly[1:] * (1 - chance) + exactly[:-1] * chance
        exactly[0] *= 1 - chance
    return float(exactly[count:].sum())
