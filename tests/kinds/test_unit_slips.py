"""Unit slips that nobody listed, recognised by how a wrong answer relates to the key."""

from __future__ import annotations

import random
from typing import Any

import pytest

from grader import units
from grader.kinds.slips import Slips, find_slip, slips_of_unit
from grader.model import Mistake, Tolerance, Verdict
from grader.units.parse import MAX_LENGTH
from tests.helpers.kinds import a_key, a_numeric, an_integer, judged

GB, GIB = 1e9, 2.0**30


def slip(value: float, unit: Any = "GB", **scope: float) -> str | None:
    """The id of the slip that makes *value* of the key 70."""
    found = find_slip(value, 70, unit=unit, scope=scope, width=0.01)
    return found.id if found else None


@pytest.mark.parametrize(
    ("value", "unit", "name"),
    [
        (70 * GB / GIB, "GB", "slip-gib-gb"),
        (70 * GIB / GB, "GB", "slip-gib-gb"),
        (70 * GIB / GB, "GiB", "slip-gib-gb"),
        (70 * 1e6 / 2**20, "MB/s", "slip-gib-gb"),
        (70 * 8, "GB", "slip-bits-bytes"),
        (70 / 8, "GB", "slip-bits-bytes"),
        (70 / 8, "Gbit/s", "slip-bits-bytes"),
        (70 / 8, "Gb", "slip-bits-bytes"),
        (70 * 8, "ms", "slip-bits-bytes"),
        (70 * 1000, "GB", "slip-prefix"),
        (70 / 1000, "GB", "slip-prefix"),
        (70 * 1024, "GiB", "slip-prefix"),
        (70 * 1e9, "GB", "slip-prefix"),
        (70 / 1e6, "GB", "slip-prefix"),  # "70 kB"
        (70 / 1e9, "GB", "slip-prefix"),
        (70 * 1000, "GiB", "slip-prefix"),
        (70 * 1e9, "Gparam", "slip-prefix"),
        (70 / 1e9, "param", "slip-prefix"),
        (70 * 1e6, "Mtoken/s", "slip-prefix"),
        (70 * 1e12, "TOP/s", "slip-prefix"),
        (70 / 1e6, "USD", "slip-prefix"),
        (70 * 1e6, "MWh", "slip-prefix"),
        (70 * 1e6, "uJ/token", "slip-prefix"),
        (70 / 1e6, "µs", "slip-prefix"),
        (70 * 1e9, "gigabytes", "slip-prefix"),
        (70 / 1000, "ms", "slip-prefix"),
        (70 * 1000, "ms", "slip-prefix"),
        (70 * 1000, "TFLOP/s", "slip-prefix"),
        (70 * 1000, "token/s", "slip-prefix"),
        (70 * 1.024, "ms", "slip-1000-1024"),
        (70 * 1.024, "GB", "slip-1000-1024"),
        (70 / 60, "s", "slip-time-unit"),
        (70 * 3600, "h", "slip-time-unit"),
        (70 * 60, "ms", "slip-time-unit"),
        (70 / 60, "ms", "slip-time-unit"),
        (70 * 3600, "ms", "slip-time-unit"),
        (70 / 3600, "s/token", "slip-time-unit"),
        (70 / 60, "GPU-h", "slip-time-unit"),
        (0.70, "%", "slip-percent"),
        (7000, "", "slip-percent"),
    ],
)
def test_a_slip_of_the_unit_is_recognised(value: float, unit: str, name: str) -> None:
    assert slip(value, unit) == name


@pytest.mark.parametrize("unit", ["%", ""])
def test_numbers_without_bytes_do_not_mix_up_1000_and_1024(unit: str) -> None:
    assert slip(70 * 1.024**2, unit) is None


@pytest.mark.parametrize("count", [10**300, 2**1024 - 1, 1e308, float("inf"), float("nan")])
def test_a_count_beyond_all_reason_explains_no_slip(count: float) -> None:
    assert slip(70 * 1e300, n_gpus=count) is None
    assert slip(70 / 8, unit="token", n_gpus=count) is None


