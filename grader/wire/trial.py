"""Runs in the kernel: calls a student's function on given inputs and encodes the result.

Like `grader.wire.probe`, the text of this module may be sent to the kernel, so it imports nothing
from `grader`. It knows inputs but never expected results, and the grader judges its replies.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import random
import sys
from collections.abc import Callable, Mapping
from typing import Any

MAX_BYTES = 4_000_000
"""Limit on all arrays and texts of one result; the encoded result is twice as long."""
MAX_ITEMS = 20_000
MAX_DEPTH = 16
MAX_DIMENSIONS = 32
MAX_TEXT = 300
MAX_BITS = 14_000

TOO_MUCH = f"more than {MAX_BYTES / 1e6:g} MB"
TOO_MANY = f"more than {MAX_ITEMS} items"
TOO_DEEP = f"nested more than {MAX_DEPTH} deep"
TOO_LONG = "an integer of thousands of digits"
TOO_WIDE = f"more than {MAX_DIMENSIONS} dimensions"
REASONS = (TOO_MUCH, TOO_MANY, TOO_DEEP, TOO_LONG, TOO_WIDE)

Raw = dict[str, Any]

_compiled: dict[str, dict[str, Any]] = {}


class UnfitError(Exception):
    """A value that can't be sent."""


def encode(value: Any) -> Raw:
    """*value* as strict JSON with arrays as bytes. Raises UnfitError when it is too large."""
    return _Encoder().encode(value)


def decode(raw: Mapping[str, Any]) -> Any:
    """Decodes a value into a new object. Only for inputs, which the grader sends."""
    return _DECODED[raw["t"]](raw)


def _decode_array(raw: Mapping[str, Any]) -> Any:
    import numpy as np

    data = bytearray(base64.b64decode(raw["v"]))
    array = np.frombuffer(data, dtype=np.dtype(raw["dtype"])).reshape(raw["shape"])
    return array if raw["shape"] else array[()]


def _decode_tensor(raw: Mapping[str, Any]) -> Any:
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
    "array": _decode_array,
    "tensor": _decode_tensor,
}


