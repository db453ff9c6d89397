"""Numbers: how they are read, in which order they are judged, and what is said to them."""

from __future__ import annotations

import decimal
import fractions
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import units
from grader.expressions import ExpressionError, TextError
from grader.kinds import kinds
from grader.kinds.numeric import NumericKey, NumericKind
from grader.model import Mistake, Tolerance, Verdict
from tests.helpers.kinds import (
    NOT_SHARDED,
    a_key,
    a_numeric,
    an_integer,
    is_blank,
    judged,
    refused,
    refused_raw,
    said,
)

KEY = a_key(a_numeric())
NUMERIC, INTEGER = kinds.find("numeric"), kinds.find("integer")


@pytest.mark.parametrize(
    "answer",
    [
        0.875,
        np.float32(0.875),
        np.float64(0.875),
        np.array(0.875),
        decimal.Decimal("0.875"),
        fractions.Fraction(7, 8),
        "0.875",
        "0.875 GB",
        "875 MB",
        "875e6 B",
        "7 Gb",
        "0.8149 GiB",
        "7/8 GB",
    ],
)
def test_every_way_to_write_the_number_is_right(answer: object) -> None:
    assert judged(KEY, answer).verdict is Verdict.CORRECT


def test_a_torch_scalar_is_a_number() -> None:
    torch = pytest.importorskip("torch")
    assert judged(KEY, torch.tensor(0.875)).verdict is Verdict.CORRECT
    assert "shape (1,)" in refused(KEY, torch.tensor([0.875]))


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (28, "28 GB"),
        (28.0, "28 GB"),
        ("26.1 GiB", "28.0247 GB"),
        ("1,200 MB", "1.2 GB"),
        ("224 Gb", "28 GB"),
        ("1.2e9 B", "1.2 GB"),
        (1 / 3, "0.333333 GB"),
        (10**18, "1000000000000000000 GB"),
    ],
)
def test_the_answer_is_said_back_in_the_unit_asked(answer: object, shown: str) -> None:
    assert said(KEY, answer) == shown


def refusals() -> dict[str, str]:
    answers: dict[str, Any] = {
        "nan": math.nan,
        "inf": math.inf,
        "minus inf": -math.inf,
        "complex": 1 + 2j,
        "bool": True,
        "none": None,
        "ellipsis": ...,
        "huge": 10**4999,
        "one element": np.zeros(1),
        "matrix": np.zeros((2, 3)),
        "list": [28, 29],
        "dict": {"GB": 28},
        "set": {28},
        "function": len,
        "object": KEY,
        "words": "about 28",
        "dimension": "28 GB/s",
        "comma": "28,5",
        "empty": "",
        "long": "9" * 3000,
    }
    return {name: refused(KEY, answer) for name, answer in answers.items()}


def test_everything_that_is_no_number_has_a_sentence_of_its_own() -> None:
    sentences = refusals()
    assert len(set(sentences.values())) == len(sentences)
    for name, sentence in sentences.items():
        assert re.fullmatch(r"[A-Z'].*\.", sentence), (name, sentence)
        assert "GB" in sentence or name in {"ellipsis", "empty", "comma"}, sentence


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("nan", "NaN"),
        ("minus inf", "minus infinity"),
        ("complex", "(1+2j)"),
        ("bool", "the truth value True"),
        ("none", "None"),
        ("huge", "5000 digits"),
        ("one element", ".item()"),
        ("matrix", "(2, 3)"),
        ("list", "list with 2"),
        ("function", "call it"),
        ("object", "NumericKey"),
        ("dimension", "bandwidth"),
        ("long", "3,000 characters"),
    ],
)
def test_a_refusal_says_what_was_seen(name: str, part: str) -> None:
    assert part in refusals()[name]


def test_only_what_was_left_as_it_was_counts_as_no_answer() -> None:
    assert is_blank(KEY, ...)
    assert is_blank(KEY, "  ")
    others: tuple[object, ...] = (None, math.nan, "?", [], 0)
    assert not any(is_blank(KEY, x) for x in others)


def test_text_from_the_student_is_shortened_and_stays_in_one_line() -> None:
    sentence = refused(a_key(an_integer()), "x\n\x1b[2J" * 20)
    assert "\n" not in sentence
    assert len(sentence) < 200


@pytest.mark.parametrize("raw", [{"t": "int", "digits": 5000}, {"t": "int", "v": "1" * 400}])
def test_a_huge_integer_is_refused_however_the_kernel_sends_it(raw: dict[str, Any]) -> None:
    assert "too large" in refused_raw(KEY, raw)


