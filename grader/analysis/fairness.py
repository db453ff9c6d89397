"""Tests whether students with some numbers or questions earned less than others.

Numbers are drawn at random for each student, so a class is a randomized experiment. If a value
makes a part neither harder nor easier, any assignment of the students' scores to the values was
equally likely. See `docs/explanation/statistics.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from grader.analysis.arrays import Numbers, Truths
from grader.analysis.comparisons import ClassComparisons, Comparison, FactorLevel, Score
from grader.analysis.graded_class import iter_graded, read_papers
from grader.analysis.permutation import (
    SECOND,
    benjamini_hochberg,
    find_largest_deviation,
    holm,
    interval_of_difference,
    noticeable_difference,
)
from grader.gradebook import Gradebook
from grader.model.grouping import group_by_key

FEWEST = 5
"""The fewest students for whom a value is compared."""
MOST_VALUES = 6
"""The most different numbers that are compared one by one; more are compared in thirds."""
ERROR_RATE = 0.05
"""The largest probability of any false finding in an exam."""
FALSE_SHARE = 0.2
"""The largest expected share of false findings among those that are worth a look."""
COARSE = 0.5
"""If a difference of this share of the points could be missed, a test says nothing."""


class ComparisonFinding(StrEnum):
    """What a comparison says."""

    DIFFERS = "differs"
    """With all comparisons of the exam considered, chance is an unlikely explanation."""
    PERHAPS = "perhaps"
    """Worth a look; several of these may be due to chance."""
    NO_SIGN = "no sign"
    """A considerable difference would probably have been noticed."""
    TOO_FEW = "too few students"
    """Neither fair nor unfair: a large difference could go unnoticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueComparison:
    """The scores of students with one value, compared with those of the others."""

    question: str
    """The part, or the questions that were drawn."""
    problem: str
    part: str
    what: str
    """What differs between students."""
    value: str
    """The value whose students' scores differ most."""
    students: tuple[str, ...]
    """The students with this value."""
    others: int
    mean: float
    """The mean share of the points that the students with this value earned."""
    mean_of_others: float
    max_points: float
    difference: float
    """Points that the value adds to a student's score, other things being equal; below 0, it
    costs."""
    low: float
    """The lower end of the 95% interval of the difference."""
    high: float
    eta_squared: float
    """The share of the scores' variance that the values explain."""
    p: float
    p_any: float
    """The probability of any such finding in the exam by chance (Holm)."""
    q: float
    """The expected share of false findings among those at least as clear (Benjamini-Hochberg)."""
    noticeable: float
    """Points that a value must cost to be noticed four times out of five."""
    finding: ComparisonFinding


@dataclass(frozen=True, slots=True)
class Fairness:
    """All comparisons of an exam, the clearest first."""

    students: int
    comparisons: tuple[ValueComparison, ...]
    too_few: tuple[tuple[str, str], ...]
    """What could not be compared: the part, and what differs."""


@dataclass(frozen=True, slots=True)
class _ComparisonArrays:
    """A comparison with its students, shares, and labels as arrays."""

    comparison: Comparison
    students: tuple[str, ...]
    shares: Numbers
    """The share of the points that each student earned."""
    adjusted_shares: Numbers
    """These shares without what the students' points for the other problems predict."""
    labels: tuple[str, ...]
    members: Truths
    """By student and label."""


def compare_variants(out: Path) -> Fairness:
    """Returns the comparisons for the results in *out*; raises SetupError without a release."""
    collected = ClassComparisons()
    with Gradebook.open(out) as book:
        papers = read_papers(book)
        for graded in iter_graded(book, papers):
            if graded.row.share is not None:
                collected.add(graded)
    return compare(collected)


def compare(collected: ClassComparisons) -> Fairness:
    """Returns the comparisons of a class."""
    # With shared versions, the rest of the paper depends on the version as well.
    individual = 2 * len(set(collected.seats.values())) > len(collected.seats)
    prepared, too_few = [], []
    for comparison in collected.merge():
        arrays = _to_arrays(comparison, collected.totals if individual else {})
        if arrays is None:
            too_few.append((comparison.question, " and ".join(comparison.names)))
        else:
            prepared.append(arrays)
    chance = ERROR_RATE / max(1, sum(len(arrays.labels) for arrays in prepared))
    # So many that a p-value can be small enough for this number of tests.
    second = max(SECOND, round(2 * len(prepared) / ERROR_RATE) - 1)
    tests = [
        find_largest_deviation(one.adjusted_shares, one.members, second=second) for one in prepared
    ]
    p_values = [test.p for test in tests]
    rows = zip(prepared, tests, holm(p_values), benjamini_hochberg(p_values), strict=True)
    compared = [_compare_level(one, test.group, test.p, p, q, chance) for one, test, p, q in rows]
    compared.sort(key=lambda comparison: (comparison.p, comparison.difference))
    return Fairness(len(collected.seats), tuple(compared), tuple(too_few))


