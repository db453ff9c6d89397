"""Tolerance: from a key to what is accepted, at zero, below zero and at the ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from grader import units
from grader.kinds.numeric import NumericKey, NumericKind
from grader.kinds.texts import scope_with
from grader.kinds.tolerance import AcceptedInterval, accepted_interval, is_within, scale_interval
from grader.model import Tolerance
from grader.model.spec import parse_share
from grader.units.quantity import Value
from tests.helpers.kinds import a_draw, a_key, a_numeric, judged


def accepts(interval: AcceptedInterval, value: float) -> bool:
    return is_within(value, interval.low, interval.high)


def accepted(key: float, **rule: Any) -> AcceptedInterval:
    """The interval for a key in GB."""
    return accepted_interval(
        key,
        Tolerance(**rule),
        unit="GB",
        draw=a_draw(),
        compute=lambda _: key,
    )


def ends(key: float, **rule: Any) -> tuple[float, float]:
    found = accepted(key, **rule)
    return found.low, found.high


keys = st.floats(min_value=-1e12, max_value=1e12).filter(lambda x: x == 0 or abs(x) > 1e-9)


@pytest.mark.parametrize(
    ("rule", "low", "high"),
    [
        ({"relative": 0.02}, 27.44, 28.56),
        ({"absolute": 0.5}, 27.5, 28.5),
        ({"absolute": "500 * MB"}, 27.5, 28.5),
        ({"significant_figures": 1}, 23, 33),
        ({"significant_figures": 3}, 27.95, 28.05),
        ({"factor": 2}, 14, 56),
        ({"relative": 0.01, "absolute": 2}, 26, 30),
        ({}, 27.72, 28.28),
    ],
)
def test_each_rule_has_its_interval(rule: Mapping[str, Any], low: float, high: float) -> None:
    assert ends(28, **rule) == pytest.approx((low, high), rel=1e-12)


@pytest.mark.parametrize(
    "rule", [{"relative": 0.05}, {"absolute": 3}, {"significant_figures": 2}, {"factor": 4}]
)
@given(key=keys)
def test_a_negative_key_is_the_mirror_image_of_a_positive_one(
    rule: Mapping[str, Any], key: float
) -> None:
    low, high = ends(key, **rule)
    assert ends(-key, **rule) == pytest.approx((-high, -low))


@pytest.mark.parametrize("rule", [{"relative": 0.5}, {"significant_figures": 1}, {"factor": 10}])
def test_what_is_relative_has_no_width_at_zero(rule: Mapping[str, Any]) -> None:
    found = accepted(0, **rule)
    assert (found.low, found.high) == (0, 0)
    assert accepts(found, 0)
    assert not accepts(found, 1e-300)
    assert "0" in found.reason


def test_an_absolute_distance_keeps_its_width_at_zero() -> None:
    assert ends(0, absolute=0.5, relative=0.01) == (-0.5, 0.5)


@given(key=keys, factor=st.floats(1.001, 1e3))
def test_a_factor_never_crosses_zero(key: float, factor: float) -> None:
    low, high = ends(key, factor=factor)
    assert low * high >= 0
    assert accepts(accepted(key, factor=factor), key)


@given(key=keys, width=st.floats(1e-6, 0.5))
def test_the_ends_belong_to_the_interval_however_they_were_computed(
    key: float, width: float
) -> None:
    assume(key != 0)
    found = accepted(key, relative=width)
    for end in (key * (1 + width), key * (1 - width), key + width * key, key - width * key):
        assert accepts(found, end)
    assert not accepts(found, key * (1 + 1.01 * width))
    assert not accepts(found, key * (1 - 1.01 * width))


@given(key=keys, figures=st.integers(1, 12))
def test_the_key_rounded_to_the_figures_asked_is_accepted(key: float, figures: int) -> None:
    assert accepts(accepted(key, significant_figures=figures), float(f"{key:.{figures - 1}e}"))


@given(key=st.integers(10**6, 10**40), off=st.integers(1, 1000))
def test_whole_numbers_are_compared_exactly_however_large(key: int, off: int) -> None:
    assert is_within(key, key, key)
    assert not is_within(key + off, key, key)
    assert not is_within(key - off, key, key)


def test_a_large_key_with_a_small_absolute_distance_is_not_blurred() -> None:
    key = 16e9
    assert accepts(accepted(key, absolute=0.5), key + 0.5)
    assert not accepts(accepted(key, absolute=0.5), key + 0.6)


@given(key=keys, centre=keys, width=st.floats(1e-4, 0.9))
def test_an_interval_keeps_its_relative_width_around_another_value(
    key: float, centre: float, width: float
) -> None:
    assume(key != 0)
    low, high = scale_interval(accepted(key, relative=width), key, centre)
    assert (low, high) == pytest.approx(
        (centre - width * abs(centre), centre + width * abs(centre)), rel=1e-6
    )


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"relative": 0.025}, "within 2.5% of the key"),
        ({"absolute": "500 * MB"}, "within 0.5 GB of the key"),
        ({"significant_figures": 3}, "the key to 3 significant figures"),
        ({"factor": 2}, "within a factor of 2 of the key"),
        ({"absolute": 0}, "an exact value is required"),
        ({"relative": 0.01, "absolute": 2}, "within 2 GB of the key"),
        (
            {"relative": 0.05, "because": "kernels vary between drivers."},
            "within 5% of the key; kernels vary between drivers",
        ),
    ],
)
def test_the_reason_names_the_rule_that_counts(rule: Mapping[str, Any], reason: str) -> None:
    assert accepted(28, **rule).reason == reason


def test_two_rules_that_each_reach_further_on_one_side_are_both_named() -> None:
    found = accepted(28, factor=2, absolute=20)
    assert (found.low, found.high) == (8, 56)
    assert found.reason == "within 20 GB of the key or within a factor of 2 of the key"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"factor": 1}, "more than 1"),
        ({"factor": -2}, "more than 1"),
        ({"significant_figures": 0}, "at least 1"),
        ({"absolute": -1}, "at least 0"),
        ({"absolute": "1 * s"}, "size"),
        ({"input_rounding": ("no_such_name",)}, "no_such_name"),
    ],
)
def test_a_tolerance_that_makes_no_sense_is_refused(rule: Mapping[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        accepted(28, **rule)


def a_rounded_key(
    rounding: object, answer: str = "weights / bandwidth", **scope: Any
) -> NumericKey:
    part = a_numeric(answer=answer, unit="ms", tolerance=Tolerance(input_rounding=rounding))  # type: ignore[arg-type]
    return a_key(part, **scope)


def test_rounded_inputs_are_moved_by_half_their_last_printed_digit() -> None:
    key = a_rounded_key(("bandwidth",))
    # 3.35 TB/s is printed with two decimals, so it lies between 3.345 and 3.355.
    assert key.low == pytest.approx(14 / 3.355)
    assert key.high == pytest.approx(14 / 3.345)
    assert key.reason == "bandwidth is given to the nearest 0.01 TB/s"


def test_the_moves_of_several_rounded_inputs_add_up() -> None:
    one, other = a_rounded_key(("bandwidth",)), a_rounded_key(("weights",))
    both = a_rounded_key(("bandwidth", "weights"))
    assert both.high - both.value == pytest.approx(one.high + other.high - 2 * both.value)
    assert both.value - both.low == pytest.approx(2 * both.value - one.low - other.low)
    assert "weights is given to the nearest 1 GB" in both.reason
    assert "bandwidth" in both.reason


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        ("us", "within 1 µs of"),
        ("%", "within 1 percentage point of"),
        ("Gparam", "within 1 billion"),
    ],
)
def test_a_distance_is_told_in_a_printed_unit(unit: str, reason: str) -> None:
    answer = {"us": "50 * us", "%": 0.5, "Gparam": "50 * Gparam"}[unit]
    part = a_numeric(answer=answer, unit=unit, tolerance=Tolerance(absolute=1))
    assert a_key(part).reason.startswith(reason)


def test_the_half_width_of_an_input_may_be_given() -> None:
    for half in ("0.1", "100 * GB / s", 0.1):
        key = a_rounded_key({"bandwidth": half})
        assert key.high == pytest.approx(14 / 3.25)


def test_an_answer_with_a_peak_between_the_moves_is_still_accepted() -> None:
    key = a_rounded_key(("gpus",), answer="(gpus - 16) ** 2 * ms")
    assert (key.value, key.low, key.high) == (0, 0, 0.25)


def test_values_computed_from_a_rounded_input_move_with_it() -> None:
    scope: dict[str, Value] = {**a_draw().scope, "billions": 7, "state": units.quantity(112, "GB")}
    draw = replace(a_draw(), scope=scope, values={"state": "16 * GB * billions"})
    part = a_numeric(answer="state", tolerance=Tolerance(input_rounding=("billions",)))
    key = NumericKind().key(part, draw)
    assert (key.value, key.low, key.high) == (112, 104, 120)


def test_a_students_earlier_answer_stays_when_an_input_moves() -> None:
    part = replace(
        a_numeric(answer="earlier * gpus", tolerance=Tolerance(input_rounding=("gpus",))),
        uses=("earlier",),
    )
    key: NumericKey = a_key(part, earlier=units.quantity(2, "GB"))
    assert (key.low, key.high) == (31, 33)


@given(value=st.floats(0.8, 0.95))
def test_a_number_is_right_exactly_between_the_ends(value: float) -> None:
    key = a_key(a_numeric(slips=False))
    assume(min(abs(value - 0.86625), abs(value - 0.88375)) > 1e-8)
    assert (judged(key, value).share == 1) == (0.86625 < value < 0.88375)


@pytest.mark.parametrize(
    ("written", "value"), [("25%", 0.25), ("2.5 %", 0.025), (0.5, 0.5), (1, 1.0), ("0.1", 0.1)]
)
def test_a_share_is_a_number_or_a_percentage(written: str | float, value: float) -> None:
    assert parse_share(written) == value


@pytest.mark.parametrize("written", ["25", 25, -0.1, "-5%", "half", "%", "", "nan", "inf%"])
def test_what_is_no_share_is_refused(written: str | float) -> None:
    with pytest.raises(ValueError, match="share"):
        parse_share(written)


def test_around_another_center_an_interval_keeps_its_relative_width() -> None:
    assert scale_interval(AcceptedInterval(9.0, 12.0, ""), 10.0, -20.0) == (-24.0, -18.0)
    assert scale_interval(AcceptedInterval(10.0, 10.0, ""), 10.0, 7.0) == (7.0, 7.0)
    # Around zero there is no relative width, so the absolute one stays.
    assert scale_interval(AcceptedInterval(-1.0, 2.0, ""), 0.0, 5.0) == (4.0, 7.0)


def test_in_another_scope_values_follow_but_what_is_changed_stays() -> None:
    draw = replace(a_draw(), values={"half": "gpus / 2", "quarter": "half / 2"})
    found = [scope_with(draw, changed) for changed in ({"gpus": 8}, {"gpus": 8, "half": 3})]
    assert [(one["half"], one["quarter"]) for one in found] == [(4, 2), (3, 1.5)]
