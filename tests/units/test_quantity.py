"""Quantities: arithmetic that keeps dimensions apart, and nothing that depends on the unit."""

from __future__ import annotations

import pickle
from operator import add, ge, gt, le, lt, sub
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.units.quantity import (
    MAX_EXPONENT,
    ONE,
    DimensionError,
    Quantity,
    base_unit,
    describe_dimension,
    dimension_of,
)

SIZE = (1, 0, 0, 0, 0, 0, 0, 0)
TIME = (0, 0, 0, 0, 0, 1, 0, 0)
BANDWIDTH = (1, 0, 0, 0, 0, -1, 0, 0)

magnitudes = st.integers(-(10**9), 10**9)
dimensions = st.tuples(*[st.integers(-3, 3)] * 8).filter(lambda d: d != ONE)
quantities = st.builds(Quantity, magnitudes, dimensions)


def bits(n: float) -> Quantity:
    return Quantity(n, SIZE)


def seconds(n: float) -> Quantity:
    return Quantity(n, TIME)


def test_a_size_over_a_time_is_a_bandwidth() -> None:
    assert bits(80) / seconds(2) == Quantity(40.0, BANDWIDTH)
    assert Quantity(40, BANDWIDTH) * seconds(2) == bits(80)
    assert bits(80) / Quantity(40, BANDWIDTH) == seconds(2)


def test_a_cancelled_dimension_leaves_a_plain_number() -> None:
    assert bits(80) / bits(16) == 5
    assert type(bits(80) / bits(16)) is float
    assert type(bits(80) * (1 / bits(16))) is float
    assert bits(2) ** 0 == 1
    assert bits(80) // bits(32) == 2


def test_whole_numbers_stay_exact() -> None:
    huge: Any = bits(2**60 + 1) * 3
    assert huge.magnitude == 3 * (2**60 + 1)
    assert type(huge.magnitude) is int


@pytest.mark.parametrize("operate", [add, sub, lt, le, gt, ge], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (bits(1), seconds(1)),
        (bits(1), 1),
        (1, bits(1)),
        (bits(1), "1"),
        (bits(1), True),
        (bits(1), None),
    ],
)
def test_different_dimensions_do_not_mix(operate, one, other) -> None:
    with pytest.raises(DimensionError, match="can't"):
        operate(one, other)


def test_the_error_says_what_was_mixed() -> None:
    with pytest.raises(DimensionError, match=r"^can't add a size and a time$"):
        bits(1) + seconds(1)
    with pytest.raises(DimensionError, match=r"^can't compare a size with a plain number$"):
        assert bits(1) < 5


def test_zero_is_comparable_in_every_unit() -> None:
    assert bits(1) > 0
    assert not bits(1) <= 0
    assert bits(-1) < 0
    assert not bits(0)


def test_equality_ignores_the_unit_it_was_written_in() -> None:
    assert Quantity(8, SIZE, "B") == Quantity(8.0, SIZE, "bit")
    assert hash(Quantity(8, SIZE, "B")) == hash(Quantity(8.0, SIZE))
    assert Quantity(8, SIZE) != Quantity(8, TIME)
    assert Quantity(8, SIZE) != 8


@pytest.mark.parametrize("round_off", [round, int, float, lambda q: q // 2, lambda q: q % 2])
def test_what_depends_on_the_unit_is_refused(round_off) -> None:
    with pytest.raises((DimensionError, TypeError)):
        round_off(bits(7.5))


def test_the_remainder_of_two_sizes_is_a_size() -> None:
    assert bits(7) % bits(4) == bits(3)
    with pytest.raises(ZeroDivisionError):
        bits(7) % bits(0)


def test_a_root_undoes_a_power() -> None:
    assert (bits(9) ** 2) ** 0.5 == bits(9)
    with pytest.raises(DimensionError, match=r"power 0.5"):
        bits(9) ** 0.5
    with pytest.raises(DimensionError, match="negative"):
        (-(bits(3) ** 2)) ** 0.5


@pytest.mark.parametrize("exponent", [bits(1), "2", None, True, float("inf"), float("nan")])
def test_an_exponent_is_a_plain_finite_number(exponent) -> None:
    with pytest.raises(DimensionError):
        bits(2) ** exponent


def test_powers_of_a_dimension_are_bounded() -> None:
    assert dimension_of(bits(1) ** MAX_EXPONENT)[0] == MAX_EXPONENT
    with pytest.raises(DimensionError, match="exponent of a unit"):
        bits(1) ** (MAX_EXPONENT + 1)
    with pytest.raises(DimensionError, match="exponent of a unit"):
        bits(1) ** MAX_EXPONENT * bits(1)


def test_a_sign_keeps_the_unit_for_printing_and_other_arithmetic_drops_it() -> None:
    written = Quantity(-8, SIZE, "B")
    assert (-written).unit == "B"
    doubled: Any = written * 2
    assert doubled.unit is None


@pytest.mark.parametrize("operate", [add, sub])
def test_text_is_never_multiplied_or_added(operate) -> None:
    with pytest.raises((DimensionError, TypeError)):
        operate("text", bits(3))
    with pytest.raises(TypeError):
        bits(3) * "text"
    with pytest.raises(TypeError):
        bits(3) / True


def test_a_quantity_survives_a_process_boundary() -> None:
    sent = Quantity(8, SIZE, "B")
    back = pickle.loads(pickle.dumps(sent))
    assert (back, back.unit) == (sent, "B")


@given(quantities, quantities)
def test_products_and_quotients_add_and_subtract_exponents(a, b) -> None:
    product = a * b
    summed = tuple(x + y for x, y in zip(a.dimension, b.dimension, strict=True))
    assert dimension_of(product) == summed
    if b.magnitude:
        quotient = a / b
        less = tuple(x - y for x, y in zip(a.dimension, b.dimension, strict=True))
        assert dimension_of(quotient) == less


@given(quantities, magnitudes)
def test_sums_keep_the_dimension_and_undo_each_other(a, n) -> None:
    b = Quantity(n, a.dimension)
    assert (a + b) - b == a
    assert (a + b).dimension == a.dimension
    assert a + b == b + a
    assert (a < b) is (a.magnitude < n)


@given(quantities, st.integers(1, 10**6))
def test_scaling_by_a_plain_number_keeps_the_dimension(a, n) -> None:
    assert (a * n).dimension == (n * a).dimension == (a / n).dimension == a.dimension
    assert a * n == n * a


def test_dimensions_are_described_in_words() -> None:
    assert describe_dimension(SIZE) == "a size"
    assert describe_dimension(ONE) == "a plain number"
    odd = (1, 0, -1, 0, 0, 2, 0, -2)
    assert describe_dimension(odd) == "a quantity in bit·s²/token/USD²"
    assert base_unit(ONE) == ""
    assert base_unit((0, 0, 0, 0, 0, -1, 0, 0)) == "1/s"


def test_to_the_right_of_a_plain_number_a_quantity_is_refused_by_name() -> None:
    with pytest.raises(DimensionError, match="can't subtract a size and a plain number"):
        8 - bits(8)
    with pytest.raises(DimensionError, match="can't floor-divide a plain number by a size"):
        8 // bits(8)
    with pytest.raises(DimensionError, match="can't divide a size by a plain number"):
        bits(8) % 8
    with pytest.raises(DimensionError, match="an exponent must be a plain number"):
        2 ** bits(8)
    with pytest.raises(TypeError):
        "8" / bits(8)
