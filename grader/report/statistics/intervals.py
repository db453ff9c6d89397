"""Intervals that contain the true value for 95% of all classes."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from grader.report.statistics.distributions import f_quantile

CONFIDENCE = 0.95
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class ConfidenceInterval(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


def mean_interval(mean: float, count: int) -> ConfidenceInterval | None:
    """Returns Wilson's interval for the mean of *count* shares from 0 to 1; None without any.

    Wilson's interval is for shares that are 0 or 1. Of all shares with the same mean, these vary
    the most, so for part credit the interval is wider than necessary.

    >>> low, high = mean_interval(0.5, 20)
    >>> round(low, 3), round(high, 3)
    (0.299, 0.701)
    """
    if count < 1:
        return None
    z2 = _Z * _Z
    center = (mean + z2 / (2 * count)) / (1 + z2 / count)
    spread = math.sqrt(max(0.0, mean * (1 - mean)) / count + z2 / (4 * count * count))
    half = _Z * spread / (1 + z2 / count)
    return ConfidenceInterval(max(0.0, center - half), min(1.0, center + half))


def correlation_interval(correlation: float, count: int) -> ConfidenceInterval | None:
    """Returns the interval for a correlation of *count* pairs, by Fisher's transformation; None for
    fewer than four pairs.

    >>> low, high = correlation_interval(0.5, 28)
    >>> round(low, 3), round(high, 3)
    (0.156, 0.736)
    """
    if count < 4:
        return None
    if abs(correlation) >= 1:
        return ConfidenceInterval(correlation, correlation)
    middle, half = math.atanh(correlation), _Z / math.sqrt(count - 3)
    return ConfidenceInterval(math.tanh(middle - half), math.tanh(middle + half))


def alpha_interval(alpha: float, students: int, items: int) -> ConfidenceInterval:
    """Returns Feldt's interval for Cronbach's alpha of *students* on *items*."""
    people = students - 1
    others, tail = people * (items - 1), (1 - CONFIDENCE) / 2
    return ConfidenceInterval(
        1 - (1 - alpha) * f_quantile(1 - tail, people, others),
        1 - (1 - alpha) * f_quantile(tail, people, others),
    )
