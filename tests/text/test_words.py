"""Counts with their nouns, and points, as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.text.words import count_of, points


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 students"), (1, "1 student"), (2, "2 students")]
)
def test_a_count_agrees_with_its_noun(number, text):
    assert count_of(number, "student") == text


def test_a_count_takes_a_verb_and_an_odd_plural():
    assert count_of(1, "part is", "parts are") == "1 part is"
    assert count_of(0, "part is", "parts are") == "0 parts are"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (10 / 3, "3.33"), (22.666667, "22.67"), (30.016667, "30.02"), (9.999999, "10"),
        (2.0, "2"), (1.5, "1.5"), (0.125, "0.13"), (2.675, "2.68"), (0.0, "0"), (-0.0, "0"),
        (1e-9, "0"), (None, ""), (44, "44"), (1e15, "1000000000000000"),
    ],
)  # fmt: skip
def test_points_have_two_decimals_at_most(number, text):
    assert points(number) == text


@given(st.floats(0, 1e6))
def test_what_is_shown_is_within_half_a_hundredth(number):
    shown = points(number)
    assert abs(float(shown) - number) <= 0.005 + 1e-9
    assert len(shown.partition(".")[2]) <= 2
