"""Reliability of the total of an exam."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from grader.report.statistics.intervals import ConfidenceInterval, alpha_interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Cronbach's alpha and the standard error of measurement."""

    alpha: float
    interval: ConfidenceInterval
    error: float
    """The standard error of measurement, in points."""
    students: int
    items: int


def reliability(rows: Sequence[Sequence[float]]) -> Reliability | None:
    """Returns the reliability of the sums of *rows*, one for each student; None if undefined."""
    students, items = len(rows), len(rows[0]) if rows else 0
    if students < 3 or items < 2:
        return None
    totals = [math.fsum(row) for row in rows]
    variance = statistics.variance(totals)
    if variance < 1e-12:
        return None
    of_items = math.fsum(statistics.variance(column) for column in zip(*rows, strict=True))
    alpha = items / (items - 1) * (1 - of_items / variance)
    return Reliability(
        alpha=alpha,
        interval=alpha_interval(alpha, students, items),
        # If alpha is negative, the estimate of the true variance is 0, and all of it is error.
        error=math.sqrt(variance * (1 - max(0.0, alpha))),
        students=students,
        items=items,
    )
