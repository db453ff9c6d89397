"""What goes into the kernel and what comes out of it: the same value, bounded, whatever it is."""

from __future__ import annotations

import base64
import collections
import enum
import json
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from grader.kinds.hidden.compare import Closeness, difference
from grader.wire import calls, encoding
from grader.wire.values import ArrayValue, Opaque, decode_result, digest_of_result

torch = pytest.importorskip("torch")
EXACT = Closeness(relative=0.0, absolute=0.0)


def sent(value: object) -> Any:
    """What *value* is once it has crossed as JSON."""
    return json.loads(json.dumps(encoding.encode_result(value), allow_nan=False))


def back(value: object) -> Any:
    return encoding.decode_input(sent(value))


def decoded(raw: object) -> Any:
    """What `decode_result` makes of *raw*."""
    return decode_result(raw)


def alike(one: Any, other: Any) -> bool:
    """Equal, of one type throughout, with nan like nan and -0.0 unlike 0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return alike(list(one.items()), list(other.items()))
    return one == other if isinstance(one, set) else repr(one) == repr(other)


# -- plain data

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.binary()
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner)
    | st.dictionaries(st.text("abc", max_size=3) | st.integers() | st.booleans(), inner, max_size=4)
    | st.sets(st.integers(), max_size=4),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.thorough
@given(plain)
@settings(max_examples=100)
def test_plain_data_comes_back_as_it_was(value: object) -> None:
    assert alike(back(value), value)
    assert difference(decoded(sent(value)), decoded(sent(value)), EXACT) is None


def test_half_of_a_surrogate_pair_crosses_as_a_question_mark() -> None:
    assert back("a\ud800b") == "a?b"


class Colour(enum.Enum):
    RED = "red"


class Named(str, enum.Enum):  # noqa: UP042  # whose str() is "Named.RED"
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Liar(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "another"

    def encode(self, *_: object) -> bytes:
        return b"another"


class Number(float):
    def __repr__(self) -> str:
        return "0.0"

    def __float__(self) -> float:
        return 0.0


class Whole(int):
    def __int__(self) -> int:
        return 0

    def __str__(self) -> str:
        return "0"


class Point(NamedTuple):
    x: int
    y: int


@pytest.mark.parametrize(
    "value, plainly",
    [
        (Named.RED, "red"),
        (Level.LOW, 1),
        (Liar("true"), "true"),
        (Number(2.5), 2.5),
        (Whole(7), 7),
        (np.str_("text"), "text"),
        (np.bytes_(b"bytes"), b"bytes"),
        (Point(1, 2), (1, 2)),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (collections.defaultdict(list, a=[1]), {"a": [1]}),
        (frozenset({3, 1}), {1, 3}),
        (torch.Size([2, 3]), (2, 3)),
    ],
)
def test_of_a_derived_class_what_it_holds_of_the_plain_one_is_sent(
    value: object, plainly: object
) -> None:
    assert alike(back(value), plainly)


@pytest.mark.parametrize(
    "value", [Colour.RED, object(), len, iter(()), range(3), int, json, Ellipsis]
)
def test_of_other_objects_only_the_name_of_the_type_is_sent(value: object) -> None:
    found = decoded(sent(value))
    assert isinstance(found, Opaque)
    assert found.type.endswith(type(value).__name__)


# -- arrays

DTYPES = [*"?bBhHiIlLqQefdFD", "longdouble"]
layouts: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda a: a,
    lambda a: a[::-1],
    lambda a: a[..., ::-2],
    lambda a: a.T,
    np.asfortranarray,
    lambda a: a.astype(a.dtype.newbyteorder(">")),
    lambda a: np.broadcast_to(a, (3, *a.shape)),
    lambda a: np.lib.stride_tricks.as_strided(a, a.shape, a.strides, writeable=False),
]


@pytest.mark.thorough
@given(st.data(), st.sampled_from(DTYPES), st.sampled_from(layouts))
@settings(max_examples=100)
def test_arrays_come_back_whatever_their_type_and_layout(
    data: st.DataObject, dtype: str, layout: Callable[[np.ndarray], np.ndarray]
) -> None:
    shapes = npst.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)
    array = layout(data.draw(npst.arrays(np.dtype(dtype), shapes)))
    found = back(array)
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.shape == array.shape
    assert np.array_equal(found, array, equal_nan=True)
    seen = decoded(sent(array))
    assert isinstance(seen, ArrayValue)
    assert np.array_equal(seen.numbers, array.astype(seen.numbers.dtype), equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_single_number_of_numpy_keeps_its_type(dtype: str) -> None:
    value = np.dtype(dtype).type(1)
    assert back(value).dtype == value.dtype
    assert isinstance(back(np.array(value)), np.generic)
    assert (
        difference(decoded(sent(value)), decoded(sent(1 if dtype != "?" else True)), EXACT) is None
    )


TORCH_DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16,
    torch.uint32, torch.uint64, torch.float16, torch.bfloat16, torch.float32, torch.float64,
    torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2,
    torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
]  # fmt: skip


@pytest.mark.parametrize("dtype", TORCH_DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)], ids=str)
def test_tensors_come_back_whatever_their_type(dtype: Any, shape: tuple[int, ...]) -> None:
    count = math.prod(shape)
    tensor = (torch.arange(count).reshape(shape) % 2).to(dtype)
    for one in (tensor, tensor.t() if tensor.ndim == 2 else tensor, tensor.clone()):
        found = back(one)
        assert (found.dtype, found.shape) == (dtype, one.shape)
        assert torch.equal(found.to(torch.complex128), one.to(torch.complex128))
        seen = decoded(sent(one))
        assert (seen.dtype, seen.shape) == (str(dtype).removeprefix("torch."), one.shape)
        assert np.array_equal(seen.numbers, one.to(torch.complex128).numpy())


SMALL = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]


@pytest.mark.parametrize("dtype", [*SMALL, torch.bfloat16, torch.float16], ids=str)
def test_every_code_of_a_small_float_means_what_torch_says(dtype: Any) -> None:
    codes = torch.arange(256, dtype=torch.uint8)
    if dtype.itemsize == 2:
        codes = torch.arange(2**16).to(torch.uint16)
    tensor = codes.view(dtype)
    assert np.array_equal(decoded(sent(tensor)).numbers, tensor.double().numpy(), equal_nan=True)


def test_tensors_of_every_kind_are_sent_as_plain_ones_or_as_no_numbers() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    z = torch.complex(x, x)
    graph = x.clone().requires_grad_()
    for odd, usual in [
        (x.t(), x.t().contiguous()),
        (x.flip(1)[:, ::2], torch.tensor([[2.0, 0.0], [5.0, 3.0]])),
        (x.expand(4, 2, 3), x.repeat(4, 1, 1)),
        (x.to_sparse(), x),
        (z.conj(), torch.complex(x, -x)),
        (z.conj().imag, -x),
        (graph * 1, x),
        (torch.nn.Parameter(x), x),
        (torch.nn.Buffer(x), x),
    ]:
        found = back(odd)
        assert type(found) is torch.Tensor
        assert torch.equal(found, usual)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is going to be removed
        quantised = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
    for none in (
        torch.empty(2, device="meta"),
        quantised,
        torch.nested.nested_tensor([x, x[:1]], layout=torch.jagged),
    ):
        assert isinstance(decoded(sent(none)), Opaque)


@pytest.mark.parametrize(
    "array", [np.array(["a"]), np.array([None]), np.zeros(2, "i4,f4"), np.array(["2020"], "M8[D]")]
)
def test_arrays_of_other_things_than_numbers_are_opaque(array: np.ndarray) -> None:
    assert isinstance(decoded(sent(array)), Opaque)


# -- bounds


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


def itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


class Endless(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Any:
        while True:
            yield 0


class EndlessDict(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        while True:
            yield 0, 0


def test_the_items_of_a_derived_class_are_not_made_by_its_own_code() -> None:
    assert (back(Endless([1])), back(EndlessDict(a=1))) == ([1], {"a": 1})


TOO_LARGE = {
    "bytes": lambda: b"x" * (encoding.RESULT.size + 1),
    "text": lambda: "x" * (encoding.RESULT.size + 1),
    "array": lambda: np.zeros(encoding.RESULT.size + 1, np.int8),
    "strided": lambda: np.broadcast_to(np.zeros(1), 10**12),
    "tensor": lambda: torch.zeros(1).expand(10**12),
    "sparse": lambda: torch.sparse_coo_tensor(
        torch.tensor([[0]]), torch.ones(1), (10**12,), check_invariants=True
    ),
    "many arrays": lambda: [np.zeros(100_000)] * 6,
    "many": lambda: [None] * (encoding.RESULT.items + 1),
    "deep": lambda: nested(encoding.RESULT.depth + 1),
    "itself": itself,
    "digits": lambda: 10**5000,
    "many digits": lambda: [10**4000] * 10_000,
    "dimensions": lambda: torch.zeros([1] * 40),
}


@pytest.mark.thorough
@pytest.mark.parametrize("make", TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_is_too_large_is_refused_with_a_reason_and_without_a_copy(
    make: Callable[[], object],
) -> None:
    with pytest.raises(encoding.UnfitError) as refusal:
        encoding.encode_result(make())
    assert str(refusal.value) in encoding.REASONS


def test_the_largest_values_that_are_taken_can_be_read() -> None:
    for value in (
        np.zeros(encoding.RESULT.size, np.int8),
        [0] * (encoding.RESULT.items - 1),
        nested(encoding.RESULT.depth),
        2**encoding.MAX_BITS - 1,
        -(2**encoding.MAX_BITS) + 1,
    ):
        assert difference(decoded(sent(value)), decoded(sent(value)), EXACT) is None


# -- calls


def called(function: object, request: dict[str, Any] | None = None, **inputs: Any) -> Any:
    """What the kernel says of a call of *function*, through the text that crosses."""
    raw = {name: encoding.encode_result(value) for name, value in inputs.items()}
    asked = {"name": "f", "driver": "", "tools": [], "seed": 1, "inputs": raw, **(request or {})}
    text = base64.b64encode(json.dumps(asked).encode()).decode()
    return json.loads(base64.b64decode(calls.answer_request(text, {"f": function})))


def test_a_call_gets_fresh_inputs_and_a_known_seed() -> None:
    def f(x: list[int]) -> object:
        import random

        x.append(4)
        return x, random.random(), float(np.random.rand()), float(torch.rand(()))

    first, again = called(f, x=[1]), called(f, x=[1])
    assert first == again
    assert first["changed"] == ["x"]
    assert decoded(first["v"])[0] == [1, 4]
    assert called(f, {"seed": 2}, x=[1])["v"] != first["v"]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize(
    "setting",
    [
        lambda: torch.set_default_dtype(torch.float64),
        lambda: torch.set_default_device("meta"),
        lambda: torch.set_grad_enabled(False),
        lambda: np.seterr(all="raise"),
    ],
    ids=["dtype", "device", "gradients", "numpy"],
)
def test_a_setting_that_a_cell_leaves_behind_changes_no_call(setting: Callable[[], object]) -> None:
    def f() -> object:
        w = torch.ones(2, requires_grad=True)
        return w.detach(), (2 * w).requires_grad, np.float64(1) / np.zeros(1)

    expected = called(f)
    assert expected["is"] == "returned"
    setting()
    assert called(f) == expected


def test_inputs_that_grew_beyond_all_bounds_were_changed() -> None:
    assert called(lambda x: x.extend([0] * 50_000), x=[1])["changed"] == ["x"]
    assert called(lambda x: x.append(x), x=[1])["changed"] == ["x"]
    assert "changed" not in called(lambda x: None, x=[1])


def test_a_driver_runs_beside_its_tools_and_examples_see_the_function_by_its_name() -> None:
    driver = {"driver": "def drive(f, x): return tool(f(x))", "tools": ["def tool(x): return -x"]}
    assert decoded(called(lambda x: x + 1, driver, x=1)["v"]) == -2
    example = {"example": ["twice(tool(4))", "-8"], "alias": "twice"}
    assert decoded(called(lambda x: 2 * x, {**driver, **example})["v"]) == [-8, -8]


class HostileMeta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError

    @property
    def __module__(cls) -> str:  # type: ignore[override]
        return 3  # type: ignore[return-value]


class HostileError(Exception, metaclass=HostileMeta):
    def __str__(self) -> str:
        raise SystemExit

    @property
    def __traceback__(self) -> Any:  # type: ignore[override]
        raise RuntimeError


class HostileText(str):
    __slots__ = ()

    def __getitem__(self, _: object) -> str:
        raise RuntimeError


class SaysError(ValueError):
    def __str__(self) -> str:
        return HostileText("\ud800" + "x" * 1000)


def raising(error: BaseException) -> Callable[..., object]:
    def f(**_: Any) -> object:
        raise error

    return f


def test_whatever_is_raised_is_told() -> None:
    exception = {"is": "raised", "above": ["Exception"]}
    assert called(raising(HostileError())) == {**exception, "type": "HostileError", "what": ""}
    assert called(raising(SaysError()))["above"] == ["ValueError", "Exception"]
    assert "above" not in called(raising(SystemExit(3)))
    assert called(raising(SaysError()))["what"] == "?" + "x" * (300 - 1)
    assert called(raising(SystemExit(3)))["type"] == "SystemExit"
    assert called(raising(KeyboardInterrupt())) == {"is": "late"}
    assert called(raising(GeneratorExit()))["type"] == "GeneratorExit"
    assert called(raising(ExceptionGroup("two", [ValueError(), TypeError()])))["is"] == "raised"
    assert called(None)["type"] == "TypeError"
    assert called(lambda: 10**5000) == {
        "is": "unfit", "type": "UnfitError", "what": "an integer of thousands of digits"
    }  # fmt: skip
    missing = {"name": "g"}
    assert called(None, missing) == {**exception, "type": "NameError", "what": "g"}


class Hostess:
    """Whose every look raises."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __iter__(self) -> Any:
        raise MemoryError

    def __len__(self) -> int:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RecursionError