@pytest.mark.parametrize(
    "name",
    ["gpus", "devices", "ranks", "workers", "nodes", "replicas", "stages", "shards", "world_size",
     "tp", "dp", "pp", "n_gpus", "num_workers", "tp_degree", "gpus_per_node"],
)  # fmt: skip
def test_per_gpu_and_total_are_recognised_by_the_counts_in_scope(name: str) -> None:
    assert slip(70 * 12, **{name: 12}) == "slip-per-gpu-total"
    assert slip(70 / 12, **{name: 12}) == "slip-per-gpu-total"


@pytest.mark.parametrize("name", ["layers", "batch", "gpu", "steps", "heads"])
def test_other_numbers_in_scope_are_not_taken_for_counts_of_devices(name: str) -> None:
    assert slip(70 * 12, **{name: 12}) is None


def test_a_count_must_be_a_whole_number_above_one() -> None:
    assert slip(70 * 2.5, gpus=2.5) is None
    assert find_slip(70, 70, unit="GB", scope={"gpus": 1}, width=0.0) is None
    assert find_slip(140, 70, unit="GB", scope={"gpus": True}, width=0.01) is None
    assert (
        find_slip(140, 70, unit="GB", scope={"gpus": units.quantity(2, "GB")}, width=0.01) is None
    )


def test_a_ratio_with_two_causes_names_both() -> None:
    found = find_slip(560, 70, unit="GB", scope={"gpus": 8}, width=0.01)
    assert found is not None
    assert found.id == "slip-per-gpu-total"
    assert "all 8 GPUs" in found.sentence
    assert "Gb" in found.sentence


def test_the_sentence_names_the_slip() -> None:
    key = a_key(a_numeric(answer="28 * GB"))
    note = "GiB and GB seem to be mixed up; the question asks for GB."
    assert judged(key, 28 * GB / GIB).note == note
    assert judged(key, 28e9).note.startswith("This is 10^9 times too large: check the prefix")
    assert "60 times too small" in judged(a_key(a_numeric(answer="1 * h", unit="min")), 1).note
    assert "KiB, MiB, GiB use 1024" in judged(a_key(a_numeric(answer="28 * GB")), 28 * 1.024).note
    assert "prefix" in judged(a_key(a_numeric(answer=7, unit="")), 7000).note


def test_a_percentage_and_a_fraction_are_told_apart_whatever_was_written() -> None:
    plain = a_key(a_numeric(answer=0.26, unit=""))
    note = "This is 100 times too large: the question asks for a plain number."
    answer: object
    for answer in (26, "26", "2600%"):
        assert judged(plain, answer).note == note
    share = a_key(a_numeric(answer=0.26, unit="%"))
    note = "This is 100 times too small: the question asks for a percentage."
    for answer in (0.26, "0.26%"):
        assert judged(share, answer).note == note


def test_a_slip_is_a_mistake_that_earns_what_the_part_says() -> None:
    judgment = judged(a_key(a_numeric(answer="28 * GB")), 28 * GB / GIB)
    assert (judgment.verdict, judgment.share) == (Verdict.MISTAKE, 0)
    part = a_numeric(answer="28 * GB", slips=Slips(credit=0.5))
    assert judged(a_key(part), 28 * GB / GIB).share == 0.5


def test_slips_can_be_turned_off() -> None:
    judgment = judged(a_key(a_numeric(answer="28 * GB", slips=False)), 28 * GB / GIB)
    assert (judgment.verdict, judgment.mistake) == (Verdict.INCORRECT, None)


def test_an_authors_mistake_comes_before_a_slip() -> None:
    mistake = Mistake(id="all-of-it", value="weights", feedback="All of it.", credit=0.25)
    judgment = judged(a_key(a_numeric(mistakes=(mistake,))), 14)
    assert (judgment.mistake, judgment.share) == ("all-of-it", 0.25)


