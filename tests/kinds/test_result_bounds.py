"""What is made of a result left of the wall is no larger than what came of it, many times over."""

from __future__ import annotations

import base64
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grader.kinds.attempts import CodeExample
from grader.kinds.code import CodeKind
from grader.kinds.hidden.compare import Closeness, difference, format_result
from grader.model import Verdict
from grader.wire.encoding import RESULT, decode_input, encode_result
from grader.wire.values import ArrayValue, SetOf, decode_result
from tests.helpers.code import a_code_key, defined, judged, ran
from tests.helpers.fuzz import in_time
from tests.helpers.kernels import WAYS

SOME = 60e6
"""Bytes; what one result may take while it is judged."""
EMPTY = {"t": "array", "dtype": "float64", "shape": [4000, 5000, 0], "v": ""}


def peak_of(work: Callable[[], object]) -> float:
    """The most memory that was in use at a time, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def in_base64(array: np.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode()


@pytest.mark.parametrize(
    "shape", [[4000, 5000, 0], [0, 4_000_000], [4_000_000, 0, 4_000_000], [0, *[2] * 21]]
)
def test_a_shape_without_numbers_has_bounds_of_its_own(shape: list[int]) -> None:
    with pytest.raises(ValueError, match="without numbers"):
        decode_result({**EMPTY, "shape": shape})


@pytest.mark.parametrize("shape", [[0], [0, 0], [0, 50_257], [0, 12, 128, 512], [1024, 1024, 0]])
def test_an_empty_result_is_told_by_its_kind_and_shape(shape: list[int]) -> None:
    value = decode_result({**EMPTY, "shape": shape})
    assert isinstance(value, ArrayValue)
    told = ""

    def tell() -> None:
        nonlocal told
        told = format_result(value)

    assert peak_of(tell) < 1e5
    assert told == f"an empty array of shape {tuple(shape)} (float64)"
    assert difference(value, value, Closeness()) is None


@pytest.mark.thorough
@pytest.mark.parametrize("way", [next(iter(WAYS.values()))])
def test_an_empty_result_of_a_student_costs_its_points_and_no_memory(
    way: dict[str, Any],
) -> None:
    example = CodeExample(call="scaled(np.zeros(2))", gives="np.zeros(2)")
    key = a_code_key(examples=(example,))
    cells = defined(q1_empty="return np.empty((1000, 2000, 0))")
    evidence = ran(*cells, keys={"q1_empty": key}, **way)
    kind, raw = CodeKind(), evidence.answers["q1_empty"].raw
    assert raw
    judgment = judged(evidence, "q1_empty", key)
    assert judgment.verdict is Verdict.INCORRECT
    assert "the result could not be read" in judgment.note
    assert peak_of(lambda: kind.judge(kind.read(raw, key), key)) < SOME
    tried: list[Any] = []
    assert peak_of(lambda: tried.extend(kind.example_results(kind.read(raw, key), key))) < SOME
    assert [one.fault for one in tried] == ["`scaled(np.zeros(2))`: the result could not be read"]


def test_large_arrays_are_compared_in_little_memory() -> None:
    codes = np.zeros(RESULT.size, np.uint8)
    raw = {"t": "tensor", "dtype": "float8_e4m3fn", "shape": [2, len(codes) // 2]}
    want = decode_result({**raw, "v": in_base64(codes)})
    codes[::1000] = 0x40
    got = decode_result({**raw, "v": in_base64(codes)})
    why = ""

    def compare() -> None:
        nonlocal why
        why = difference(got, want, Closeness()) or ""

    assert peak_of(compare) < 10e6
    assert why == "the result has wrong values"


def test_places_are_looked_at_in_all_blocks() -> None:
    for dtype in ("int64", "float32", "complex64"):
        want = np.arange(200_000).reshape(4, 50_000).astype(dtype)
        got = want.copy()
        assert (
            difference(
                decode_result(encode_result(got)),
                decode_result(encode_result(want)),
                Closeness(),
            )
            is None
        )
        got[3, 49_999] = 0
        mine, ours = (decode_result(encode_result(one)) for one in (got, want))
        assert difference(mine, ours, Closeness()) == "the result has wrong values"


@pytest.mark.thorough
def test_of_a_large_result_no_more_is_written_out_than_is_shown() -> None:
    small = {"t": "array", "dtype": "float8_e5m2", "shape": [80], "v": in_base64(np.ones(80, "u1"))}
    values = [
        decode_result({"t": "list", "v": [small] * 39_000}),
        decode_result(
            {"t": "dict", "v": [[{"t": "int", "v": str(n)}, small] for n in range(4_000)]}
        ),
        decode_result({"t": "tuple", "v": [{"t": "int", "v": "9" * 4300}] * 1_500}),
        "\x7f" * RESULT.size,
        b"\0" * RESULT.size,
        " " * RESULT.size,
    ]
    for value in values:
        told: list[str] = []
        assert peak_of(lambda: told.append(format_result(value))) < 1e6  # noqa: B023
        assert told[0].endswith("…")
        assert len(told[0]) <= 80


@pytest.mark.parametrize(
    "value, text",
    [
        (1, "1"), (None, "None"), ("a  b\n", r"'a b\n'"), ([1, "a", 2.5], "(1, 'a', 2.5)"),
        ([], "()"), ({}, "{}"), ({3, 1}, "{1, 3}"), ({"a": [1], 2: {}}, "{'a': (1), 2: {}}"),
        (np.arange(3), "[0, 1, 2] (int64)"), (np.float32(2), "2.0"), (len, "a function"),
        ([np.zeros((1, 2))], "([[0.0, 0.0]] (float64))"), ("x" * 90, "'" + "x" * 78 + "…"),
        (np.arange(100), f"[{', '.join(map(str, range(22)))}, …"),
    ],
)  # fmt: skip
def test_small_results_are_shown_whole(value: object, text: str) -> None:
    assert format_result(decode_result(encode_result(value))) == text


def test_sets_of_what_collides_take_no_time() -> None:
    modulus = 2**61 - 1  # by which Python hashes whole numbers
    items = [{"t": "int", "v": str(n * modulus)} for n in range(19_000)]
    with in_time():
        with pytest.raises(ValueError, match="items of a set"):
            decode_result({"t": "set", "v": items})
        assert len(decode_input({"t": "set", "v": items[:5_000]})) == 5_000
    assert decode_result({"t": "set", "v": items[:2]}) == SetOf((0, modulus))