@pytest.mark.thorough
@given(st.integers(1 - 10**300, 10**300 - 1) | st.floats(allow_nan=False, allow_infinity=False))
def test_no_readable_number_breaks_the_judge(value: float) -> None:
    judgment = judged(a_key(a_numeric(mistakes=(NOT_SHARDED,))), value)
    assert judgment.share in {0.0, 0.25, 1.0}


@pytest.mark.parametrize("value", [10**299, -(10**299), 10**300 - 1, 1e308, -1.7e308])
def test_an_answer_too_large_in_base_units_is_not_carried(value: float) -> None:
    assert NUMERIC.carry_value(value, KEY) is None
    plain = a_key(a_numeric(answer=1, unit=""))
    assert NUMERIC.carry_value(value, plain) == value


def test_a_mistake_that_overflows_for_an_earlier_answer_is_passed_over() -> None:
    mistake = Mistake(id="m", value="earlier", feedback="x")
    part = a_numeric(answer="1 * kbit / s", unit="Kib/h", mistakes=(mistake,), slips=False)
    key = a_key(part, earlier=units.quantity(10**308 + 1, "bit/s"))
    assert judged(key, 1).verdict is Verdict.INCORRECT


def test_a_tolerance_that_leaves_the_range_of_floats_is_refused() -> None:
    for rule in (Tolerance(absolute="10 ** 308"), Tolerance(factor=1e301)):
        with pytest.raises(ValueError, match="too wide"):
            a_key(a_numeric(answer=1, unit="", tolerance=rule))


def test_the_smallest_key_with_a_wide_tolerance_can_be_explained() -> None:
    part = a_numeric(answer=5e-324, unit="", tolerance=Tolerance(absolute=1))
    assert "accepted from -1 to 1 " in NUMERIC.explain(a_key(part))


@pytest.mark.parametrize("answer", [10**400, -(10**400), math.nan, math.inf])
def test_a_solution_that_returns_no_finite_number_is_refused(answer: float) -> None:
    with pytest.raises(ValueError, match=r"too large|NaN|infinity"):
        NUMERIC.read_solution(answer, KEY)


def test_a_right_answer_evaluates_no_mistake() -> None:
    broken = Mistake(id="broken", value="1 / (gpus - gpus)", feedback="x")
    key = a_key(a_numeric(mistakes=(broken,)))
    assert judged(key, 0.875).verdict is Verdict.CORRECT
    assert judged(key, 0.5).verdict is Verdict.INCORRECT
    with pytest.raises(ExpressionError):
        NUMERIC.examples(key)


def test_a_mistake_names_itself_and_keeps_its_credit() -> None:
    judgment = judged(a_key(a_numeric(mistakes=(NOT_SHARDED,))), 14.1)
    assert judgment.verdict is Verdict.MISTAKE
    assert (judgment.mistake, judgment.share) == ("not-sharded", 0.25)
    assert judgment.note == "All of it; divide by 16."


def test_a_mistake_is_met_within_the_same_relative_width_as_the_key() -> None:
    key = a_key(a_numeric(mistakes=(NOT_SHARDED,), slips=False))
    assert judged(key, 14.13).mistake == "not-sharded"
    assert judged(key, 14.15).mistake is None


def test_the_nearest_of_two_mistakes_is_named() -> None:
    near = Mistake(id="near", value="1.015 * weights", feedback="x")
    key = a_key(a_numeric(mistakes=(NOT_SHARDED, near)))
    assert judged(key, 14.08).mistake == "not-sharded"
    assert judged(key, 14.12).mistake == "near"


def test_a_mistake_exists_only_when_its_condition_holds() -> None:
    only = Mistake(id="only", value="weights", feedback="x", when="gpus > 16")
    assert judged(a_key(a_numeric(mistakes=(only,), slips=False)), 14).mistake is None
    assert judged(a_key(a_numeric(mistakes=(only,), slips=False), gpus=32), 14).mistake == "only"


def test_a_mistake_of_another_dimension_is_found_before_any_student_makes_it() -> None:
    other = Mistake(id="other", value=3, feedback="x")
    with pytest.raises(ValueError, match="dimension"):
        NUMERIC.examples(a_key(a_numeric(mistakes=(other,))))


def test_the_feedback_of_a_mistake_does_not_know_the_parts_own_answer() -> None:
    key = a_key(a_numeric(mistakes=(Mistake(id="m", value="3 * GB", feedback="Not {{ share }}."),)))
    assert judged(key, 3).note == ""
    with pytest.raises(TextError, match="share"):
        NUMERIC.examples(key)


