"""What runs inside the kernel: a student's function on inputs that were sent, and what came back.

Like `grader.probe`, the text of this module may be sent to the kernel, so it imports nothing of
ours. It knows inputs and never what is right: whatever it says is judged left of the wall.
"""

from __future__ import annotations

import base64
import json
import random
import sys
from collections.abc import Callable, Mapping
from typing import Any

MAX_BYTES = 8_000_000
"""Of all arrays and texts of one result."""
MAX_ITEMS = 20_000
MAX_DEPTH = 16
MAX_TEXT = 300
MAX_BITS = 14_000

Raw = dict[str, Any]

_compiled: dict[str, dict[str, Any]] = {}


class UnfitError(Exception):
    """A value that can't be sent."""


def encode(value: Any) -> Raw:
    """*value* as strict JSON with arrays as bytes. Raises UnfitError when it is too large."""
    return _Encoder().encode(value)


def decode(raw: Mapping[str, Any]) -> Any:
    """A fresh object of what was encoded. For inputs, which come from left of the wall."""
    return _DECODED[raw["t"]](raw)


def _array(raw: Mapping[str, Any]) -> Any:
    import numpy as np

    data = bytearray(base64.b64decode(raw["v"]))
    array = np.frombuffer(data, dtype=np.dtype(raw["dtype"])).reshape(raw["shape"])
    return array if raw["shape"] else array[()]


def _tensor(raw: Mapping[str, Any]) -> Any:
    import torch

    data = bytearray(base64.b64decode(raw["v"]))
    dtype = getattr(torch, raw["dtype"])
    if not data:
        return torch.empty(raw["shape"], dtype=dtype)
    return torch.frombuffer(data, dtype=dtype).reshape(raw["shape"])


_DECODED: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "none": lambda _: None,
    "bool": lambda raw: raw["v"],
    "str": lambda raw: raw["v"],
    "int": lambda raw: int(raw["v"]),
    "float": lambda raw: float(raw["v"]),
    "complex": lambda raw: complex(raw["v"]),
    "bytes": lambda raw: base64.b64decode(raw["v"]),
    "list": lambda raw: [decode(item) for item in raw["v"]],
    "tuple": lambda raw: tuple(decode(item) for item in raw["v"]),
    "set": lambda raw: {decode(item) for item in raw["v"]},
    "dict": lambda raw: {decode(key): decode(item) for key, item in raw["v"]},
    "array": _array,
    "tensor": _tensor,
}


class _Encoder:
    """Encodes one value, and counts what it has taken so far."""

    def __init__(self) -> None:
        self.items = MAX_ITEMS
        self.bytes = MAX_BYTES
        self.depth = 0

    def _take(self, size: int) -> None:
        self.bytes -= size
        if self.bytes < 0:
            raise UnfitError(f"more than {MAX_BYTES / 1e6:g} MB")

    def encode(self, value: Any) -> Raw:
        self.items -= 1
        if self.items < 0:
            raise UnfitError(f"more than {MAX_ITEMS} items")
        if self.depth > MAX_DEPTH:
            raise UnfitError(f"nested more than {MAX_DEPTH} deep")
        form = _ENCODED.get(type(value))
        return self._other(value) if form is None else form(self, value)

    def of_int(self, value: int) -> Raw:
        if value.bit_length() > MAX_BITS:
            raise UnfitError("an integer of thousands of digits")
        return {"t": "int", "v": str(value)}

    def of_str(self, value: str) -> Raw:
        self._take(len(value))
        return {"t": "str", "v": value.encode("utf-8", "replace").decode()}

    def of_bytes(self, value: bytes) -> Raw:
        self._take(len(value))
        return {"t": "bytes", "v": base64.b64encode(value).decode()}

    def _other(self, value: Any) -> Raw:
        if isinstance(value, (list, tuple, set, frozenset)):
            tag = "list" if isinstance(value, list) else "tuple"
            if isinstance(value, (set, frozenset)):
                tag, value = "set", sorted(value, key=repr)
            return {"t": tag, "v": self._each(value)}
        if isinstance(value, dict):
            return {"t": "dict", "v": [self._each(pair) for pair in value.items()]}
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return self._of_torch(torch, value)
        if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
            return self._of_numpy(numpy, numpy.asarray(value))
        if isinstance(value, (bool, int, float, str)):  # of a class of its own, such as an enum
            for plain in (bool, int, float, str):
                if isinstance(value, plain):
                    return self.encode(plain(value))
        return {"t": "object", "type": _type_name(value)}

    def _each(self, values: Any) -> list[Raw]:
        self.depth += 1
        try:
            return [self.encode(value) for value in values]
        finally:
            self.depth -= 1

    def _of_numpy(self, numpy: Any, value: Any) -> Raw:
        if value.dtype.kind not in "biufc" or value.dtype.itemsize > 16:
            return {"t": "object", "type": f"an array of {value.dtype}"[:MAX_TEXT]}
        self._take(value.nbytes)
        shape = [int(n) for n in value.shape]
        value = numpy.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        data = base64.b64encode(value.tobytes()).decode()
        return {"t": "array", "dtype": str(value.dtype), "shape": shape, "v": data}

    def _of_torch(self, torch: Any, value: Any) -> Raw:
        # Exactly this class: a subclass could compute its numbers only now, or others each time.
        value = torch.Tensor.detach(value).cpu()
        value = value.to_dense() if value.layout is not torch.strided else value.contiguous()
        dtype = str(value.dtype).removeprefix("torch.")
        self._take(value.numel() * value.element_size())
        flat = value.resolve_conj().resolve_neg().reshape(-1)
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        text = base64.b64encode(data).decode()
        return {"t": "tensor", "dtype": dtype, "shape": [int(n) for n in value.shape], "v": text}


