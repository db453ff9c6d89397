"""What the kernel says of a value, and what is believed of it left of the wall."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.runtime.kernels import ask
from grader.runtime.kernels.ask import GarbledError, check_raw
from grader.wire import encoding
from grader.wire.encoding import encode_answer as encode

INT_1 = {"t": "int", "v": "1"}


class LyingFloat(float):
    def __repr__(self) -> str:
        return "28.0"

    def __float__(self) -> float:
        raise SystemExit


class LyingList(list[Any]):
    def __iter__(self):
        raise KeyboardInterrupt

    def __len__(self) -> int:
        return 0


class Shy:
    def __getattribute__(self, name: str) -> object:
        raise RuntimeError(name)


class Leaving:
    def __getattribute__(self, name: str) -> object:
        raise SystemExit(name)


class Name(str):
    def __add__(self, other: str) -> str:
        raise AssertionError("this is code of the student's, and may take for ever")

    __radd__ = __add__


class NamedByCode(type):
    def __getattribute__(cls, name: str) -> object:
        return Name(name)


@pytest.mark.parametrize(
    "value, raw",
    [
        (28, {"t": "int", "v": "28"}),
        (-(10**400), {"t": "int", "v": str(-(10**400))}),
        (28.5, {"t": "float", "v": "28.5"}),
        (float("nan"), {"t": "float", "v": "nan"}),
        (float("-inf"), {"t": "float", "v": "-inf"}),
        (True, {"t": "bool", "v": True}),
        (None, {"t": "none"}),
        (..., {"t": "ellipsis"}),
        (1 + 2j, {"t": "complex", "v": "(1+2j)"}),
        ("28 GB", {"t": "str", "v": "28 GB", "cut": False}),
        ("a\ud800\0", {"t": "str", "v": "a?\ufffd", "cut": False}),
        ((1, "x"), {"t": "list", "v": [INT_1, {"t": "str", "v": "x", "cut": False}]}),
        (range(1, 2), {"t": "list", "v": [INT_1]}),
        ({2, 1}, {"t": "set", "v": [INT_1, {"t": "int", "v": "2"}]}),
        ({1: None}, {"t": "dict", "v": [[INT_1, {"t": "none"}]]}),
        (Fraction(1, 4), {"t": "float", "v": "0.25", "from": "fractions.Fraction"}),
        (Decimal("0.5"), {"t": "float", "v": "0.5", "from": "decimal.Decimal"}),
        (np.float32(1.5), {"t": "float", "v": "1.5", "from": "numpy.float32"}),
        (np.float64(1.5), {"t": "float", "v": "1.5", "from": "numpy.float64"}),
        (np.int8(3), {"t": "int", "v": "3", "from": "numpy.int8"}),
        (np.bool_(True), {"t": "bool", "v": True, "from": "numpy.bool"}),
        (np.array(2), {"t": "int", "v": "2", "from": "numpy.int64"}),
        (np.array([1]), {"t": "array", "shape": [1], "dtype": "int64", "v": [INT_1]}),
        (np.zeros((40, 50)), {"t": "array", "shape": [40, 50], "dtype": "float64", "v": None}),
        (np.datetime64("2026-01-01"), {"t": "object", "type": "numpy.datetime64"}),
        (print, {"t": "object", "type": "builtins.builtin_function_or_method"}),
        (LyingFloat(7), {"t": "float", "v": "7.0"}),
        (LyingList([1]), {"t": "list", "v": [INT_1]}),
    ],
)
def test_a_value_has_one_form(value: object, raw: object) -> None:
    assert encode(value) == raw


def test_torch_values_are_told_from_python_ones_by_where_they_come_from() -> None:
    torch = pytest.importorskip("torch")
    half = torch.tensor(1.5, dtype=torch.bfloat16, requires_grad=True)
    assert encode(half) == {"t": "float", "v": "1.5", "from": "torch.bfloat16"}
    assert encode(torch.tensor([[1]])) == {
        "t": "array",
        "shape": [1, 1],
        "dtype": "int64",
        "v": [[INT_1]],
    }
    assert encode(torch.empty(2, device="meta")) == {"t": "object", "type": "torch.Tensor"}


def test_large_values_are_cut_or_named_and_never_sent() -> None:
    assert encode(10**5000) == {"t": "int", "digits": 5001}
    assert encode("x" * 10_001) == {"t": "str", "v": "x" * 10_000, "cut": True}
    assert encode(range(10**12))["large"] is True
    assert encode(["x" * 9_000] * 20) == {"t": "object", "type": "builtins.list", "large": True}
    nested: list[object] = []
    nested.append(nested)
    assert encode(nested) == {"t": "object", "type": "builtins.list", "large": True}


def test_an_object_that_can_not_be_looked_at_is_an_object() -> None:
    assert encode(Shy())["t"] == "object"
    assert encode([1, Shy()])["v"][1]["t"] == "object"
    assert encode([1, Leaving()])["v"][1]["t"] == "object"


def test_the_name_of_a_class_is_not_computed_by_its_own_code() -> None:
    odd = NamedByCode("Odd", (), {})()
    assert encode(odd) == {"t": "object", "type": "__module__.__qualname__"}


def test_one_huge_answer_does_not_crowd_out_the_others() -> None:
    space = {f"n{i}": ["x" * 9_000] * 11 for i in range(40)} | {"last": 1}
    said = ask.parse_values((*space,), reply(encoding.encode_answers(space, space)))
    assert said.values["n0"]["t"] == "list"
    crowded = {"t": "object", "type": "builtins.list", "large": True, "crowded": True}
    assert said.values["n39"] == crowded
    assert said.values["last"] == INT_1


def reply(text: object) -> dict[str, Any]:
    shown = {"status": "ok", "data": {"text/plain": f"'{text}'"}, "metadata": {}}
    return {"status": "ok", "user_expressions": {"said": shown}}


def packed(data: object) -> dict[str, Any]:
    return reply(base64.b64encode(json.dumps(data).encode()).decode())


def test_names_that_are_not_defined_are_told_from_those_that_are_none() -> None:
    said = ask.parse_values(
        ("x", "y", "z"), reply(encoding.encode_answers(("x", "y", "z"), {"x": 1, "y": None}))
    )
    assert dict(said.values) == {"x": INT_1, "y": {"t": "none"}}
    assert not said.garbled_names


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text()
values = st.recursive(
    plain,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.thorough
@given(values)
def test_what_the_probe_says_is_strict_json_and_passes_the_check_unchanged(value: object) -> None:
    raw = json.loads(json.dumps(encode(value), allow_nan=False))
    assert check_raw(raw) == raw


def test_what_is_not_of_the_form_is_dropped() -> None:
    assert check_raw({"t": "int", "v": "1", "verdict": "correct"}) == INT_1


@pytest.mark.parametrize(
    "forged",
    [
        None,
        "28",
        {},
        {"t": "number", "v": "28"},
        {"t": ["int"], "v": "28"},
        {"t": "int", "v": 28},
        {"t": "int", "v": "2_8"},
        {"t": "int", "v": "٣"},
        {"t": "int", "v": "9" * 4_301},
        {"t": "int", "digits": -1},
        {"t": "float", "v": "__import__('os')"},
        {"t": "float", "v": "1e999\n"},
        {"t": "float", "v": 1.5},
        {"t": "complex", "v": "("},
        {"t": "bool", "v": 1},
        {"t": "str", "v": "x" * 10_001, "cut": True},
        {"t": "str", "v": "x"},
        {"t": "list", "v": "ab"},
        {"t": "list", "v": [INT_1] * 2_001},
        {"t": "dict", "v": [[INT_1]]},
        {"t": "dict", "v": {"a": INT_1}},
        {"t": "array", "shape": [2], "dtype": "int64", "v": [INT_1]},
        {"t": "array", "shape": [-1], "dtype": "int64", "v": None},
        {"t": "array", "shape": 3, "dtype": "int64", "v": None},
        {"t": "object", "type": "x" * 201},
        {"t": "int", "v": "1", "from": 3},
    ],
)
def test_forged_answers_are_garbled(forged: object) -> None:
    with pytest.raises(GarbledError):
        check_raw(forged)
    if forged is not None:
        said = ask.parse_values(("q1_x", "q2_y"), packed({"q1_x": forged, "q2_y": INT_1}))
        assert said.garbled_names == {"q1_x"}
        assert dict(said.values) == {"q2_y": INT_1}


def test_deep_nesting_is_garbled_however_deep() -> None:
    deep: dict[str, Any] = INT_1
    for _ in range(50):
        deep = {"t": "list", "v": [deep]}
    assert ask.parse_values(("x",), packed({"x": deep})).garbled_names == {"x"}
    bomb = base64.b64encode(b'{"x": ' + b"[" * 200_000).decode()
    assert ask.parse_values(("x",), reply(bomb)).garbled_names == {"x"}


@pytest.mark.thorough
@given(st.none() | st.text() | st.dictionaries(st.text(), values, max_size=3))
def test_any_reply_at_all_is_read_without_an_error(content: object) -> None:
    assert ask.parse_values(("x",), content).garbled_names == {"x"}
    assert ask.parse_values(("x",), reply(content)).values == {}