def test_a_wrong_answer_hears_neither_how_far_nor_in_which_direction() -> None:
    far, near = judged(KEY, 1e6), judged(KEY, 0.9)
    below = judged(KEY, 0.5)
    assert far.note == near.note == below.note == "Not within the accepted range."
    assert far.verdict is Verdict.INCORRECT


def test_the_explanation_gives_interval_and_reason() -> None:
    part = a_numeric(answer="28 * GB", tolerance=Tolerance(relative=0.01, because="It varies."))
    assert NUMERIC.explain(a_key(part)) == (
        "**28 GB**; accepted from 27.72 to 28.28 GB (within 1% of the key; It varies)"
    )


def test_an_explanation_in_percent_has_no_more_digits_than_it_needs() -> None:
    explained = NUMERIC.explain(a_key(a_numeric(answer="1 / 9", unit="%")))
    assert explained == "**11.11%**; accepted from 11 to 11.22% (within 1% of the key)"


def test_units_are_printed_as_people_write_them() -> None:
    key = a_key(a_numeric(answer="3 * us", unit="us"))
    assert NumericKind().expected_form(key.unit) == "a number in µs"
    assert NUMERIC.explain(key).startswith("**3 µs**; ")
    for written in ("3 us", "3 µs", "3 μs"):
        assert judged(key, NUMERIC.read({"t": "str", "v": written}, key)).verdict is Verdict.CORRECT


def test_the_explanation_has_enough_digits_to_tell_the_ends_apart() -> None:
    part = a_numeric(answer="28 * GB", tolerance=Tolerance(relative=1e-07))
    assert "from 27.9999972 to 28.0000028 GB" in NUMERIC.explain(a_key(part))


@pytest.mark.parametrize("answer", ["weights * s", "gpus", "'four'", "gpus > 1", "weights / s"])
def test_an_answer_of_another_dimension_is_the_authors_error(answer: str) -> None:
    with pytest.raises(ValueError, match="does not match its unit"):
        a_key(a_numeric(answer=answer))


def test_later_parts_compute_with_a_quantity() -> None:
    assert NUMERIC.carry_value(2.5, KEY) == units.quantity(2.5, "GB")
    assert NUMERIC.carry_value(26, a_key(a_numeric(answer="1 / 3", unit="%"))) == 0.26


@pytest.mark.parametrize("answer", [2, 2.0, "2", np.int64(2), "2.0", 2.0000000001])
def test_a_whole_number_is_whole_however_it_is_written(answer: object) -> None:
    key = a_key(an_integer())
    assert judged(key, answer).verdict is Verdict.CORRECT
    assert said(key, answer) == "2"


def test_a_number_that_is_not_whole_is_wrong_and_says_so() -> None:
    judgment = judged(a_key(an_integer()), 2.5)
    assert judgment.verdict is Verdict.INCORRECT
    assert judgment.note == "The answer must be a whole number."
    part = an_integer(tolerance=Tolerance(absolute=1))
    assert judged(a_key(part), 2.5).share == 0
    assert judged(a_key(part), 3).share == 1


def test_a_number_that_is_not_whole_may_be_a_mistake_of_the_authors() -> None:
    halved = Mistake(id="unrounded", value="gpus / 32", feedback="Round it.", credit=0.5)
    assert judged(a_key(an_integer(mistakes=(halved,))), 0.5).mistake == "unrounded"


def test_a_grouped_text_is_a_whole_number() -> None:
    assert judged(a_key(an_integer(answer=1024)), "1,024").verdict is Verdict.CORRECT


@given(st.integers(1 - 10**299, 10**299 - 1))
def test_whole_numbers_are_exact_however_large(value: int) -> None:
    key: NumericKey = a_key(an_integer(answer=value))
    assert (key.value, key.low, key.high) == (value, value, value)
    assert judged(key, value).share == 1
    assert judged(key, value + 1).share == 0


def test_a_key_that_is_not_whole_is_the_authors_error() -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        a_key(an_integer(answer="gpus / 3"))


def test_solutions_return_numbers_in_the_parts_unit() -> None:
    assert NUMERIC.read_solution(np.float64(0.875), KEY) == 0.875
    assert INTEGER.read_solution(2.0, a_key(an_integer())) == 2
    for wrong in (True, "a lot", math.nan):
        with pytest.raises(ValueError, match="number"):
            NUMERIC.read_solution(wrong, KEY)


def test_a_whole_number_is_asked_for_in_a_printed_unit() -> None:
    key = a_key(an_integer(answer="7 * Gparam", unit="Gparam"))
    assert INTEGER.instructions(key).startswith("a whole number in billions of parameters")