def _to_arrays(
    comparison: Comparison, totals: Mapping[str, Mapping[str, Score]]
) -> _ComparisonArrays | None:
    """Returns the comparison as arrays; None if it has too few students, or equal scores."""
    students = tuple(comparison.scores)
    levels = _group_in_thirds([comparison.levels[id_] for id_ in students])
    different = {level for mine in levels for level in mine}
    labels = sorted(different, key=lambda level: (level.order is None, _order(level), level.label))
    members = np.array([[label in mine for label in labels] for mine in levels])
    sizes = members.sum(axis=0) if students else np.zeros(0)
    kept = (sizes >= FEWEST) & (sizes <= len(students) - FEWEST)
    shares = np.array(
        [comparison.scores[id_].points / comparison.scores[id_].maximum for id_ in students]
    )
    if not kept.any():
        return None
    rest = [_share_elsewhere(totals.get(id_, {}), comparison.excluded_problems) for id_ in students]
    return _ComparisonArrays(
        comparison=comparison,
        students=students,
        shares=shares,
        adjusted_shares=_residuals(shares, rest),
        labels=tuple(level.label for level, keep in zip(labels, kept, strict=True) if keep),
        members=members[:, kept],
    )


def _group_in_thirds(levels: Sequence[tuple[FactorLevel, ...]]) -> list[tuple[FactorLevel, ...]]:
    """Returns the levels; many different or rare numbers become a third of the class each."""
    counts = Counter(levels)
    numbers = [mine[0].order for mine in levels if len(mine) == 1 and mine[0].order is not None]
    rare = min(counts.values(), default=0) < FEWEST
    if len(numbers) < len(levels) or not (len(counts) > MOST_VALUES or rare):
        return list(levels)
    numbers.sort()
    cuts = [numbers[len(numbers) * third // 3] for third in (1, 2)]
    placed = [sum(_order(mine[0]) >= cut for cut in cuts) for mine in levels]
    groups = group_by_key((third, mine[0]) for third, mine in zip(placed, levels, strict=True))
    ranges = {third: _range_of(group) for third, group in groups.items()}
    return [(ranges[third],) for third in placed]


def _range_of(levels: Sequence[FactorLevel]) -> FactorLevel:
    low, high = min(levels, key=_order), max(levels, key=_order)
    label = low.label if low.label == high.label else f"{low.label} to {high.label}"
    return FactorLevel(label, low.order)


def _order(level: FactorLevel) -> float:
    return level.order or 0.0


def _share_elsewhere(
    points: Mapping[str, Score], excluded_problems: frozenset[str]
) -> float | None:
    """Returns the share of the points for problems not in *excluded_problems*; None if there
    are none."""
    others = [score for problem, score in points.items() if problem not in excluded_problems]
    maximum = sum(score.maximum for score in others)
    return sum(score.points for score in others) / maximum if maximum else None


def _residuals(shares: Numbers, rest: Sequence[float | None]) -> Numbers:
    """Returns *shares* without what the other problems predict, by linear regression."""
    known = [share for share in rest if share is not None]
    if len(known) < len(rest) or len(set(known)) < 2:
        return shares
    centered = np.array(known) - np.mean(known)
    adjusted: Numbers = shares - centered * (centered @ shares / (centered @ centered))
    return adjusted


def _compare_level(
    arrays: _ComparisonArrays, group: int, p: float, p_any: float, q: float, chance: float
) -> ValueComparison:
    """Returns the comparison of the students in *group*, who share a value, with the others."""
    mine = arrays.members[:, group]
    comparison = arrays.comparison
    points = float(np.mean([comparison.scores[id_].maximum for id_ in arrays.students]))
    low, high = interval_of_difference(arrays.adjusted_shares[mine], arrays.adjusted_shares[~mine])
    smallest = int(np.abs(arrays.members.mean(axis=0) - 0.5).argmax())
    size = int(arrays.members[:, smallest].sum())
    noticeable = noticeable_difference(arrays.adjusted_shares, size, chance=chance)
    return ValueComparison(
        question=comparison.question,
        problem=comparison.problem,
        part=comparison.part,
        what=" and ".join(comparison.names),
        value=arrays.labels[group],
        students=tuple(id_ for id_, has in zip(arrays.students, mine, strict=True) if has),
        others=int((~mine).sum()),
        mean=float(arrays.shares[mine].mean()),
        mean_of_others=float(arrays.shares[~mine].mean()),
        max_points=points,
        difference=points * (low + high) / 2,
        low=points * low,
        high=points * high,
        eta_squared=_eta_squared(arrays),
        p=p,
        p_any=p_any,
        q=q,
        noticeable=points * min(noticeable, 1.0),
        finding=_choose_finding(p_any, q, noticeable),
    )


def _eta_squared(arrays: _ComparisonArrays) -> float:
    """Returns the share of the variance that is between students with different values."""
    centered = arrays.adjusted_shares - arrays.adjusted_shares.mean()
    total = float(centered @ centered)
    if not total:
        return 0.0
    patterns, index = np.unique(arrays.members, axis=0, return_inverse=True)
    between = 0.0
    for pattern in range(len(patterns)):
        group = centered[index.reshape(-1) == pattern]
        between += len(group) * float(group.mean()) ** 2
    return between / total


def _choose_finding(p_any: float, q: float, noticeable: float) -> ComparisonFinding:
    """Returns what a comparison says, by its corrected p-values and what it could notice."""
    if p_any <= ERROR_RATE:
        return ComparisonFinding.DIFFERS
    if q <= FALSE_SHARE:
        return ComparisonFinding.PERHAPS
    return ComparisonFinding.NO_SIGN if noticeable <= COARSE else ComparisonFinding.TOO_FEW