class _Encoder:
    """Encodes one value, and counts the size so far."""

    def __init__(self, text_of: Callable[[bytes], str] | None = None) -> None:
        self.text_of = text_of or _base64
        self.items = MAX_ITEMS
        self.bytes = MAX_BYTES
        self.depth = 0

    def _count_bytes(self, size: int) -> None:
        self.bytes -= size
        if self.bytes < 0:
            raise UnfitError(TOO_MUCH)

    def encode(self, value: Any) -> Raw:
        self.items -= 1
        if self.items < 0:
            raise UnfitError(TOO_MANY)
        if self.depth > MAX_DEPTH:
            raise UnfitError(TOO_DEEP)
        form = _ENCODED.get(type(value))
        return self._encode_subclass(value) if form is None else form(self, value)

    def encode_int(self, value: int) -> Raw:
        if value.bit_length() > MAX_BITS:
            raise UnfitError(TOO_LONG)
        self._count_bytes(value.bit_length() // 8)
        return {"t": "int", "v": str(value)}

    def encode_str(self, value: str) -> Raw:
        self._count_bytes(len(value))
        return {"t": "str", "v": value.encode("utf-8", "replace").decode()}

    def encode_bytes(self, value: bytes) -> Raw:
        self._count_bytes(len(value))
        return {"t": "bytes", "v": self.text_of(value)}

    def encode_float(self, value: float) -> Raw:
        return {"t": "float", "v": repr(value)}

    def encode_complex(self, value: complex) -> Raw:
        return {"t": "complex", "v": repr(value)}

    def _encode_subclass(self, value: Any) -> Raw:
        if isinstance(value, (list, tuple, set, frozenset)):
            tag = "list" if isinstance(value, list) else "tuple"
            if isinstance(value, (set, frozenset)):
                tag, value = "set", sorted(value, key=repr)
            return {"t": tag, "v": self._encode_each(value)}
        if isinstance(value, dict):
            return {"t": "dict", "v": self._encode_pairs(value)}
        # Encoded by its plain base class, which overrides can't change: enums, numpy strings.
        if isinstance(value, str):
            return self.encode_str(str.__str__(value))
        if isinstance(value, bytes):
            return self.encode_bytes(bytes.__bytes__(value))
        if isinstance(value, int):
            return self.encode_int(int.__int__(value))
        return self._encode_library(value)

    def _encode_library(self, value: Any) -> Raw:
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return self._encode_torch(torch, value)
        if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
            return self._encode_numpy(numpy, numpy.asarray(value))
        if isinstance(value, float):
            return self.encode_float(float.__float__(value))
        if isinstance(value, complex):
            return self.encode_complex(complex.__complex__(value))
        return self._encode_opaque(f"{type(value).__module__}.{type(value).__qualname__}")

    def _encode_opaque(self, name: str) -> Raw:
        self._count_bytes(len(name))
        return {"t": "object", "type": name[:MAX_TEXT].encode("utf-8", "replace").decode()}

    def _encode_each(self, values: Any) -> list[Raw]:
        self.depth += 1
        try:
            return [self.encode(value) for value in values]
        finally:
            self.depth -= 1

    def _encode_pairs(self, value: Any) -> list[list[Raw]]:
        self.depth += 1
        try:
            return [[self.encode(key), self.encode(item)] for key, item in value.items()]
        finally:
            self.depth -= 1

    def _encode_numpy(self, numpy: Any, value: Any) -> Raw:
        if value.dtype.kind not in "biufc" or value.dtype.itemsize > 16:
            return self._encode_opaque(f"an array of {value.dtype}")
        self._count_bytes(value.nbytes)
        shape = _shape_of(value)
        value = numpy.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        text = self.text_of(value.tobytes())
        return {"t": "array", "dtype": str(value.dtype), "shape": shape, "v": text}

    def _encode_torch(self, torch: Any, value: Any) -> Raw:
        # Computes what a subclass defers until it is accessed.
        value = torch.Tensor.detach(value)
        if value.device.type == "meta" or value.is_quantized or value.is_nested:
            return self._encode_opaque(f"a tensor of {value.dtype} without plain numbers")
        self._count_bytes(value.numel() * value.element_size())
        value = value.cpu()
        value = value.to_dense() if value.layout is not torch.strided else value.contiguous()
        dtype, shape = str(value.dtype).removeprefix("torch."), _shape_of(value)
        flat = value.resolve_conj().resolve_neg().reshape(-1)
        if flat.numel() == 1:  # which may have any stride, and then can't be looked at as bytes
            flat = flat.clone(memory_format=torch.contiguous_format)
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        return {"t": "tensor", "dtype": dtype, "shape": shape, "v": self.text_of(data)}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def digest_of_bytes(data: bytes) -> str:
    """The digest of *data*."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _shape_of(value: Any) -> list[int]:
    if value.ndim > MAX_DIMENSIONS:
        raise UnfitError(TOO_WIDE)
    return [int(n) for n in value.shape]


# By exact class: subclasses that a student defines may override how they are read.
_ENCODED: dict[type, Callable[[_Encoder, Any], Raw]] = {
    type(None): lambda *_: {"t": "none"},
    bool: lambda _, value: {"t": "bool", "v": value},
    int: _Encoder.encode_int,
    float: _Encoder.encode_float,
    complex: _Encoder.encode_complex,
    str: _Encoder.encode_str,
    bytes: _Encoder.encode_bytes,
}


def answer_request(request: str, space: Mapping[str, Any]) -> str:
    """Performs *request* (JSON in base64) on a name in *space*; the reply has the same form."""
    text = json.dumps(perform_safely(json.loads(base64.b64decode(request)), space))
    return base64.b64encode(text.encode()).decode()


def perform_safely(asked: Mapping[str, Any], space: Mapping[str, Any]) -> dict[str, Any]:
    """The result of *asked*, or the exception that it raised."""
    try:
        return perform(asked, space)
    except BaseException as error:  # noqa: BLE001  # whatever the student's code raises or is
        return _describe_exception(error)


def perform(asked: Mapping[str, Any], space: Mapping[str, Any]) -> dict[str, Any]:
    """Calls the student's `asked["name"]` through `asked["driver"]`, and returns the result.

    With `asked["example"]`, evaluates those expressions, in which `asked["alias"]` is the student's
    function; with `asked["watch"]`, adds the findings of `grader.wire.watch`.
    """
    around = _compile_namespace(asked)
    _seed_generators(int(asked["seed"]))
    if "round" in asked:
        return _perform_round(asked, space, around)
    if asked["name"] not in space:
        raise NameError(asked["name"])
    student = space[asked["name"]]
    if "example" in asked:
        names = {**around, **space, asked["alias"]: student}
        names.setdefault("__builtins__", __builtins__)
        values = [eval(text, names) for text in asked["example"]]  # noqa: S307  # our own text
        return {"is": "returned", "v": encode(values)}
    inputs = {name: decode(raw) for name, raw in asked["inputs"].items()}
    drive = around.get("drive")
    call = student if drive is None else functools.partial(drive, student)
    said: dict[str, Any] = {"is": "returned"}
    if "watch" in asked:
        watched = _compile_namespace({"tools": [], "driver": asked["watch"]})["call_watched"]
        call = functools.partial(watched, call, asked["forbid"], said)
    said["v"] = encode(call(**inputs))
    # After the result, which may be the input itself.
    changed = [
        name for name, raw in asked["inputs"].items() if not _is_unchanged(inputs[name], raw)
    ]
    return {**said, "changed": changed} if changed else said


def _is_unchanged(value: Any, raw: Raw) -> bool:
    """Whether an input is unchanged since before the call."""
    try:
        return encode(value) == raw
    except UnfitError:
        return False


_KEPT = "_grader_kept_"


def _perform_round(
    asked: Mapping[str, Any], space: Any, around: Mapping[str, Any]
) -> dict[str, Any]:
    """One step of a measurement.

    `run` creates inputs from the seed, calls the student's function or the baseline on them, and
    returns a digest of the whole result and a mark of the inputs. The grader takes the time from
    the request to the reply, so that no work can be done before the seed is known or deferred until
    the clock has stopped, and the mark proves that all inputs were created. `show` returns that
    result. `idle` does the same as `run`, with the last result instead of the call. `count` returns
    the result of `measure`; `launches` is a `run` that also returns the number of launches.
    """
    step = asked["round"]
    if step == "show":
        return {"is": "returned", "v": encode(space[_KEPT])}
    inputs = around["prepare"](int(asked["seed"]))
    if step == "count":
        return {"is": "returned", "v": encode(float(around["measure"](*inputs)))}
    mark = around["checksum_of"](inputs)  # before the call, which may modify them
    function = space[asked["name"]] if asked["name"] else around["baseline"]
    if step == "launches":
        space[_KEPT], number = around["counted"](function, *inputs, backward=asked["backward"])
    elif step != "idle":
        space[_KEPT] = function(*inputs)
    digest = digest_of_bytes(json.dumps(_Encoder(digest_of_bytes).encode(space[_KEPT])).encode())
    said: Raw = {"t": "str", "v": digest + mark}
    pair = [said, encode(number)] if step == "launches" else None
    return {"is": "returned", "v": {"t": "list", "v": pair} if pair else said}


def _compile_namespace(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The names that the tools and the driver define; cached per text in a kernel."""
    texts = [*asked["tools"], asked["driver"]]
    whole = json.dumps(texts)
    if whole not in _compiled:
        found: dict[str, Any] = {"__name__": "driver", "__builtins__": __builtins__}
        for text in texts:
            exec(compile(text, "<driver>", "exec"), found)  # noqa: S102  # our own text
        _compiled[whole] = found
    return _compiled[whole]


def _seed_generators(seed: int) -> None:
    random.seed(seed)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
    if torch is not None:
        # Like torch.manual_seed, without the milliseconds that it takes for other devices.
        torch.default_generator.manual_seed(seed)
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(seed)


def _describe_exception(error: BaseException) -> dict[str, Any]:
    # From the interpreter's own data, whatever a student's class claims about itself.
    line, trace = None, BaseException.__dict__["__traceback__"].__get__(error)
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith("<ipython-input-"):
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        message = str.__str__(str(error))[:MAX_TEXT].encode("utf-8", "replace").decode()
    except BaseException:  # noqa: BLE001  # a message of the student's own making
        message = ""
    said: dict[str, Any] = {"type": _class_name(type(error)), "what": message}
    if isinstance(error, KeyboardInterrupt):
        return {"is": "late"}
    found = {"is": "unfit" if isinstance(error, UnfitError) else "raised", **said}
    above = [_class_name(one) for one in type.__dict__["__mro__"].__get__(type(error))[1:]]
    if found["is"] == "raised" and above[:-2]:  # all have BaseException and object
        found["above"] = above[:-2][:20]
    return found if line is None else {**found, "line": line}


def _class_name(one: type) -> str:
    name = type.__dict__["__name__"].__get__(one)[:80]
    return str(name.encode("utf-8", "replace").decode())