def test_a_slip_inside_the_tolerance_is_simply_right() -> None:
    part = a_numeric(answer="28 * GB", tolerance=Tolerance(relative=0.1))
    assert judged(a_key(part), 28 * GIB / GB).verdict is Verdict.CORRECT


def test_a_slip_rounded_to_three_digits_is_still_recognised() -> None:
    assert slip(65.2) == "slip-gib-gb"  # 65.193


def test_a_slip_must_be_as_exact_as_the_part_asks() -> None:
    assert find_slip(65.2, 70, unit="GB", scope={}, width=0.00001) is None
    assert find_slip(70 * GB / GIB, 70, unit="GB", scope={}, width=0.0) is not None


def test_nothing_is_a_slip_of_zero() -> None:
    judgment = judged(a_key(a_numeric(answer="0 * GB")), 8)
    assert judgment.verdict is Verdict.INCORRECT
    assert slip(0) is None


def test_a_negative_key_keeps_its_slips_and_a_flipped_sign_is_none() -> None:
    key = a_key(a_numeric(answer="-28 * GB"))
    assert judged(key, -28 * 8).mistake == "slip-bits-bytes"
    assert judged(key, 28 * 8).mistake is None


def test_whole_numbers_have_slips_too() -> None:
    key = a_key(an_integer(answer="5 * gpus"))
    assert judged(key, 5).mistake == "slip-per-gpu-total"
    assert judged(key, 6).mistake is None


def test_a_unit_typed_by_the_student_is_converted_and_no_slip() -> None:
    key = a_key(a_numeric(answer="28 * GB"))
    assert judged(key, "224 Gb").verdict is Verdict.CORRECT
    assert judged(key, "26.08 GiB").verdict is Verdict.CORRECT
    assert judged(key, "28 GiB").mistake == "slip-gib-gb"


@pytest.mark.parametrize(
    ("answer", "name", "said"),
    [
        ("28 MB", "slip-prefix", "1000 times too small"),
        ("28 TB", "slip-prefix", "1000 times too large"),
        ("28 kB", "slip-prefix", "10^6 times too small"),
        ("28 GiB", "slip-gib-gb", "GiB and GB"),
        ("28 Gb", "slip-bits-bytes", "Gb and GB"),
        ("224 GB", "slip-bits-bytes", "Gb and GB"),
    ],
)
def test_what_is_said_is_true_of_an_answer_with_a_unit_of_its_own(
    answer: str, name: str, said: str
) -> None:
    judgment = judged(a_key(a_numeric(answer="28 * GB")), answer)
    assert judgment.mistake == name
    assert said in judgment.note
    assert "This is the value in" not in judgment.note


def test_a_slip_is_seldom_seen_in_an_answer_that_is_merely_wrong() -> None:
    dice = random.Random(0)
    wrong = [70 * dice.uniform(1.01, 50) ** dice.choice((-1, 1)) for _ in range(5000)]
    named = sum(slip(value, gpus=16) is not None for value in wrong)
    assert named / len(wrong) < 0.03


@pytest.mark.parametrize("unit", ["GB", "GiB/s", "ms", "", "%", "token/s", "FLOP/B", "USD/h", "kB"])
def test_no_slip_is_no_change_and_none_is_listed_twice(unit: str) -> None:
    ratios = [slip.ratio for slip in slips_of_unit(unit)]
    assert 1 not in ratios
    assert len({round(r, 9) if r > 1e-3 else r for r in ratios}) == len(ratios)


def test_a_slip_to_a_unit_that_is_too_long_to_be_written_is_left_out() -> None:
    spaced = "GB" + " " * (MAX_LENGTH - 4) + "/s"
    usual, long = (
        {(one.id, round(one.ratio, 9)) for one in slips_of_unit(unit)} for unit in ("GB/s", spaced)
    )
    assert ("slip-gib-gb", round(1e9 / 2**30, 9)) in usual
    assert not any(name == "slip-gib-gb" for name, _ in long)
    assert ("slip-bits-bytes", 8.0) in long
