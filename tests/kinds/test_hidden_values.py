"""What comes from a kernel is read without trust, and compared without saying what was expected."""

from __future__ import annotations

import base64
import contextlib
import json
import tracemalloc
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.kinds.hidden import analysis, judging, source
from grader.kinds.hidden.compare import Closeness, difference
from grader.kinds.hidden.forbidden_use import find_forbidden_use
from grader.runtime.execute.calls import read_reply
from grader.wire.encoding import _DECODED, RESULT, UnfitError, encode_result
from grader.wire.values import ArrayValue, decode_result, digest_of_result
from tests.helpers.code import a_code_key
from tests.helpers.fuzz import in_time

EXACT = Closeness(relative=0.0, absolute=0.0)
NEAR = Closeness(relative=1e-5, absolute=1e-7)


def differs(got: object, want: object, near: Closeness = NEAR) -> str | None:
    return difference(
        decode_result(encode_result(got)),
        decode_result(encode_result(want)),
        near,
    )


# -- reading

leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["AAAA", "AAAAAAAAAAA=", "1e999", "nan", "-inf", "9" * 5000, "1+2j", "(1j)",
                       "bool", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64"])
)  # fmt: skip
tags = st.sampled_from([*_DECODED, "object", "?"])
fields = st.sampled_from(["t", "v", "shape", "dtype", "type"])
anything = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(fields, inner, max_size=4)
        | st.fixed_dictionaries(
            {"t": tags},
            optional={"v": inner, "shape": st.lists(st.integers(-1, 5) | inner), "dtype": inner},
        )
        | st.fixed_dictionaries(
            {"t": st.sampled_from(["list", "tuple", "set", "dict"]), "v": st.lists(inner)}
        )
    ),
    max_leaves=20,
)


@pytest.mark.thorough
@given(anything)
@settings(max_examples=200)
def test_reading_any_json_gives_a_value_or_a_value_error(raw: object) -> None:
    with in_time():
        try:
            value = decode_result(raw)
        except ValueError:
            return
        # And then everything else can be done with it.
        assert difference(value, value, EXACT) is None or "'object'" in repr(raw)
        difference(value, 1, EXACT)
        difference(1, value, EXACT)
        digest_of_result(raw)


def a_raw(**changes: Any) -> dict[str, Any]:
    data = base64.b64encode(np.arange(6.0).tobytes()).decode()
    return {"t": "array", "dtype": "float64", "shape": [2, 3], "v": data, **changes}


DAMAGED: list[object] = [
    None, [], 3, {"t": []}, {"t": {}}, {"t": None}, {"t": "nothing"}, {},
    {"t": "int", "v": 3}, {"t": "int", "v": "9" * 4301}, {"t": "int", "v": "٣"},
    {"t": "int", "v": "1_0"}, {"t": "int", "v": " 1"}, {"t": "int", "v": "1\n"},
    {"t": "float", "v": "1_0.0"}, {"t": "float", "v": "0x1p3"}, {"t": "float", "v": 1.0},
    {"t": "complex", "v": "__import__"}, {"t": "complex", "v": "1e5"}, {"t": "complex", "v": []},
    {"t": "bool", "v": 1}, {"t": "str", "v": b""}, {"t": "str", "v": "x" * (RESULT.size + 1)},
    {"t": "bytes", "v": "?"}, {"t": "bytes", "v": "A"}, {"t": "bytes", "v": "ä"},
    {"t": "bytes", "v": base64.b64encode(bytes(RESULT.size + 1)).decode()},
    {"t": "list", "v": "ab"}, {"t": "list", "v": {"a": 1}}, {"t": "list"}, {"t": "list", "v": [1]},
    {"t": "dict", "v": 5}, {"t": "dict", "v": "ab"}, {"t": "dict", "v": [[]]},
    {"t": "dict", "v": [[{"t": "list", "v": []}, {"t": "none"}]]},
    {"t": "dict", "v": [[{"t": "tuple", "v": [{"t": "list", "v": []}]}, {"t": "none"}]]},
    {"t": "dict", "v": [[{"t": "none"}, {"t": "none"}, {"t": "none"}]]},
    {"t": "object", "type": "x" * 301}, {"t": "object"},
    {"t": "list", "v": [{"t": "none"}] * (2 * RESULT.items)},
    a_raw(shape=None), a_raw(shape=[6, "1"]), a_raw(shape=[-2, -3]), a_raw(shape=[True, 6]),
    a_raw(shape=[7]), a_raw(shape=[10**7, 10**7]), a_raw(shape=[10**30]), a_raw(shape=[1.0, 6]),
    a_raw(shape=[1] * 40), a_raw(shape=[0, 10**6, 10**6, 10**6, 10**6]), a_raw(shape=[]),
    a_raw(dtype="O"), a_raw(dtype="object"), a_raw(dtype="V8"), a_raw(dtype="U2"),
    a_raw(dtype="float64,float64"), a_raw(dtype="<f8"), a_raw(dtype="datetime64"),
    a_raw(dtype="complex32"), a_raw(dtype="bfloat32"), a_raw(dtype="float8"), a_raw(dtype=None),
    a_raw(dtype="float8_e8m0fnu"), a_raw(dtype="int32_e4m3"), a_raw(dtype="complex256"),
    a_raw(v="AAAA"), a_raw(v=None), a_raw(v=[0.0] * 6),
    {"t": "array", "dtype": "bool", "shape": [3], "v": base64.b64encode(b"\0\1\2").decode()},
    {"t": "array", "dtype": "bfloat16", "shape": [1], "v": "AA=="},
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(DAMAGED)))
def test_what_encode_never_says_is_refused(number: int) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # which of its sentences, nobody reads
        decode_result(DAMAGED[number])