# By the very class: what a student derives from these may override how it is looked at.
_ENCODED: dict[type, Callable[[_Encoder, Any], Raw]] = {
    type(None): lambda *_: {"t": "none"},
    bool: lambda _, value: {"t": "bool", "v": value},
    int: _Encoder.of_int,
    float: lambda _, value: {"t": "float", "v": repr(value)},
    complex: lambda _, value: {"t": "complex", "v": repr(value)},
    str: _Encoder.of_str,
    bytes: _Encoder.of_bytes,
}


def _type_name(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"[:MAX_TEXT]


def answer(request: str, space: Mapping[str, Any]) -> str:
    """What *request* (JSON, in base64) asks to be done with a name in *space*; in the same form."""
    text = json.dumps(outcome(json.loads(base64.b64decode(request)), space))
    return base64.b64encode(text.encode()).decode()


def outcome(asked: Mapping[str, Any], space: Mapping[str, Any]) -> dict[str, Any]:
    """What came of it, also when something was raised."""
    try:
        return perform(asked, space)
    except BaseException as error:  # noqa: BLE001  # whatever the student's code raises or is
        return _raised(error)


def perform(asked: Mapping[str, Any], space: Mapping[str, Any]) -> dict[str, Any]:
    """Calls the student's `asked["name"]`, as `asked["driver"]` says, and tells what came of it.

    With `asked["example"]`, evaluates those expressions, in which `asked["alias"]` is the
    student's. What the code raises is raised.
    """
    around = _prepared(asked)
    _seed(int(asked["seed"]))
    if "round" in asked:
        return _round(asked, space, around)
    student = space[asked["name"]]
    if "example" in asked:
        names = {**around, **space, asked["alias"]: student}
        names.setdefault("__builtins__", __builtins__)
        values = [eval(text, names) for text in asked["example"]]  # noqa: S307  # our own text
        return {"is": "returned", "v": encode(values)}
    inputs = {name: decode(raw) for name, raw in asked["inputs"].items()}
    drive = around.get("drive")
    result = drive(student, **inputs) if drive is not None else student(**inputs)
    said = {"is": "returned", "v": encode(result)}
    # After the result, which may well be the input itself.
    changed = [name for name, raw in asked["inputs"].items() if encode(inputs[name]) != raw]
    return {**said, "changed": changed} if changed else said


_HELD = "_grader_held_"


def _round(asked: Mapping[str, Any], space: Any, around: Mapping[str, Any]) -> dict[str, Any]:
    """One step of a measurement: to prepare, to count, or to run what is timed.

    The time is taken left of the wall, from the request to the answer. So the answer holds what
    the whole result is needed for, and nothing can be put off until the clock has stopped.
    """
    step = asked["round"]
    if step == "prepare":
        space[_HELD] = around["prepare"](int(asked["seed"]))
    if step in ("prepare", "nothing"):
        return {"is": "returned", "v": {"t": "none"}}
    if step == "count":
        return {"is": "returned", "v": encode(float(around["measure"](*space.pop(_HELD))))}
    function = space[asked["name"]] if asked["name"] else around["baseline"]
    result = function(*space.pop(_HELD))
    found: list[Any] = []
    _digest(result, int(asked["seed"]), found)
    return {"is": "returned", "v": encode(found)}


def _digest(value: Any, seed: int, found: list[Any]) -> None:
    """Sums over all of a result: its size, its norm, and slices that hang on the seed."""
    import numpy

    torch = sys.modules.get("torch")
    if torch is not None and type(value) is torch.Tensor:
        kind = f"tensor {value.dtype}"
        value = torch.Tensor.detach(value).cpu()
        value = value.double() if value.dtype.is_floating_point else value
        value = value.numpy()
    elif type(value) in (numpy.ndarray, numpy.float64, numpy.float32):
        kind, value = f"array {value.dtype}", numpy.asarray(value)
    elif type(value) in (int, float, bool):
        found.append(value)
        return
    elif type(value) in (list, tuple):
        found.append(len(value))
        for item in value:
            _digest(item, seed, found)
        return
    else:
        raise UnfitError(f"a result of type {_type_name(value)}")
    flat = value.reshape(-1).astype("float64", copy=False)
    step = 7 + seed % 13
    sums = [float(flat[start::step].sum()) for start in range(min(4, len(flat)))]
    found += [kind, list(value.shape), float(numpy.sqrt((flat * flat).sum())), float(flat.sum())]
    found.append(sums)


def _prepared(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The names that the tools and the driver define; run once for each text in a kernel."""
    driver = asked["driver"]
    texts = [*asked["tools"], driver]
    whole = json.dumps(texts)
    if whole not in _compiled:
        found: dict[str, Any] = {"__name__": "driver", "__builtins__": __builtins__}
        for text in texts:
            exec(compile(text, "<driver>", "exec"), found)  # noqa: S102  # our own text
        _compiled[whole] = found
    return _compiled[whole]


def _seed(seed: int) -> None:
    random.seed(seed)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
    if torch is not None:
        torch.manual_seed(seed)


def _raised(error: BaseException) -> dict[str, Any]:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith("<ipython-input-"):
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        message = str(error)[:MAX_TEXT].encode("utf-8", "replace").decode()
    except BaseException:  # noqa: BLE001  # a message of the student's own making
        message = ""
    kind = "late" if isinstance(error, KeyboardInterrupt) else "raised"
    unfit = isinstance(error, UnfitError)
    found = {"is": "unfit" if unfit else kind, "type": type(error).__name__[:80], "what": message}
    return found if line is None else {**found, "line": line}
