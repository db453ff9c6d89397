"""Difficulty, discrimination, and reliability, against second computations and simulations."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from grader.report.statistics.distributions import f_quantile, incomplete_beta
from grader.report.statistics.intervals import alpha_interval, correlation_interval, mean_interval
from grader.report.statistics.items import correlation, thirds
from grader.report.statistics.reliability import reliability

# Tables of the F distribution, such as those of the NIST/SEMATECH handbook.
F_TABLE = [
    (0.95, 1, 10, 4.965),
    (0.95, 5, 10, 3.326),
    (0.95, 10, 100, 1.927),
    (0.99, 2, 20, 5.849),
    (0.975, 1, 1, 647.789),
    (0.90, 3, 7, 3.074),
]


@pytest.mark.parametrize(("share", "above", "below", "known"), F_TABLE)
def test_quantiles_are_those_of_published_tables(
    share: float, above: int, below: int, known: float
) -> None:
    assert f_quantile(share, above, below) == pytest.approx(known, rel=3e-4)


@pytest.mark.parametrize(("share", "above", "below"), [(0.025, 30, 270), (0.975, 199, 3781)])
def test_quantiles_are_those_of_simulated_ratios(share: float, above: int, below: int) -> None:
    dice = np.random.default_rng(7)
    ratios = dice.chisquare(above, 400_000) / above / (dice.chisquare(below, 400_000) / below)
    assert float(np.mean(ratios < f_quantile(share, above, below))) == pytest.approx(
        share, abs=0.002
    )


def test_the_incomplete_beta_function_is_a_binomial_tail() -> None:
    """For whole numbers, it is the probability of at least a successes among a + b - 1."""
    for a, b, x in [(1, 1, 0.3), (3, 5, 0.2), (20, 4, 0.9), (7, 30, 0.15)]:
        n = a + b - 1
        tail = sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))
        assert incomplete_beta(a, b, x) == pytest.approx(tail, rel=1e-12)
    assert incomplete_beta(2, 3, 0.0) == 0.0
    assert incomplete_beta(2, 3, 1.0) == 1.0


def simulated(
    dice: np.random.Generator, students: int, items: int, signal: float = 1.0
) -> np.ndarray:
    """Points of a class by classical test theory: a true score plus an error for each item."""
    truth = dice.normal(0, signal, (students, 1))
    return truth + dice.normal(0, 1, (students, items)) + dice.normal(0, 1, (1, items))


def test_alpha_is_the_mean_covariance_over_the_mean_variance() -> None:
    points = simulated(np.random.default_rng(1), 40, 7)
    cov = np.cov(points.T)
    k = len(cov)
    between = (cov.sum() - np.trace(cov)) / (k * (k - 1))
    expected = k * between / (np.trace(cov) / k + (k - 1) * between)
    found = reliability(points.tolist())
    assert found is not None
    assert found.alpha == pytest.approx(expected, rel=1e-9)
    spread = float(np.std(points.sum(axis=1), ddof=1))
    assert found.error == pytest.approx(spread * math.sqrt(1 - expected), rel=1e-9)
    assert (found.students, found.items) == (40, 7)


def test_alpha_finds_the_known_reliability_of_simulated_classes() -> None:
    dice = np.random.default_rng(3)
    known = 8 / (8 + 1)  # eight items, each with as much error as truth
    found = reliability(simulated(dice, 5000, 8).tolist())
    assert found is not None
    assert found.alpha == pytest.approx(known, abs=0.01)
    assert found.error == pytest.approx(math.sqrt(8), rel=0.05)


def test_there_is_no_reliability_without_items_students_or_differences() -> None:
    assert reliability([]) is None
    assert reliability([[1, 2], [2, 1]]) is None
    assert reliability([[1], [2], [3]]) is None
    assert reliability([[1, 2], [2, 1], [0, 3]]) is None


def test_a_negative_alpha_makes_all_of_the_variance_error() -> None:
    rows = [[0, 3], [3, 0], [1, 3], [3, 1], [0, 2]]
    found = reliability(rows)
    assert found is not None
    assert found.alpha < 0
    assert found.error == pytest.approx(float(np.std([sum(row) for row in rows], ddof=1)))


def test_intervals_stay_within_what_is_possible() -> None:
    low, high = mean_interval(0.0, 12)
    assert low == 0
    assert 0.1 < high < 0.4
    low, high = mean_interval(1.0, 12)
    assert 0.6 < low < 0.9
    assert high == 1
    assert mean_interval(0.5, 0) is None
    assert correlation_interval(0.5, 3) is None
    assert correlation_interval(1.0, 9) == (1.0, 1.0)
    low, high = alpha_interval(0.8, 30, 10)
    assert low < 0.8 < high < 1


def test_thirds_do_not_depend_on_the_order_of_equal_students() -> None:
    dice = random.Random(5)
    pairs = [(float(dice.random() < 0.5), float(dice.randrange(4))) for _ in range(30)]
    seen = set()
    for _ in range(5):
        dice.shuffle(pairs)
        found = thirds([value for value, _ in pairs], [rest for _, rest in pairs])
        assert found is not None
        seen.add((round(found.lowest, 12), round(found.highest, 12)))
    assert len(seen) == 1


def test_thirds_are_the_means_of_the_outer_thirds() -> None:
    values = [0, 0, 1, 1, 1, 1, 1, 0, 1]
    found = thirds(values, [1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert found == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert thirds(values[:8], range(8)) is None
    assert thirds(values, [1.0] * 9) is None


COVERAGE = (0.935, 0.965)
"""Of 4000 intervals, whose share that covers the truth has a standard error of 0.0034."""


@pytest.mark.slow
def test_intervals_of_alpha_and_correlations_cover_the_truth() -> None:
    dice = np.random.default_rng(11)
    known = 5 * 0.5**2 / (5 * 0.5**2 + 1)
    alphas = correlations = 0
    for _ in range(4000):
        found = reliability(simulated(dice, 25, 5, signal=0.5).tolist())
        assert found is not None
        alphas += found.interval.low <= known <= found.interval.high
        one, other = dice.multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]], 25).T
        pearson = correlation(one.tolist(), other.tolist())
        assert pearson is not None
        low, high = correlation_interval(pearson, 25) or (1, -1)
        correlations += low <= 0.4 <= high
    assert COVERAGE[0] < alphas / 4000 < COVERAGE[1]
    assert COVERAGE[0] < correlations / 4000 < COVERAGE[1]


@pytest.mark.thorough
@pytest.mark.parametrize("share", [0.1, 0.5, 0.85])
def test_intervals_of_means_cover_the_truth(share: float) -> None:
    """Averaged over class sizes, since the coverage for one size jumps up and down."""
    dice = np.random.default_rng(13)
    covered = partly = 0
    for _ in range(4000):
        count = int(dice.integers(15, 80))
        low, high = mean_interval(float(dice.binomial(count, share)) / count, count) or (1, 0)
        covered += low <= share <= high
        # Part credit around the same mean.
        marks = dice.beta(2 * share, 2 * (1 - share), count)
        low, high = mean_interval(float(marks.mean()), count) or (1, 0)
        partly += low <= share <= high
    assert COVERAGE[0] < covered / 4000 < COVERAGE[1]
    assert partly / 4000 > 0.95