def deep() -> Any:
    return deep()


class Lazy(torch.Tensor):  # type: ignore[misc,name-defined]
    """A tensor that is not what it is until somebody looks."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return torch.full((2,), 7.0)


def test_whatever_is_returned_is_told() -> None:
    for value in (Hostess(), {Hostess(): 1}, [Hostess()], {1, "a"}, {"x": Hostess}):
        said = called(lambda value=value: value)
        assert said["is"] in ("returned", "raised")
    assert called(deep)["type"] == "RecursionError"
    found = decoded(called(lambda: torch.zeros(2).as_subclass(Lazy))["v"])
    assert isinstance(found, ArrayValue)


# -- rounds of a measurement

SETUP = """
import numpy as np
def prepare(seed): return (np.full(3, float(seed)),)
def baseline(x): return [x + 1, "text", b"bytes"]
def measure(x): return x.sum()
"""


def test_a_round_promises_the_result_that_it_shows() -> None:
    space: dict[str, Any] = {"mine": lambda x: [1 + x, "text", b"bytes"]}

    def step(name: str, what: str, seed: int) -> Any:
        asked = {"name": name, "round": what, "driver": SETUP, "tools": [], "seed": seed}
        return calls.perform_safely(asked, space)["v"]

    promised = {name: step(name, "run", 5)["v"] for name in ("mine", "")}
    assert promised["mine"] == promised[""]
    shown = json.loads(json.dumps(step("", "show", 0)))
    assert np.array_equal(decoded(shown)[0].numbers, [6, 6, 6])
    digest = digest_of_result(shown)
    assert promised[""] == digest + calls.checksum_of((np.full(3, 5.0),))
    assert step("", "idle", 99)["v"] == digest + calls.checksum_of((np.full(3, 99.0),))
    assert step("mine", "run", 6)["v"] != promised[""]
    assert decoded(step("", "count", 5)) == 15.0


def of_many_kinds(change: float = 0.0) -> list[Any]:
    """Inputs of every kind that drivers make; *change* goes into one place of each."""
    import torch

    array = np.arange(24.0).reshape(2, 3, 4)
    array[1, 2, 3] += change
    tensor = torch.arange(10, dtype=torch.float32).requires_grad_()
    layer = torch.nn.Linear(2, 1)
    with torch.no_grad():
        tensor[3] += change
        layer.weight.fill_(1 + change)
        layer.bias.fill_(0)
    number = 3 + change
    return [
        array, array[:, ::2].T, array.astype(np.float16), array[1, 2, 1:].astype(np.int8),
        np.array(number), np.float32(number), np.array([number, "a"], dtype=object),
        tensor, tensor[1:4], tensor.to(torch.bfloat16), tensor[3], torch.tensor([number]).bool(),
        layer, number, f"text {number}", [["a", number], ("b", None)], {"k": number}, {7: {number}},
        complex(number, 1), str(number).encode(), {("tuple",): 1}, object(),
        np.empty((0, 3)), torch.empty(3, 0), True,
    ]  # fmt: skip


def test_a_mark_of_inputs_stands_for_all_that_they_hold() -> None:
    same = [calls.checksum_of((one,)) for one in of_many_kinds()]
    assert same == [calls.checksum_of((one,)) for one in of_many_kinds()]
    others = [calls.checksum_of((one,)) for one in of_many_kinds(1.0)]
    alike = [i for i, (a, b) in enumerate(zip(same, others, strict=True)) if a == b]
    # Three that are true all the same, what is no data, and what has nothing in it.
    assert alike == [11, 20, 21, 22, 23, 24]
    assert calls.checksum_of((np.empty((0, 3)),)) != calls.checksum_of((np.empty((3, 0)),))
    assert calls.checksum_of((np.zeros(4),)) != calls.checksum_of((np.zeros(4, np.float32),))
    endless: list[Any] = []
    endless.append(endless)
    assert len(calls.checksum_of((endless,))) == 32


@pytest.mark.parametrize("raw", [None, 3, {}, {"t": ["array"]}, {"t": "bytes", "v": "?"}])
def test_any_json_has_a_digest(raw: object) -> None:
    assert len(digest_of_result(raw)) == 32


def test_bytes_that_are_none_have_no_digest() -> None:
    with pytest.raises(ValueError, match="padding"):
        digest_of_result([{"t": "array", "v": "abc"}])


def test_one_element_of_any_stride_is_sent() -> None:
    one = torch.arange(32.0)[15::16][:1]
    assert one.shape == (1,)
    assert one.stride() != (1,)
    assert decoded(encoding.encode_result(one)).numbers.tolist() == [15.0]
