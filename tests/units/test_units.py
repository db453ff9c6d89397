"""Units: what each spelling means, how values are printed, and how students' texts are read."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader import units
from grader.units.quantity import DimensionError, Quantity, dimension_of
from grader.units.table import FITTING, NAMES, SYMBOLS

# Generous for a busy machine; what runs away would take minutes.
SOON = 1.0
NAMED: Mapping[str, Any] = units.named_units()
EVERYDAY = ["GB", "GiB", "B", "bit", "Gb", "ms", "s", "TFLOP", "TFLOP/s", "GB/s", "token/s", ""]


def read(text: str, unit: str = "GB") -> float:
    return units.read(text, unit)


def refusal(text: str, unit: str = "GB") -> str:
    with pytest.raises(units.ReadError) as caught:
        units.read(text, unit)
    assert caught.value.sentence == str(caught.value)
    assert "\n" not in caught.value.sentence
    assert len(caught.value.sentence) < 200
    return caught.value.sentence


class TestUnits:
    @pytest.mark.parametrize(
        ("text", "scale"),
        [
            ("B", 8),
            ("bit", 1),
            ("kB", 8_000),
            ("KB", 8_000),
            ("GB", 8e9),
            ("GiB", 8 * 2**30),
            ("Gb", 1e9),
            ("Gib", 2**30),
            ("Gbps", 1e9),
            ("GBps", 8e9),
            ("GB/s", 8e9),
            ("gigabytes", 8e9),
            ("Gibibyte", 8 * 2**30),
            ("TFLOP/s", 1e12),
            ("PFLOP", 1e15),
            ("TOP/s", 1e12),
            ("us", 1e-6),
            ("µs", 1e-6),
            ("μs", 1e-6),
            ("ns", 1e-9),
            ("min", 60),
            ("hours", 3600),
            ("GPU-hours", 3600),
            ("kWh", 3.6e6),
            ("kilowatt-hours", 3.6e6),
            ("W", 1),
            ("MHz", 1e6),
            ("token/s", 1),
            ("tokens per second", 1),
            ("FLOP/B", 1 / 8),
            ("J/token", 1),
            ("USD/h", 1 / 3600),
            ("USD/Mtoken", 1e-6),
            ("B/param", 8),
            ("GB*s", 8e9),
            ("GB·s", 8e9),
            ("B^2", 64),
            ("s^-1", 1),
            ("1/s", 1),
            ("B/s/s", 8),
            ("GB / s", 8e9),
            ("%", 0.01),
            ("", 1),
            ("1", 1),
        ],
    )
    def test_a_spelling_has_its_scale(self, text, scale) -> None:
        assert units.parse_unit(text).scale == pytest.approx(scale, rel=1e-15)

    def test_what_looks_alike_has_its_own_dimension(self) -> None:
        flop, speed, hertz = (units.parse_unit(t).dimension for t in ("FLOP", "FLOP/s", "Hz"))
        assert len({flop, speed, hertz, units.parse_unit("").dimension}) == 4
        assert units.parse_unit("W").dimension == units.parse_unit("J/s").dimension
        assert units.parse_unit("1/s").dimension == hertz
        assert (
            len({units.parse_unit(t).dimension for t in ("token", "param", "sample", "B", "1")})
            == 5
        )

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("gb", "write 'GB' (bytes) or 'Gb' (bits)"),
            ("GBB", "did you mean 'GB'?"),
            ("TFLOPS", "write 'TFLOP' for a count or 'TFLOP/s' for a speed"),
            ("Tflop/S", "write 's'"),
            ("MS", "write 'ms'"),
            ("gigaflops", "write 'GFLOP' for a count"),
            ("parsec", "unknown unit 'parsec'"),
            ("GB//s", "unknown unit"),
            ("GB^9", "exponents that are too large"),
            ("ZFLOP^4/ps^4", "exponents that are too large"),
            ("/s", "unknown unit"),
            ("s-1", "unknown unit"),
            ("9", "unknown unit"),
            ("GB^" + "9" * 30, "unknown unit"),
            ("x" * 10_000_000, "too long"),
            ("m**9**9**9", "unknown unit"),
            ("GB\x00", "unknown unit"),
        ],
    )
    def test_an_unknown_unit_says_what_to_write(self, text, said) -> None:
        started = time.process_time()
        with pytest.raises(units.UnitError) as caught:
            units.parse_unit(text)
        assert said in str(caught.value)
        assert time.process_time() - started < SOON

    def test_every_spelling_of_the_table_is_readable(self) -> None:
        for spelling, measure in SYMBOLS.items():
            one = units.parse_unit(spelling)
            assert (one.numerator, one.denominator, one.dimension) == measure

    def test_every_name_of_expressions_is_one_of_its_unit(self) -> None:
        assert set(NAMED) == set(NAMES)
        for name, value in NAMED.items():
            assert name.isidentifier()
            assert units.magnitude(value, name) == 1
            assert units.format_quantity(value) == f"1 {units.printed_unit(name)}"

    def test_every_unit_that_values_are_printed_in_is_of_that_dimension(self) -> None:
        for dimension, candidates in FITTING.items():
            scales = [units.parse_unit(c).scale for c in candidates]
            assert [units.parse_unit(c).dimension for c in candidates] == [dimension] * len(
                candidates
            )
            assert scales == sorted(scales)


class TestConversion:
    def test_a_size_in_another_unit_is_exact(self) -> None:
        found = units.magnitude(112e9 * NAMED["byte"], "GB")
        assert found == 112.0
        assert units.magnitude(units.quantity(28, "GiB"), "B") == 28 * 2**30
        assert type(units.magnitude(units.quantity(28, "GB"), "MB")) is int
        assert units.magnitude(units.quantity(224, "Gb"), "GB") == 28

    def test_what_was_put_in_comes_out(self) -> None:
        for x in (0.1, 0.3, 3.35, 1.1e-7, 2.7, 4.8e15, 19.5):
            for unit in ("ms", "us", "TB/s", "USD/h", "%", "FLOP/B", "kWh"):
                assert units.magnitude(units.quantity(x, unit), unit) == x

    def test_a_wrong_dimension_is_refused_in_words(self) -> None:
        with pytest.raises(DimensionError, match=r"^expected a time in ms, got a size$"):
            units.magnitude(units.quantity(1, "GB"), "ms")
        with pytest.raises(DimensionError, match=r"^expected a size in GB, got a plain number$"):
            units.magnitude(3, "GB")
        with pytest.raises(DimensionError, match=r"^expected a plain number, got a size$"):
            units.magnitude(units.quantity(1, "GB"), "")
        for value in ("28 GB", True):
            with pytest.raises(DimensionError, match="expected a size"):
                units.magnitude(value, "GB")

    def test_zero_is_zero_in_every_unit(self) -> None:
        assert units.magnitude(0, "GB") == 0

    def test_a_percentage_is_a_plain_number(self) -> None:
        assert units.quantity(25, "%") == 0.25
        assert units.magnitude(0.25, "%") == 25

    def test_dimensions_are_compared_for_values_and_tuples(self) -> None:
        assert dimension_of(NAMED["GB"]) == dimension_of(NAMED["bit"])
        assert dimension_of(NAMED["GB"]) == units.parse_unit("KiB").dimension
        assert dimension_of(3) == dimension_of(4.5)
        assert dimension_of(NAMED["GB"]) != dimension_of(3)
        assert dimension_of(NAMED["Hz"]) != units.parse_unit("FLOP/s").dimension

    @given(
        st.one_of(st.integers(-(10**15), 10**15), st.floats(-1e15, 1e15)),
        st.sampled_from(["B", "bit", "kB", "GB", "GiB", "Tb", "Kibit", "PB"]),
        st.sampled_from(["B", "bit", "kB", "GB", "GiB", "Tb", "Kibit", "PB"]),
    )
    def test_changing_the_unit_never_changes_the_value(self, x, one, other) -> None:
        value: Any = units.quantity(x, one)
        moved: Any = units.quantity(units.magnitude(value, other), other)
        assert moved.magnitude == pytest.approx(value.magnitude, rel=1e-15, abs=1e-290)


class TestPrinting:
    @pytest.mark.parametrize(
        ("x", "text"),
        [
            (28, "28"),
            (28.0, "28"),
            (24.0, "24"),
            (1 / 3, "0.333333"),
            (1.2e15, "1.2e+15"),
            (26.1, "26.1"),
            (0, "0"),
            (-0.0, "0"),
            (-2.5, "-2.5"),
            (7e9, "7000000000"),
            (1234567.8, "1234568"),
            (999999.9, "1000000"),
            (2**40, "1099511627776"),
            (10**20, "1e+20"),
            (1e-5, "1e-05"),
            (0.1 + 0.2, "0.3"),
            (10**400, "about 10^400"),
            (math.inf, "inf"),
            (math.nan, "nan"),
        ],
    )
    def test_numbers_are_printed_short_and_in_full(self, x, text) -> None:
        assert units.format_number(x) == text

    def test_digits_are_significant_and_never_cut_the_whole_part(self) -> None:
        assert units.format_number(math.pi, 3) == "3.14"
        assert units.format_number(1234.5678, 3) == "1235"
        assert units.format_number(0.00123456, 2) == "0.0012"

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (units.quantity(28, "GB"), "28 GB"),
            (units.quantity(80, "GiB"), "80 GiB"),
            (16 * NAMED["byte"] * 7e9, "112 GB"),
            (4 * NAMED["bit"], "4 bit"),
            (0 * NAMED["GB"], "0 B"),
            (312 * NAMED["TFLOP"] / NAMED["s"], "312 TFLOP/s"),
            (2.5e-5 * NAMED["s"], "25 µs"),
            (90 * NAMED["s"], "90 s"),
            (NAMED["GB"] * NAMED["s"], "8000000000 bit·s"),
            (1e-15 * NAMED["s"], "0.001 ps"),
            (-5 * NAMED["GB"] / 2, "-2.5 GB"),
            (24.0, "24"),
            ("adam", "adam"),
            (True, "True"),
        ],
    )
    def test_a_value_is_shown_with_a_unit_that_fits(self, value, text) -> None:
        assert units.format_quantity(value) == text

    @pytest.mark.parametrize(
        ("typed", "printed"),
        [
            ("us", "µs"),
            ("us/token", "µs/token"),
            ("token/us", "token/µs"),
            ("uJ", "µJ"),
            ("bit^2/s", "bit²/s"),
            ("GB*s^-1", "GB·s⁻¹"),
            ("USD/h", "USD/h"),
        ],
    )
    def test_what_is_printed_can_be_typed_again(self, typed: str, printed: str) -> None:
        assert units.format_with_unit(12.5, typed) == f"12.5 {printed}"
        for sign in (typed, printed, printed.replace("µ", "μ")):
            assert units.read(f"12.5 {sign}", typed) == 12.5

    def test_a_value_is_shown_in_the_unit_asked_for(self) -> None:
        assert units.format_quantity(112e9 * NAMED["byte"], "GiB", 4) == "104.3 GiB"
        assert units.format_quantity(0.25, "%") == "25%"
        assert units.format_quantity(1 / 9, "%") == "11.11%"
        assert units.format_quantity(1 / 9, "%", 6) == "11.1111%"
        assert units.format_quantity(28, "") == "28"
        with pytest.raises(DimensionError):
            units.format_quantity(28, "GB")

    @given(
        st.one_of(st.integers(-(10**14), 10**14), st.floats(-1e200, 1e200)),
        st.sampled_from(EVERYDAY),
        st.integers(3, 17),
    )
    @example(999999.5, "GB", 6)
    def test_what_is_shown_reads_as_the_value(self, x, unit, digits) -> None:
        shown = units.format_quantity(units.quantity(x, unit), unit, digits)
        again = read(shown, unit)
        rounding = max(0.51 * 10 ** (1 - digits), 4e-16)
        assert again == pytest.approx(x, rel=rounding, abs=1e-290)


class TestReading:
    @pytest.mark.parametrize(
        ("text", "unit", "value", "shown"),
        [
            ("28 GB", "GB", 28, "28 GB"),
            ("28GB", "GB", 28, "28 GB"),
            ("  28   GB. ", "GB", 28, "28 GB"),
            ("28", "GB", 28, "28 GB"),
            ("+28", "GB", 28, "28 GB"),
            ("-3 GB", "GB", -3, "-3 GB"),
            ("−3 GB", "GB", -3, "-3 GB"),
            ("28.", "GB", 28, "28 GB"),
            (".5 GB", "GB", 0.5, "0.5 GB"),
            ("26.1 GiB", "GB", 28.0246616064, "26.1 GiB = 28.0247 GB"),
            ("1.2e9 B", "GB", 1.2, "1200000000 B = 1.2 GB"),
            ("1,200 MB", "GB", 1.2, "1200 MB = 1.2 GB"),
            ("1,234,567.5 B", "B", 1234567.5, "1234568 B"),
            ("224 Gb", "GB", 28, "224 Gb = 28 GB"),
            ("1_200", "MB", 1200, "1200 MB"),
            ("1.2 x 10^9 B", "GB", 1.2, "1200000000 B = 1.2 GB"),
            ("1.2×10⁹ B", "GB", 1.2, "1200000000 B = 1.2 GB"),
            ("1.2*10**9 B", "GB", 1.2, "1200000000 B = 1.2 GB"),
            ("3 × 10⁻³ s", "ms", 3, "0.003 s = 3 ms"),
            ("2^30 B", "GiB", 1, "1073741824 B = 1 GiB"),
            ("10^9", "", 10**9, "1000000000"),
            ("2^-2", "", 0.25, "0.25"),
            ("10^-3", "", 0.001, "0.001"),
            ("-2^3", "", -8, "-8"),
            ("3/4 GB", "GB", 0.75, "0.75 GB"),
            ("-3/4", "", -0.75, "-0.75"),
            ("28 gigabytes", "GB", 28, "28 GB"),
            ("28 Gigabytes", "GB", 28, "28 GB"),
            ("12 GB/s", "GB/s", 12, "12 GB/s"),
            ("100 Gb/s", "GB/s", 12.5, "100 Gb/s = 12.5 GB/s"),
            ("100 Gbps", "GB/s", 12.5, "100 Gbps = 12.5 GB/s"),
            ("900 GB/sec", "GB/s", 900, "900 GB/s"),
            ("900 GB per second", "GB/s", 900, "900 GB/s"),
            ("312 TFLOPS", "TFLOP/s", 312, "312 TFLOP/s"),
            ("312 TFLOPs", "TFLOP/s", 312, "312 TFLOP/s"),
            ("312 tflops", "TFLOP/s", 312, "312 TFLOP/s"),
            ("312 teraflops", "TFLOP/s", 312, "312 TFLOP/s"),
            ("312 TFLOPS", "TFLOP", 312, "312 TFLOP"),
            ("312 TFLOPS", "PFLOP", 0.312, "312 TFLOPS = 0.312 PFLOP"),
            ("312 TFLOPs/s", "TFLOP/s", 312, "312 TFLOP/s"),
            ("312 Tflops", "TFLOP/s", 312, "312 TFLOP/s"),
            ("312 Tflops", "TFLOP", 312, "312 TFLOP"),
            ("312 tFlOps", "TFLOP/s", 312, "312 TFLOP/s"),
            ("312 tFLOP", "TFLOP", 312, "312 TFLOP"),
            ("312 Kflop/s", "kFLOP/s", 312, "312 kFLOP/s"),
            ("4 POPS", "PFLOP/s", 4, "4 PFLOP/s"),
            ("28 000 MB", "GB", 28, "28000 MB = 28 GB"),
            ("-28\u2009000 MB", "GB", -28, "-28000 MB = -28 GB"),
            ("1 234 567.5 B", "B", 1234567.5, "1234568 B"),
            ("50 GB s^-1", "GB/s", 50, "50 GB/s"),
            ("50 GB s⁻¹", "GB/s", 50, "50 GB/s"),
            ("5 kW h", "kWh", 5, "5 kWh"),
            ("USD 1200", "USD", 1200, "1200 USD"),
            ("USD 1 200/h", "USD/h", 1200, "1200 USD/h"),
            ("$1.2 million", "USD", 1.2e6, "1200000 USD"),
            ("3.2 X", "", 3.2, "3.2"),
            ("2.5k tokens/s", "token/s", 2500, "2.5 k tokens/s = 2500 token/s"),
            ("7M params", "param", 7e6, "7 M params = 7000000 param"),
            ("5 FLOPs/byte", "FLOP/B", 5, "5 FLOP/B"),
            ("5 GFLOPS/W", "GFLOP/J", 5, "5 GFLOP/J"),
            ("50%", "", 0.5, "50% = 0.5"),
            ("25 percent", "", 0.25, "25% = 0.25"),
            ("25%", "%", 25, "25%"),
            ("25", "%", 25, "25%"),
            ("3.2x", "", 3.2, "3.2"),
            ("7 billion", "", 7 * 10**9, "7000000000"),
            ("7 billion parameters", "param", 7 * 10**9, "7000000000 param"),
            ("7 billion", "Gparam", 7, "7 billion parameters"),
            ("500 million", "Gparam", 0.5, "0.5 billion parameters"),
            ("7", "Gparam", 7, "7 billion parameters"),
            ("7 billion", "FLOP", 7 * 10**9, "7000000000 FLOP"),
            ("12.5 ms", "s", 0.0125, "12.5 ms = 0.0125 s"),
            ("$12/h", "USD/h", 12, "12 USD/h"),
            ("12 $/hour", "USD/h", 12, "12 USD/h"),
            ("100 GPU hours", "GPU-h", 100, "100 GPU-h"),
            ("5 1/s", "Hz", 5, "5 Hz"),
            ("5 /s", "1/s", 5, "5 1/s"),
            ("0.1 ms", "us", 100, "0.1 ms = 100 µs"),
        ],
    )
    def test_what_students_write_is_read(self, text, unit, value, shown) -> None:
        reading = units.read(text, unit)
        assert reading == pytest.approx(value, rel=1e-15)
        assert units.format_with_unit(reading, unit) == shown.rpartition(" = ")[2]

    @pytest.mark.parametrize(
        ("text", "unit", "said"),
        [
            ("", "GB", "the text is empty"),
            ("   ", "GB", "the text is empty"),
            ("about 28", "GB", "'about 28' doesn't start with a number"),
            ("~28 GB", "GB", "doesn't start with a number"),
            ("x = 28", "GB", "doesn't start with a number"),
            ("twenty", "GB", "'twenty' is not a number"),
            ("nan", "GB", "'nan' is not a finite number"),
            ("NaN GB", "GB", "is not a finite number"),
            ("inf", "GB", "'inf' is not a finite number"),
            ("-Infinity", "", "is not a finite number"),
            ("∞", "", "is not a finite number"),
            ("28 gb", "GB", "unknown unit 'gb'; write 'GB' (bytes) or 'Gb' (bits)"),
            ("28 MS", "ms", "write 'ms'"),
            ("1,5 GB", "GB", "a comma that is not a thousands separator"),
            ("0,123", "s", "a comma that is not a thousands separator"),
            ("1.200,5 GB", "GB", "a comma that is not a thousands separator"),
            ("1,20,000", "", "a comma that is not a thousands separator"),
            ("28 GB", "ms", "expected a time such as '12.5 ms', got '28 GB', which is a size"),
            ("28 ms", "GB", "expected a size such as '12.5 GB', got '28 ms', which is a time"),
            ("312 TFLOPS", "GB", "which is a number of operations"),
            ("28 GHz", "TFLOP/s", "which is a frequency"),
            ("28 GB", "", "expected a plain number, got a number followed by 'GB'"),
            ("28 GB", "%", "expected a percentage"),
            ("50%", "GB", "expected a size"),
            ("7B", "param", "'B' means bytes; write billions as '7e9'"),
            ("7B", "", "'B' means bytes; write billions as '7e9'"),
            ("28 parsec", "GB", "unknown unit 'parsec'; write the answer like '12.5 GB'"),
            ("28 GB on each", "GB", "can't read 'GB on each' as a unit"),
            ("9**9**9", "GB", "is a calculation"),
            ("2*14 GB", "GB", "is a calculation"),
            ("28 + 3", "GB", "is a calculation"),
            ("1/2/3", "", "is a calculation"),
            ("28-30 GB", "GB", "is a calculation"),
            ("12/0 GB", "GB", "divides by zero"),
            ("1 20 GB", "GB", "is not one number"),
            ("1 2000 GB", "GB", "is not one number"),
            ("0 200 GB", "GB", "is not one number"),
            ("2 100 30 GB", "GB", "is not one number"),
            ("28 GBB", "GB", "unknown unit 'GBB'; did you mean 'GB'?"),
            ("28 GiBs", "GB", "did you mean 'GiB'?"),
            ("28 GBsec", "GB/s", "did you mean 'GB/s'?"),
            ("28 GBB", "ms", "unknown unit 'GBB'; write the answer like '12.5 ms'"),
            ("28 GB per GPU", "GB", "can't read 'GB per GPU' as a unit"),
            ("2 J/GB s", "J/B", "can't read 'J/GB s' as a unit"),
            ("2.5k", "token/s", "unknown unit 'k'"),
            ("5 m s", "s", "can't read 'm s' as a unit"),
            ("7B params", "param", "'B' means bytes; write billions as '7e9'"),
            ("$ five", "USD", "is not a number"),
            ("1'200", "GB", "is not one number"),
            ("1.2.3", "GB", "is not one number"),
            ("٣ GB", "GB", "digits other than 0 to 9"),
            ("２８", "GB", "digits other than 0 to 9"),
            ("2٣", "", "digits other than 0 to 9"),
            ("1e999999", "GB", "is too large"),
            ("-1e999999", "GB", "is too large"),
            ("1e308 PB", "bit", "is too large"),
            ("1.5e308 x 10^10", "", "is too large"),
            ("1 x 10^400", "", "is too large"),
            ("-3e5 * 10**400", "GB", "is too large"),
            ("10^99999999", "", "is too large or too small"),
            ("2 x 10^-99999999", "", "is too large or too small"),
            ("2^1024 trillion", "", "is too large"),
            ("9" * 10_000_000, "GB", "the text is 10000000 characters long"),
            ("\x00\x1b[31m", "GB", "is not a number"),
        ],
    )
    def test_what_can_not_be_read_gets_its_own_sentence_at_once(self, text, unit, said) -> None:
        started = time.process_time()
        assert said in refusal(text, unit)
        assert time.process_time() - started < SOON

    def test_a_sentence_never_repeats_control_characters(self) -> None:
        assert "\x1b" not in refusal("28 \x1b[31mGB")
        assert "\x00" not in refusal("\x00")

    @given(st.text(max_size=120), st.sampled_from(EVERYDAY))
    @example("1e", "GB")
    @example("$", "USD")
    @example(".", "GB")
    @example("5²", "")
    @example("2^³", "")
    @example("1 GB/" + "s/" * 40, "GB")
    def test_any_text_is_read_or_refused(self, text, unit) -> None:
        try:
            reading = units.read(text, unit)
        except units.ReadError as error:
            said = error.sentence
        else:
            said = units.format_with_unit(reading, unit)
            assert math.isfinite(reading)
        assert said.isprintable()

    @given(
        st.text(alphabet="0123456789.,_eE+-*/^x %$GgBbiTFLOPSsm()", max_size=30),
        st.sampled_from(EVERYDAY),
    )
    def test_any_number_like_text_is_read_or_refused(self, text, unit) -> None:
        try:
            reading = units.read(text, unit)
        except units.ReadError:
            return
        assert math.isfinite(reading)

    @given(
        st.integers(0, 10**15),
        st.sampled_from(["GB", "GiB", "MB", "Gb", "kbit", "gigabytes"]),
        st.sampled_from(["GB", "B", "TiB"]),
    )
    def test_the_unit_it_was_written_in_never_changes_the_value(self, n, written, asked) -> None:
        value = units.quantity(n, written)
        assert isinstance(value, Quantity)
        assert read(f"{n} {written}", asked) == pytest.approx(
            units.magnitude(value, asked), rel=1e-15
        )


def test_the_reference_has_every_unit_and_reads_as_it_says() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/units.md").read_text("utf-8")
    table = "\n".join(li for li in page.split("## ")[0].splitlines() if li.startswith("|"))
    shown = re.findall(r"`([^`]+)`", table)
    assert {*NAMES} - {"byte"} <= {*shown}
    for text in shown:
        if text not in {"FLOPs", "teraflops"}:
            assert units.parse_unit(text).scale > 0


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        ("1.5k", "", "write it with an exponent, as in '1.5e3'"),
        ("7bn", "", "as in '1.5e9'"),
        ("$1.5M", "", "as in '1.5e6'"),
        ("$1.5M", "USD", "write it as in '1.5e6 USD'"),
        ("$2k/h", "USD/h", "write it as in '1.5e3 USD'"),
        ("5 kg", "", "remove 'kg'"),
        ("5 €", "", "remove '€'"),
        ("2½", "", "has a fraction; write a decimal number"),
        ("2½ GB", "GB", "has a fraction; write a decimal number"),
        ("1.000.000", "", "write it without separators"),
    ],
)
def test_advice_never_leads_to_another_number(text: str, unit: str, said: str) -> None:
    assert said in refusal(text, unit)


def test_a_period_after_a_percentage_is_a_sentences_end() -> None:
    assert read("25%.", "%") == 25
    assert read("25.", "%") == 25


@pytest.mark.parametrize(("unit", "zero"), [("ms", "0 s"), ("GB", "0 B"), ("TFLOP", "0 FLOP")])
def test_zero_has_the_base_unit_of_its_family(unit: str, zero: str) -> None:
    assert units.format_quantity(Quantity(0, NAMED[unit].dimension)) == zero
