"""How well two people agree who grade the same answers independently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.analysis.arrays import Numbers
from grader.gradebook import Gradebook
from grader.model.desk import IndependentMark, PartId
from grader.model.grouping import group_by_key
from grader.report.statistics.intervals import ConfidenceInterval, mean_interval

_RESAMPLES = 2000
_SAME = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What two people gave for the same answers to one part. Intervals are for 95%."""

    part: PartId
    people: tuple[str, str]
    count: int
    """How many answers both graded; equal answers that were graded at once count once."""
    exact: float
    """The share of answers with equal points."""
    exact_interval: ConfidenceInterval | None
    kappa: float | None
    """Cohen's kappa with linear weights; None if everybody always gave the same points."""
    kappa_interval: ConfidenceInterval | None
    difference: float
    """The mean of the first person's points minus the second person's."""
    difference_interval: ConfidenceInterval | None
    """None for fewer than two answers."""


def agreement_of(book: Gradebook) -> tuple[Agreement, ...]:
    """Returns the agreement on each part of each pair of people who graded it independently."""
    return tuple(
        agreement(part, people, pairs)
        for (part, people), pairs in sorted(_pair_points(book.double.current()).items())
    )


def _pair_points(
    marks: Iterable[IndependentMark],
) -> Mapping[tuple[PartId, tuple[str, str]], list[tuple[float, float]]]:
    """Returns the points of both people for each answer, by part and people.

    Equal answers that both people graded at once are one judgment, not several.
    """
    answers = group_by_key(((mark.student, mark.name, mark.key), mark) for mark in marks)
    once: dict[tuple[int, int], tuple[IndependentMark, IndependentMark]] = {}
    for mine in answers.values():
        if len(mine) > 1:
            first, second = sorted(mine[:2], key=lambda mark: mark.by)
            once[first.batch, second.batch] = first, second
    return group_by_key(
        ((first.part, (first.by, second.by)), (first.points, second.points))
        for first, second in once.values()
    )


def agreement(
    part: PartId, people: tuple[str, str], pairs: Sequence[tuple[float, float]]
) -> Agreement:
    """Returns the agreement in *pairs* of points, of which there is at least one."""
    equal = sum(abs(x - y) < _SAME for x, y in pairs)
    kappas, differences = _resample(pairs)
    several = len(pairs) > 1
    return Agreement(
        part=part,
        people=people,
        count=len(pairs),
        exact=equal / len(pairs),
        exact_interval=mean_interval(equal / len(pairs), len(pairs)),
        kappa=weighted_kappa(pairs),
        kappa_interval=_percentile_interval(kappas) if several else None,
        difference=sum(x - y for x, y in pairs) / len(pairs),
        difference_interval=_percentile_interval(differences) if several else None,
    )


def weighted_kappa(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Returns Cohen's kappa with linear weights; None if it is not defined.

    It is 1 minus the mean difference of the two marks of an answer, as a share of the mean
    difference between any mark of one person and any mark of the other.

    >>> round(weighted_kappa([(0, 0), (1, 1), (2, 2), (2, 1)]), 4)
    0.7143
    """
    cells, shares = _shares_of_cells(pairs)
    kappas = _kappas(cells, shares[None, :])
    return float(kappas[0]) if len(kappas) else None


def _shares_of_cells(pairs: Sequence[tuple[float, float]]) -> tuple[Numbers, Numbers]:
    """Returns the different *pairs*, and the share of each among all."""
    cells = sorted(set(pairs))
    return np.array(cells), np.array([pairs.count(cell) / len(pairs) for cell in cells])


def _kappas(cells: Numbers, samples: Numbers) -> Numbers:
    """Returns kappa of each of *samples*, rows of shares of *cells*, for which it is defined."""
    ones, others = cells.T
    observed = samples @ np.abs(ones - others)
    between = np.abs(ones[:, None] - others[None, :])
    expected = np.einsum("ni,ij,nj->n", samples, between, samples, optimize=True)
    defined = expected > _SAME
    return np.asarray(1 - observed[defined] / expected[defined])


def _resample(pairs: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Returns kappa and the mean difference of many samples of *pairs*, drawn with replacement."""
    cells, shares = _shares_of_cells(pairs)
    draws = np.random.default_rng(0).multinomial(len(pairs), shares, size=_RESAMPLES) / len(pairs)
    return _kappas(cells, draws).tolist(), (draws @ (cells[:, 0] - cells[:, 1])).tolist()


def _percentile_interval(values: Sequence[float]) -> ConfidenceInterval | None:
    """Returns the interval with the middle 95% of *values*; None if there are too few."""
    if len(values) < _RESAMPLES / 2:
        return None
    return ConfidenceInterval(*np.quantile(values, [0.025, 0.975]).tolist())
