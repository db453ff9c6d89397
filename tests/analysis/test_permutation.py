"""Permutation tests and their corrections: their p-values are what they claim to be."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from grader.analysis.permutation import (
    benjamini_hochberg,
    find_largest_deviation,
    holm,
    interval_of_difference,
    noticeable_difference,
)
from grader.report.statistics.distributions import f_quantile


def two_groups(first: int, count: int) -> np.ndarray:
    return np.array([[i < first, i >= first] for i in range(count)])


def test_the_p_value_is_that_of_all_permutations() -> None:
    values = np.array([0.0, 0.2, 0.1, 0.9, 0.5, 1.0, 0.3])
    groups = two_groups(3, 7)
    seen = abs(values[:3].mean() - values[3:].mean())
    every = [np.array(p) for p in permutations(values)]
    exact = np.mean([abs(p[:3].mean() - p[3:].mean()) >= seen - 1e-12 for p in every])
    found = find_largest_deviation(values, groups)
    assert abs(found.p - exact) < 4 * math.sqrt(exact * (1 - exact) / 999)


def test_a_p_value_is_never_zero_and_reaches_the_resolution_of_many_permutations() -> None:
    values = np.array([0.0] * 20 + [1.0] * 20)
    assert find_largest_deviation(values, two_groups(20, 40)).p == pytest.approx(1 / 20_000)


def test_equal_scores_say_nothing() -> None:
    assert find_largest_deviation(np.ones(20), two_groups(10, 20)).p == 1


def test_the_group_that_differs_is_named() -> None:
    random = np.random.default_rng(1)
    group = np.arange(100) % 5
    values = random.random(100) - 0.9 * (group == 3)
    assert find_largest_deviation(values, group[:, None] == np.arange(5)).group == 3


def test_groups_may_overlap() -> None:
    """A student with several problems of a pool is in several groups."""
    random = np.random.default_rng(2)
    members = random.random((200, 6)) < 0.5
    values = random.random(200) - 0.4 * members[:, 2]
    found = find_largest_deviation(values, members)
    assert (found.group, found.p < 0.001) == (2, True)


@pytest.mark.thorough
def test_p_values_are_uniform_without_an_effect() -> None:
    random = np.random.default_rng(3)
    group = np.arange(60) % 4
    found = []
    for _ in range(600):
        values = (random.random(60) < 0.7).astype(float)
        found.append(find_largest_deviation(values, group[:, None] == np.arange(4)).p)
    for level in (0.01, 0.05, 0.2):
        error = math.sqrt(level * (1 - level) / len(found))
        assert np.mean(np.array(found) <= level) <= level + 3 * error


def test_corrections_of_one_p_value_change_nothing() -> None:
    assert holm([0.2]) == benjamini_hochberg([0.2]) == [0.2]
    assert holm([]) == benjamini_hochberg([]) == []


def test_corrected_p_values_keep_the_order() -> None:
    p = [0.04, 0.001, 0.03, 0.5, 0.03]
    for corrected in (holm(p), benjamini_hochberg(p)):
        assert all(a <= b for a, b in zip(p, corrected, strict=True))
        assert [corrected[i] for i in np.argsort(p, kind="stable")] == sorted(corrected)


@pytest.mark.parametrize(
    ("degrees", "table"), [(4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)]
)
def test_quantiles_of_t_agree_with_the_tables(degrees: int, table: float) -> None:
    assert f_quantile(0.95, 1, degrees) == pytest.approx(table**2, rel=0.001)


@pytest.mark.thorough
def test_intervals_cover_the_difference() -> None:
    random = np.random.default_rng(4)
    covered = 0
    for _ in range(2000):
        low, high = interval_of_difference(random.normal(0.3, 1, 8), random.normal(0, 2, 40))
        covered += low <= 0.3 <= high
    assert 0.935 <= covered / 2000 <= 0.965


@pytest.mark.slow
def test_a_noticeable_difference_is_noticed_four_times_out_of_five() -> None:
    random, noticed = np.random.default_rng(5), 0
    group = np.arange(100) < 30
    for _ in range(200):
        values = random.normal(0, 1, 100)
        shift = noticeable_difference(values, 30, chance=0.05)
        found = find_largest_deviation(values + shift * group, group[:, None])
        noticed += found.p <= 0.05
    assert 0.7 <= noticed / 200 <= 0.9
