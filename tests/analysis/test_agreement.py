"""Agreement of two graders, against published numbers, and by definition."""

from __future__ import annotations

import random

import pytest

from grader.analysis.agreement import agreement, weighted_kappa
from grader.model.desk import PartId

PART = PartId("sample", "why")


def by_matrices(pairs: list[tuple[int, int]], categories: int) -> float:
    """Linear kappa from a table of counts, with agreement weights 1 - |i - j| / (k - 1)."""
    n, k = len(pairs), categories
    table = [[sum(pair == (i, j) for pair in pairs) / n for j in range(k)] for i in range(k)]
    rows = [sum(row) for row in table]
    columns = [sum(row[j] for row in table) for j in range(k)]
    weights = [[1 - abs(i - j) / (k - 1) for j in range(k)] for i in range(k)]
    cells = [(i, j) for i in range(k) for j in range(k)]
    observed = sum(weights[i][j] * table[i][j] for i, j in cells)
    expected = sum(weights[i][j] * rows[i] * columns[j] for i, j in cells)
    return (observed - expected) / (1 - expected)


def test_two_categories_give_the_unweighted_kappa() -> None:
    # 20 and 15 agreements, 5 and 10 disagreements: (0.7 - 0.5) / (1 - 0.5).
    pairs = [(1.0, 1.0)] * 20 + [(1.0, 0.0)] * 5 + [(0.0, 1.0)] * 10 + [(0.0, 0.0)] * 15
    assert weighted_kappa(pairs) == pytest.approx(0.4)


@pytest.mark.parametrize("seed", range(5))
def test_kappa_equals_the_one_of_the_weight_matrix(seed: int) -> None:
    dice = random.Random(seed)
    pairs = []
    for _ in range(40):
        first = dice.randrange(5)
        pairs.append((first, min(4, max(0, first + dice.choice([-1, 0, 0, 0, 1, 2])))))
    halves = [(x / 2, y / 2) for x, y in pairs]
    assert weighted_kappa(halves) == pytest.approx(by_matrices(pairs, 5))


def test_kappa_equals_the_one_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    dice = random.Random(1)
    pairs = [(dice.randrange(4), dice.randrange(4)) for _ in range(60)]
    ones, others = zip(*pairs, strict=True)
    known = metrics.cohen_kappa_score(ones, others, labels=range(4), weights="linear")
    assert weighted_kappa(pairs) == pytest.approx(known)


def test_extremes() -> None:
    assert weighted_kappa([(1, 1), (2, 2)]) == 1
    assert weighted_kappa([(0, 1), (1, 0)]) == -1
    assert weighted_kappa([(1, 1), (1, 1)]) is None


def test_a_strict_grader_shows_in_the_difference() -> None:
    pairs = [(1.0, 2.0)] * 10 + [(2.0, 3.0)] * 10 + [(3.0, 3.0)] * 10
    found = agreement(PART, ("gil", "hao"), pairs)
    assert found.count == 30
    assert found.exact == pytest.approx(1 / 3)
    assert found.difference == pytest.approx(-2 / 3)
    assert found.difference_interval is not None
    low, high = found.difference_interval
    # By the normal approximation: -2/3 +- 1.96 * sqrt(2/9 / 30).
    assert (low, high) == pytest.approx((-0.835, -0.498), abs=0.04)
    assert found.kappa_interval is not None
    assert found.kappa is not None
    assert found.kappa_interval[0] < found.kappa < found.kappa_interval[1]


def test_one_answer_has_no_interval() -> None:
    found = agreement(PART, ("gil", "hao"), [(1.0, 2.0)])
    assert found.difference == -1
    assert found.kappa_interval is None
    assert found.difference_interval is None


def test_intervals_of_kappa_contain_the_truth_about_as_often_as_stated() -> None:
    dice, hits = random.Random(7), 0
    every = [(x, y) for x in range(4) for y in range(4) for _ in range(9 if x == y else 1)]
    truth = weighted_kappa(every)
    assert truth is not None
    for _ in range(100):
        found = agreement(PART, ("a", "b"), dice.choices(every, k=60)).kappa_interval
        assert found is not None
        hits += found[0] <= truth <= found[1]
    assert 88 <= hits <= 100