def test_a_shape_without_numbers_takes_no_memory() -> None:
    for shape in ([0], [0, 1_000_000], [3, 0, 2]):
        found = decode_result({"t": "tensor", "dtype": "float32", "shape": shape, "v": ""})
        assert isinstance(found, ArrayValue)
        assert found.shape == tuple(shape)


def test_reading_takes_memory_in_proportion_to_what_was_said() -> None:
    small = base64.b64encode(bytes(10)).decode()
    wide = base64.b64encode(bytes(RESULT.size)).decode()
    for raw, most in (
        (a_raw(shape=[10**7], v=small), 1e5),
        (a_raw(dtype="float8_e4m3fn", shape=[RESULT.size], v=wide), 60e6),
        (a_raw(dtype="bfloat16", shape=[RESULT.size // 2], v=wide), 60e6),
    ):
        tracemalloc.start()
        try:
            decode_result(raw)
        except ValueError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < most


@pytest.mark.thorough
def test_keys_that_all_collide_take_no_time() -> None:
    modulus = 2**61 - 1  # by which Python hashes whole numbers
    for count, fine in ((4_000, True), (19_000, False)):
        keys = ({"t": "int", "v": str(n * modulus)} for n in range(count))
        raw = {"t": "dict", "v": [[key, {"t": "none"}] for key in keys]}
        with in_time():
            try:
                assert len(decode_result(raw)) == count  # type: ignore[arg-type]
            except ValueError:
                assert not fine


def nested(form: str, depth: int) -> str:
    before, inner, after = {
        "value": ('{"t": "list", "v": [', '{"t": "none"}', "]}"),
        "list": ("[", '{"t": "none"}', "]"),
        "dict": ('{"v": ', "1", "}"),
    }[form]
    return before * depth + inner + after * depth


FORGED = {
    "none": None,
    "empty": "",
    "no base64": "äöü",
    "text": "hello",
    "list": "[]",
    "number": "3",
    "nan": '{"is": "returned", "v": {"t": "x", "v": NaN}}',
    "infinity": '{"is": "returned", "v": {"t": "x", "v": -Infinity}}',
    "float": '{"is": "returned", "v": {"t": "x", "v": 1.5}}',
    "null": '{"is": "returned", "v": {"t": "x", "v": null}}',
    "long": '{"is": "returned", "v": {"t": "x", "v": ' + "9" * 5000 + "}}",
    "rather long": '{"is": "returned", "v": {"t": "x", "v": ' + "9" * 4000 + "}}",
    "tag": '{"is": "returned", "v": {"t": ["x"]}}',
    "no value": '{"is": "returned"}',
    "is": '{"is": []}',
    "is else": '{"is": "right", "share": 1}',
    "ours": '{"is": "unmade", "what": "x"}',
    "died": '{"is": "died", "what": "x"}',
    "raised": '{"is": "raised", "type": 3, "what": ""}',
    "line": '{"is": "raised", "type": "E", "what": "", "line": true}',
    "long text": json.dumps({"is": "raised", "type": "E", "what": "x" * 301}),
    "changed": '{"is": "returned", "v": {"t": "none"}, "changed": "x"}',
    "many": '{"is": "returned", "v": {"t": "list", "v": [' + "[]," * 400_000 + "[]]}}",
    **{
        f"{form} {depth}": f'{{"is": "returned", "v": {{"t": "list", "v": {nested(form, depth)}}}}}'
        for form in ("value", "list", "dict")
        for depth in (100, 500, 5_000, 100_000)
    },
}


@pytest.mark.parametrize("said", FORGED.values(), ids=FORGED)
def test_forged_replies_are_garbled_and_nothing_worse(said: str | None) -> None:
    text = said if said is None else base64.b64encode(said.encode()).decode()
    with in_time():
        assert read_reply(text) == {"is": "garbled"}
        assert read_reply(said) == {"is": "garbled"}


replies = st.dictionaries(
    st.sampled_from(["is", "v", "type", "what", "line", "changed", "seconds", "call"]),
    anything | st.sampled_from(["returned", "raised", "unfit", "late", "died", "unmade"]),
)


@pytest.mark.thorough
@given(replies)
@settings(max_examples=100)
def test_whatever_is_said_can_be_kept_and_judged(said: dict[str, Any]) -> None:
    found = read_reply(base64.b64encode(json.dumps(said).encode()).decode())
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["is"] in ("returned", "raised", "unfit", "late", "garbled")
    assert not {"seconds", "call"} & {*found}
    kind, key = KIND, KEY
    digests = key.call_plan("scaled").digests
    calls = [{"call": digest, **found} for digest in digests]
    raw = {"t": "code", "source": "def scaled(): pass", "name": "scaled", "calls": calls}
    judgment = kind.judge(kind.read(raw, key), key)
    # Only if a limit of the grader may have cut the result, a person decides.
    assert judgment.share == (None if says_a_limit_cut_it(found) else 0)
    assert judgment.note.isprintable()


def says_a_limit_cut_it(found: Mapping[str, Any]) -> bool:
    return found["is"] == "unfit" and found["type"] != UnfitError.__name__


KEY = a_code_key()
KIND = __import__("grader.kinds", fromlist=["kinds"]).kinds.find("code")


# -- comparing

ALIKE: list[tuple[object, object]] = [
    (1, 1), (1.0, 1), (1, 1.0), (np.float32(1), 1.0), (np.array(2), 2), (True, np.bool_(True)),
    (10**400, 10**400), (float("nan"), np.nan), (np.inf, np.inf), (1 + 0j, 1.0), (1.0, 1.0 + 1e-6),
    ((1, 2), [1, 2]), ([], ()), ({"a": [1]}, {"a": (1,)}), (None, None), ("x", "x"), (b"x", b"x"),
    ({1, 2}, {2, 1}), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({True: 1}, {1: 1}),
    (np.array([1.0, np.nan, np.inf]), np.array([1.0 + 1e-6, np.nan, np.inf])),
    (np.array([1 + 1j]), np.array([1 + 1j])), (np.zeros((2, 0)), np.zeros((2, 0))),
    (np.array([2**62 + 1]), np.array([2**62 + 1])), (np.array([True]), np.array([True])),
    (1e308, 1e308 * (1 + 1e-9)), (0.0, -0.0),
    # Keys and items that equal one another, whoever made them.
    ({np.int64(1): 2}, {1: 2}), ({np.float32(0.5): 1, np.uint8(3): 2}, {0.5: 1, 3: 2}),
    ({(np.int64(1), "a"): 2}, {(1, "a"): 2}), ({np.str_("a"): 1}, {"a": 1}),
    ({np.int64(10), 3}, {10, 3}), ({2, np.float64(10.0), -1.0}, {2, 10, -1}),
    ({(np.int64(10), 1), (3, 1)}, {(10, 1), (3, 1)}),
    # Rounding errors don't change which items belong together.
    ({2 - 2**-52, 10.0}, {2.0, 10.0}), ({(2 - 2**-52, 1), (10.0, 1)}, {(2.0, 1), (10.0, 1)}),
    ({frozenset({1, 10}): 1, frozenset({2}): 2}, {frozenset({10.0, 1}): 1, frozenset({2.0}): 2}),
    ({frozenset({9, 2}), frozenset({1})}, {frozenset({1}), frozenset({2, 9})}),
    ({1, "a", b"b", 1j, None, (1, "a")}, {(1, "a"), None, 1j, b"b", "a", 1}),
    (1_000_000 + 1e-9, 1_000_000), (3e17, 3 * 10**17 + 1), (1e300, 10**300), (1 + 0j, 1),
]  # fmt: skip
UNLIKE: list[tuple[object, object]] = [
    (1, True), (True, 1), (1, 2), (100_001, 100_000), (10**400, 1.0), (1.0, 10**400), ("1", 1),
    (5.0, np.inf), (-np.inf, np.inf), (np.inf, 5.0), (np.nan, 5.0), (5.0, np.nan), (1.0, 1.1),
    (10**400, np.inf), (complex(0, np.inf), complex(np.inf, 0)), (1j, 1.0), (None, 0), (0, None),
    ([1], 1), (1, [1]), ([1, 2], [2, 1]), ([1], [1, 1]), ({"a": 1}, {"b": 1}), ({"a": 1}, {}),
    ({}, {"a": 1}), ([], {}), ({1}, {2}), ("a", "b"), (b"a", "a"), ([True], [1]),
    (np.zeros(3), [0.0, 0.0, 0.0]), ([0.0, 0.0], np.zeros(2)), (np.zeros(3), np.zeros(4)),
    (np.zeros((2, 0)), np.zeros((0, 2))), (np.zeros(3), np.zeros((3, 1))),
    (np.zeros(3, np.float32), np.zeros(3)), (np.zeros(3, np.int32), np.zeros(3, np.int64)),
    (np.array([5.0]), np.array([np.inf])), (np.array([-np.inf]), np.array([np.inf])),
    (np.array([np.nan]), np.array([5.0])), (np.array([5.0]), np.array([np.nan])),
    (np.array([100_001]), np.array([100_000])), (np.array([2**62 + 1]), np.array([2**62])),
    ({np.int64(1): 2}, {2: 2}), ({np.float64(1.5): 2}, {1: 2}), ({np.int64(10), 3}, {10, 4}),
    (1_000_000.0, 1_000_001), (1.5, 1), (1e17, 10**17 + 1000), (np.inf, 1), ([1], {1}), ({1}, [1]),
    ({1}, {1: 1}), ({1: 1}, {1}), ({1}, {1, 2}), ({frozenset({1}): 1}, {frozenset({2}): 1}),
    (np.array([True]), np.array([False])), (object(), object()), (object(), 1), (1, object()),
]  # fmt: skip


@pytest.mark.parametrize("got, want", ALIKE, ids=range(len(ALIKE)))
def test_alike(got: object, want: object) -> None:
    assert differs(got, want) is None


@pytest.mark.parametrize("got, want", UNLIKE)  # an id with an address differs between workers
def test_unlike(got: object, want: object) -> None:
    why = differs(got, want)
    assert why is not None
    assert why.startswith(("the result ", "an item ", "'a' of "))


def test_tensors_and_arrays_are_not_one_another() -> None:
    raw = {**a_raw(), "t": "tensor"}
    assert (
        difference(decode_result(raw), decode_result(a_raw()), NEAR)
        == "the result is a tensor, not an array"
    )


def test_types_of_numbers_count_unless_they_need_not() -> None:
    one, other = np.zeros(3, np.float32), np.zeros(3)
    assert differs(one, other) == "the result has a wrong dtype"
    assert differs(one, other, Closeness(dtype=False)) is None
    assert differs(np.zeros(3, int), other, Closeness(dtype=False)) is None


def test_whole_numbers_are_near_by_the_absolute_alone() -> None:
    wide = Closeness(relative=0.5, absolute=1.0)
    assert differs(9, 10, wide) is None
    assert differs(8, 10, wide) is not None
    assert differs(np.array([9]), np.array([10]), wide) is None
    assert differs(np.array([8]), np.array([10]), wide) is not None
    assert differs(9.0, 10, wide) is None
    assert differs(8.0, 10, wide) is not None


def test_a_float_in_place_of_a_whole_number_must_be_it_up_to_rounding_errors() -> None:
    any_type = Closeness(dtype=False)
    want = np.array([1_000_001, 3 * 10**17 + 1])
    assert differs(np.array([1_000_001 + 1e-9, 3e17]), want, any_type) is None
    assert differs(np.array([1_000_000.0, 3e17]), want, any_type) == "the result has wrong values"
    assert differs(np.array([1_000_001 + 0j, 3e17]), want, any_type) is None


def test_what_is_wrong_is_said_without_how_much_and_where() -> None:
    want, got = np.arange(4.0), np.array([0.0, 1.0, 2.0, 4.0])
    assert differs(got, want) == "the result has wrong values"
    assert differs(want + 1, want) == "the result has wrong values"
    assert differs([1, {"a": 2}], [1, {"a": 3}]) == "'a' of an item of the result has a wrong value"
    assert differs(len, [1]) == "the result is a function, not a list"
    assert differs([1], {1}) == "the result is a list, not a set"
    assert differs({1}, {2}) == "an item of the result has a wrong value"
    assert differs({1}, {1, 2}) == "the result has a wrong number of items"
    assert differs({}, {"a": 1}) == "the result lacks 'a'"
    assert differs({}, {2: 1}) == "the result lacks one of the keys"


# -- what a student may read

TOKEN = "s3cr3t"


class SpyMeta(type):
    pass


Spy = SpyMeta(TOKEN, (), {"__module__": TOKEN, "__qualname__": TOKEN})
SPIED: list[tuple[object, object]] = [
    (Spy(), 1), (Spy, 1), (TOKEN, "x"), (TOKEN, 1), ({TOKEN: 1}, {}), ({TOKEN: 1}, {"a": 1}),
    ({"a": 1, TOKEN: 1}, {"a": 1}), ([TOKEN], [1]), (np.array([TOKEN]), 1), (1, {TOKEN + "!": 1}),
    ({}, {TOKEN + "!": 1}), (TOKEN.encode(), 1), (np.zeros((0, *TOKEN[:3].encode())), np.zeros(2)),
    (np.zeros((0, *TOKEN[:3].encode())), 1),
]  # fmt: skip


@pytest.mark.parametrize("got, want", SPIED, ids=range(len(SPIED)))
def test_nothing_that_a_student_named_is_said_of_a_result(got: object, want: object) -> None:
    why = differs(got, want)
    assert why
    assert TOKEN not in why
    assert not all(str(code) in why for code in TOKEN[:3].encode())


TOOL = """
class RaceError(Exception): pass
def check(i, j):
    if i: raise RaceError(f"thread {i} meets {j!r:>3} here")
    raise ValueError("the result is cut off from the graph")
"""


@pytest.mark.parametrize(
    "kind, what, told",
    [
        ("ValueError", TOKEN, ("ValueError", "")),
        ("ZeroDivisionError", "", ("ZeroDivisionError", "")),
        (TOKEN, TOKEN, ("an exception of another type", "")),
        ("RaceError", "thread 1 meets 2 here", ("RaceError", "thread … meets … here")),
        ("RaceError", f"thread {TOKEN} meets \n here", ("RaceError", "thread … meets … here")),
        ("RaceError", TOKEN, ("RaceError", "")),
        ("RaceError", "x" * 400, ("RaceError", "")),
        ("ValueError", "thread 1 meets 2 here", ("ValueError", "")),
        ("ValueError", "the result is cut off from the graph",
         ("ValueError", "the result is cut off from the graph")),
        (None, None, ("an exception of another type", "")),
        ("print", "", ("an exception of another type", "")),
    ],
)  # fmt: skip
def test_of_an_exception_what_our_own_sources_say(
    kind: object, what: object, told: tuple[str, str]
) -> None:
    assert judging.describe_exception(kind, what, (TOOL, "")) == told


# -- rules

SOFTMAX = ("torch.softmax",)
BREAKS = {
    "plain": "import torch\ntorch.softmax(x, 0)",
    "alias": "import torch as t\nt.softmax(x, 0)",
    "from": "from torch import softmax",
    "from as": "from torch import softmax as s\ns(x, 0)",
    "star": "from torch import *\nsoftmax(x, 0)",
    "method": "x.softmax(-1)",
    "elsewhere": "import torch\ntorch.nn.functional.softmax(x)",
    "unbound": "import torch\ntorch.Tensor.softmax(x, 0)",
    "getattr": "getattr(torch, 'softmax')(x)",
    "in pieces": "getattr(torch, 'soft' + 'max')(x)",
    "dict": "torch.__dict__['softmax'](x)",
    "vars": "vars(torch)['softmax'](x)",
    "attrgetter": "import operator\noperator.attrgetter('softmax')(torch)",
    "another name": "import torch\nt = torch\nt.softmax(x)",
    "renamed": "import torch\ns = torch.softmax\ns(x)",
    "two meanings": "import torch, math\nt = math\nt = torch\nt.softmax(x)",
    "eval": "eval('tor' 'ch.softmax')(x)",
    "exec": "exec(text)",
    "compile": "compile(text, '', 'exec')",
    "builtins": "import builtins\nbuiltins.exec(text)",
    "magic": "get_ipython().run_line_magic('time', 'y = 1')",
    "inner": "def f(x):\n    def g():\n        from torch import softmax\n    return g()",
    "from elsewhere": "from torch.nn.functional import softmax as s\ns(x, 0)",
    "attrgetter inside": "import operator\noperator.attrgetter('nn.functional.softmax')(torch)",
    "by get": "vars(torch).get('softmax')(x)",
    "modules": "import sys\nsys.modules['torch.softmax']",
    "variable": "import torch\nname = 'softmax'\ngetattr(torch, name)(x)",
    "bare builtins": "__builtins__.eval(text)",
    "main": "import __main__\n__main__.helper(x)",
    "from main": "from __main__ import helper\nhelper(x)",
    "main of modules": "import sys\nsys.modules['__main__'].helper(x)",
    "own module": "from sys import modules\nmodules.get(__name__).helper(x)",
    "its globals": "def f(x): return f.__globals__['helper'](x)",
    "a frame's": "import sys\nsys._getframe().f_globals['helper'](x)",
    "locals": "def f(x, g=locals()['helper']): return g(x)",
    "own vars": "def f(x, g=vars()['helper']): return g(x)",
}
KEEPS = {
    "own": "def softmax(x): return x\nsoftmax(1)",
    "other package": "import numpy as np\nnp.softmax(x)",
    "text": "'torch.softmax'",
    "comment": "# torch.softmax",
    "docstring": "def f(x):\n    'like torch.softmax'\n    return x",
    "argument": "def f(softmax): return softmax + 1",
    "own attribute": "class A:\n    def f(self): return self.softmax",
    "model": "model.eval()\nimport torch\ntorch.compile(f)",
    "regex": "import re\nre.compile('a')",
    "broken": "def f(:",
    "nothing": "",
    "other names of it": "from torch.nn.functional import relu, log_softmax\nrelu(log_softmax(x))",
    "another by name": "import torch\ngetattr(torch, 'float32')",
    "another in pieces": "import torch\ngetattr(torch, f'float{bits}')",
    "of an object": "getattr(model, name)(x)",
    "of another package": "import numpy as np, torch\ngetattr(np, name)",
    "modules of its own": "class A:\n    def f(self, i): return self.modules[i]",
    "vars of an object": "vars(x)['a']",
    "its own variables": "def f(x):\n    y = lambda: locals()\n    return vars(), locals()",
    "dicts": "known = {}\nknown[name]\nknown.get(name)",
    "main guard": "if __name__ == '__main__': f()",
}


@pytest.mark.parametrize("code", BREAKS.values(), ids=BREAKS)
def test_breaks_the_rule(code: str) -> None:
    assert find_forbidden_use(code, SOFTMAX)
    assert find_forbidden_use(code, ()) is None


@pytest.mark.parametrize("code", KEEPS.values(), ids=KEEPS)
def test_keeps_the_rule(code: str) -> None:
    assert find_forbidden_use(code, SOFTMAX) is None


@pytest.mark.parametrize(
    "rule, code, holds",
    [
        ("torch.optim", "from torch.optim import Adam", False),
        ("torch.optim", "import torch.optim.adam as a", False),
        ("torch.optim", "import torch\ntorch.optim.Adam(p)", False),
        ("torch.optim", "class A:\n    def f(self): self.optim.step()", True),
        ("sum", "sum(x)", False),
        ("sum", "import builtins\nbuiltins.sum(x)", False),
        ("sum", "x.sum()", True),
        ("math.fsum", "import numpy as np\nnp.sum(x)", True),
        ("loops", "for i in x: pass", False),
        ("loops", "while x: pass", False),
        ("loops", "[i for i in x]", False),
        ("loops", "sum(i for i in x)", False),
        ("loops", "list(map(f, x))", False),
        ("loops", "import numpy as np\nnp.vectorize(f)(x)", False),
        ("loops", "from functools import reduce\nreduce(f, x)", False),
        ("loops", "exec('for i in x: pass')", False),
        ("loops", "import numpy as np\nnp.add.reduce(x)", True),
        ("loops", "frame.map(f)", True),
        ("loops", "import builtins\nlist(builtins.map(f, x))", False),
        ("loops", "import builtins as b\nlist(getattr(b, 'map')(f, x))", False),
        ("loops", "from itertools import starmap\nlist(starmap(f, x))", False),
        ("loops", "import itertools\nlist(itertools.accumulate(x, f))", False),
        ("loops", "import numpy as np\ngetattr(np, 'vectorize')(f)(x)", False),
        ("loops", "from numpy import *\nvectorize(f)(x)", False),
        ("loops", "import numpy.lib as l\nl.function_base.vectorize(f)(x)", False),
        ("loops", "import numpy as np\nadd = np.add\nadd.accumulate(x)", True),
        ("loops", "import numpy as np\ngetattr(np, f'uint{bits}')(x)", True),
        ("loops", "getattr(frame, 'map')(f)", True),
        ("torch.optim", "import importlib\nimportlib.import_module('torch.optim.adam')", False),
        ("torch.optim", "import sys\nsys.modules['torch.optim'].Adam", False),
        ("torch.optim", "import torch.distributed.optim", True),
        ("torch.distributed.all_reduce",
         "from torch.distributed.distributed_c10d import all_reduce as a\na(x)", False),
        ("loops", "x @ y", True),
    ],
)  # fmt: skip
def test_rules(rule: str, code: str, holds: bool) -> None:
    assert (find_forbidden_use(code, (rule,)) is None) is holds


# -- what a name is made of


@pytest.mark.thorough
@pytest.mark.parametrize(
    "cells, found",
    [
        (["def f(): return 1", "def g(): return 2"], "def f(): return 1"),
        (["import numpy as np", "k = 3", "def f(x): return np.exp(k * h(x))", "def h(x): return x"],
         "import numpy as np\nk = 3\ndef f(x): return np.exp(k * h(x))\ndef h(x): return x"),
        (["def f(): return 1", "def f(): return 2"], "def f(): return 1\ndef f(): return 2"),
        (["def g(): return 1", "f = g"], "def g(): return 1\nf = g"),
        (["x = 1", "def f(x):\n    y = x\n    return y", "y = 2"],
         "def f(x):\n    y = x\n    return y"),
        (["t = {}", "for i in range(3): t[i] = i", "def f(): return t"],
         "t = {}\nfor i in range(3): t[i] = i\ndef f(): return t"),
        (["class A: pass", "A.k = 3", "setattr(A, 'm', 4)", "f = A"],
         "class A: pass\nA.k = 3\nsetattr(A, 'm', 4)\nf = A"),
        (["def s():\n    global k\n    k = 1", "def f(): return k"],
         "def s():\n    global k\n    k = 1\ndef f(): return k"),
        (["if True:\n    def f(): return 1\nelse:\n    f = None"],
         "if True:\n    def f(): return 1\nelse:\n    f = None"),
        (["@cache\ndef f(): return 1", "from functools import cache"],
         "@cache\ndef f(): return 1\nfrom functools import cache"),
        (["a = 1; b = a", "def f(): return a + b"], "a = 1; b = a\ndef f(): return a + b"),
        (["%%time\ndef f(): return 1"], "def f(): return 1"),
        (["def f(): return 1\nf?"], "def f(): return 1"),
        (["files = !ls\ndef f(): return 1"], "def f(): return 1"),
        ([">>> def f():\n...     return 1"], "def f():\n    return 1"),
        (["   def f():\n       return 1"], "def f():\n    return 1"),
        (["%%bash\nf = 1"], ""),
        (["def f(: return 1"], ""),
        (["x = 1\rdef f(): return x\r\ny = 2"], "x = 1\ndef f(): return x"),
        (["'\u2028\x0b\x1c'\ndef f(): return 1\ndef g(): return 2"], "def f(): return 1"),
        (["#" * source.MOST_CHARACTERS, "def f(): return 1"], "def f(): return 1"),
        (["a = [" + "1," * source.MOST_CHARACTERS + "]\nf = 2", "def f(): return 1"],
         "f = 2\ndef f(): return 1"),
        ([r"import sys; sys.modules['\x6dath'].f = 1", "import math", "f = math.f"],
         r"import sys; sys.modules['\x6dath'].f = 1" "\nimport math\nf = math.f"),
        (["\uff44\uff45 = 1", "def f(): return de"], "\uff44\uff45 = 1\ndef f(): return de"),
        ([], ""),
    ],
)  # fmt: skip
def test_definitions(cells: list[str], found: str) -> None:
    assert source.extract_definition(cells, "f") == found


HOSTILE = {
    "lines": "a\n" * 90_000,
    "semicolons": "a;" * 90_000,
    "spaces": " " * 190_000 + "(",
    "questions": "a?\n" * 60_000,
    "question marks": "? " * 90_000 + "(",
    "names": "a, " * 60_000 + "(",
    "brackets": "(" * 190_000,
    "signs": "-" * 190_000 + "1",
    "sums": "+".join("1" * 90_000),
    "attributes": "a" + ".b" * 90_000,
    "calls": "a" + "()" * 90_000,
    "lambdas": "lambda:" * 25_000 + "1",
    "elifs": "if 1:\n pass\n" + "elif 1:\n pass\n" * 10_000,
    "digits": "x = " + "9" * 190_000,
    "hexadecimals": "x = 0x" + "f" * 190_000,
    "powers": "x = 9**9**9**9",
    "pieces": "getattr(a, 'b'" + "+'b'" * 40_000 + ")",
    "surrogates": "x = '\ud800'",
    "zeros": "x = 1\0\0",
    "coding": "# coding: rot13\nx = 1",
    "decorators": "@a\n" * 60_000 + "def f(): pass",
}


_QUICK = ("spaces", "names", "brackets", "sums", "digits")
_TIERS: dict[str, Any] = {"lines": pytest.mark.thorough, **dict.fromkeys(_QUICK, ())}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=name, marks=_TIERS.get(name, pytest.mark.slow))
        for name, text in HOSTILE.items()
    ],
)
def test_no_text_makes_the_parser_hang_or_raise(text: str) -> None:
    for ask in (
        lambda: analysis.extract_definition([text], "a"),
        lambda: analysis.review_source(text[:40_000], "a", "", ("torch.softmax", "loops")),
    ):
        with in_time(), contextlib.suppress(analysis.NotAnalyzedError):
            ask()
