"""Encodes answers and results as strict JSON, and decodes inputs.

It also runs in the kernel, which receives its text (see `grader.runtime.kernels.ask`), so it
imports only from the standard library. What it sends is untrusted, and the grader validates it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

Raw = dict[str, Any]


class EncodingLimits(NamedTuple):
    """Limits on one value, including nested ones."""

    items: int
    depth: int
    size: int
    """Characters of all strings of an answer; bytes of all arrays and texts of a result."""


ANSWER = EncodingLimits(items=2_000, depth=8, size=100_000)
"""A larger answer becomes an object."""
RESULT = EncodingLimits(items=20_000, depth=16, size=4_000_000)
"""The encoded result is twice as long as its size."""
MAX_TEXT = 10_000
"""Limit on the characters of one string in an answer; a longer one is cut and marked as cut."""
MAX_ARRAY = 1_000
"""Limit on the elements of an array in an answer; of a larger one, only the shape is sent."""
MAX_ANSWERS = 2_000_000
"""Limit on the characters of all answers; those that no longer fit become "crowded" objects."""
MAX_BITS = 14_000
"""Limit on the size of an integer that is sent in digits."""
MAX_DIMENSIONS = 32

TOO_MUCH = f"more than {RESULT.size / 1e6:g} MB"
TOO_MANY = f"more than {RESULT.items} items"
TOO_DEEP = f"nested more than {RESULT.depth} deep"
TOO_LONG = "an integer of thousands of digits"
TOO_WIDE = f"more than {MAX_DIMENSIONS} dimensions"
REASONS = (TOO_MUCH, TOO_MANY, TOO_DEEP, TOO_LONG, TOO_WIDE)

# Bound here, because a student may replace json.dumps.
_to_json = json.JSONEncoder(allow_nan=False).encode


class UnfitError(Exception):
    """A value exceeds one of the bounds."""


def encode_answer(value: Any) -> Raw:
    """Returns *value* as plain data, tagged by "t" and of bounded size."""
    try:
        return _AnswerEncoder(ANSWER).encode(value)
    except UnfitError:
        return {**_encode_opaque(value), "large": True}


def encode_answers(names: Iterable[str], space: Mapping[str, Any]) -> str:
    """Returns the values of *names* in *space* as JSON in base64, with null for undefined names."""
    answers: dict[str, Raw | None] = {}
    room = MAX_ANSWERS
    for name in names:
        raw = encode_answer(space[name]) if name in space else None
        size = len(_to_json(raw))
        if raw is not None and size > room:
            raw, size = {**_encode_opaque(space[name]), "large": True, "crowded": True}, 0
        room -= size
        answers[name] = raw
    return base64.b64encode(_to_json(answers).encode()).decode()


def encode_result(value: Any, text_of: Callable[[bytes], str] | None = None) -> Raw:
    """Returns *value* as JSON, with bytes as *text_of* or base64 encodes them. Raises
    UnfitError."""
    return _ResultEncoder(RESULT, text_of).encode(value)


class _Encoder:
    """Encodes one value, and counts its size so far.

    Methods that a student's class may override are not called where that can be avoided.
    """

    def __init__(self, bounds: EncodingLimits, text_of: Callable[[bytes], str] | None = None):
        self.max_depth = bounds.depth
        self.items, self.room, self.depth = bounds.items, bounds.size, 0
        self.text_of = text_of or _encode_base64

    def encode(self, value: Any) -> Raw:
        """Returns the encoded *value*. Raises UnfitError."""
        self.items -= 1
        if self.items < 0:
            raise UnfitError(TOO_MANY)
        if self.depth > self.max_depth:
            raise UnfitError(TOO_DEEP)
        if value is None:
            return {"t": "none"}
        # Encoded by its plain base class: enums, named tuples, numpy strings.
        tag = _EXACT.get(type(value)) or next(
            (tag for base, tag in _BASES.items() if isinstance(value, base)), "other"
        )
        raw: Raw = getattr(self, f"encode_{tag}")(value)
        return raw

    def count(self, size: int) -> None:
        """Counts *size* characters or bytes. Raises UnfitError."""
        self.room -= size
        if self.room < 0:
            raise UnfitError(TOO_MUCH)

    def encode_bool(self, value: Any) -> Raw:
        return {"t": "bool", "v": value is True}

    def encode_int(self, value: Any) -> Raw:
        return {"t": "int", "v": int.__repr__(value)}

    def encode_float(self, value: Any) -> Raw:
        return {"t": "float", "v": float.__repr__(value)}

    def encode_complex(self, value: Any) -> Raw:
        return {"t": "complex", "v": complex.__repr__(value)}

    def encode_bytes(self, value: Any) -> Raw:
        return _encode_opaque(value)

    def encode_list(self, value: Any) -> Raw:
        return {"t": "list", "v": self.encode_each(list.__iter__(value))}

    def encode_tuple(self, value: Any) -> Raw:
        return {"t": "list", "v": self.encode_each(tuple.__iter__(value))}

    def encode_set(self, value: Any) -> Raw:
        items = (frozenset if isinstance(value, frozenset) else set).__iter__(value)
        return {"t": "set", "v": sorted(self.encode_each(items), key=_to_json)}

    def encode_dict(self, value: Any) -> Raw:
        return {"t": "dict", "v": [self.encode_each(pair) for pair in dict.items(value)]}

    def encode_other(self, value: Any) -> Raw:
        """Returns the encoded *value*, a float, complex, or object without a plain base class."""
        if isinstance(value, float):
            return self.encode_float(value)
        return self.encode_complex(value) if isinstance(value, complex) else _encode_opaque(value)

    def encode_each(self, values: Iterable[Any]) -> list[Raw]:
        """Returns the encoded *values*, which are one level deeper. Raises UnfitError."""
        self.depth += 1
        try:
            return [self.encode(value) for value in values]
        finally:
            self.depth -= 1


_BASES = {
    bool: "bool", int: "int", str: "str", bytes: "bytes", list: "list", tuple: "tuple", set: "set",
    frozenset: "set", dict: "dict",
}  # fmt: skip
# Not of derived classes, as numpy's float64 is one of float.
_EXACT = {**_BASES, float: "float", complex: "complex"}


class _AnswerEncoder(_Encoder):
    """Encodes an answer; what can't be looked at is an object."""

    def encode(self, value: Any) -> Raw:
        """Returns *value* encoded, as an opaque object if its methods fail. Raises UnfitError."""
        try:
            return super().encode(value)
        except UnfitError:
            raise
        except BaseException:  # noqa: BLE001  # also our interrupt of a method that never returns
            return _encode_opaque(value)

    def encode_int(self, value: Any) -> Raw:
        bits = int.bit_length(value)
        if bits > MAX_BITS:
            return {"t": "int", "digits": int(bits * math.log10(2)) + 1}
        return super().encode_int(value)

    def encode_str(self, value: Any) -> Raw:
        text = _make_storable(str.__getitem__(value, slice(MAX_TEXT)))
        self.count(len(text))
        return {"t": "str", "v": text, "cut": str.__len__(value) > MAX_TEXT}

    def encode_other(self, value: Any) -> Raw:
        if value is ...:
            return {"t": "ellipsis"}
        if isinstance(value, range):
            return {"t": "list", "v": self.encode_each(value)}
        for module, name in (("fractions", "Fraction"), ("decimal", "Decimal")):
            number: Any = getattr(sys.modules.get(module), name, ())
            if isinstance(value, number):
                return {**self.encode_float(float(value)), "from": _type_name(value)}
        return self._encode_library(value)

    def _encode_library(self, value: Any) -> Raw:
        """Returns *value*, an array or number of numpy or torch or any other object, encoded."""
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if numpy is not None and isinstance(value, numpy.ndarray):
            return self._encode_array(value, str(value.dtype))
        if numpy is not None and isinstance(value, (numpy.bool_, numpy.number)):
            plain = value.dtype.kind in "biufc"  # not a span of time
            return self._encode_number(value, _type_name(value)) if plain else _encode_opaque(value)
        if torch is not None and isinstance(value, torch.Tensor):
            value = value.detach().cpu()
            return self._encode_array(value, str(value.dtype))
        return super().encode_other(value)

    def _encode_array(self, value: Any, dtype: str) -> Raw:
        """Returns the encoded array; without its elements if there are more than MAX_ARRAY."""
        if value.ndim == 0:
            is_tensor = dtype.startswith("torch.")
            return self._encode_number(value, dtype) if is_tensor else self.encode(value[()])
        shape = [int(n) for n in value.shape]
        if len(shape) > self.max_depth:
            raise UnfitError(TOO_WIDE)
        nested = self._encode_nested(value.tolist()) if math.prod(shape) <= MAX_ARRAY else None
        return {"t": "array", "shape": shape, "dtype": dtype.removeprefix("torch."), "v": nested}

    def _encode_nested(self, value: Any) -> Any:
        if type(value) is list:
            return [self._encode_nested(item) for item in value]
        return self.encode(value)

    def _encode_number(self, value: Any, type_name: str) -> Raw:
        item = value.item()
        if type(item) not in (bool, int, float, complex):
            item = float(value)  # Python has no equivalent of a long double
        raw: Raw = getattr(self, f"encode_{type(item).__name__}")(item)
        return {**raw, "from": type_name}


class _ResultEncoder(_Encoder):
    """Encodes a result, with the bytes of its arrays. Raises what a value's methods raise."""

    def encode_int(self, value: Any) -> Raw:
        bits = int.bit_length(value)
        if bits > MAX_BITS:
            raise UnfitError(TOO_LONG)
        self.count(bits // 8)
        return super().encode_int(value)

    def encode_str(self, value: Any) -> Raw:
        self.count(str.__len__(value))
        return {"t": "str", "v": str.encode(value, "utf-8", "replace").decode()}

    def encode_bytes(self, value: Any) -> Raw:
        self.count(bytes.__len__(value))
        return {"t": "bytes", "v": self.text_of(bytes.__bytes__(value))}

    def encode_tuple(self, value: Any) -> Raw:
        return {**super().encode_tuple(value), "t": "tuple"}

    def encode_set(self, value: Any) -> Raw:
        return {"t": "set", "v": self.encode_each(sorted(value, key=repr))}

    def encode_other(self, value: Any) -> Raw:
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return self._encode_tensor(torch, value)
        if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
            return self._encode_array(numpy, numpy.asarray(value))
        return super().encode_other(value)

    def _encode_array(self, numpy: Any, value: Any) -> Raw:
        if value.dtype.kind not in "biufc" or value.dtype.itemsize > 16:
            return {"t": "object", "type": f"an array of {value.dtype}"}
        self.count(value.nbytes)
        shape = _read_shape(value)
        value = numpy.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        text = self.text_of(value.tobytes())
        return {"t": "array", "dtype": str(value.dtype), "shape": shape, "v": text}

    def _encode_tensor(self, torch: Any, value: Any) -> Raw:
        """Returns a tensor with its bytes, or an opaque object if it has no plain numbers."""
        # Computes what a subclass defers until it is accessed.
        value = torch.Tensor.detach(value)
        if value.device.type == "meta" or value.is_quantized or value.is_nested:
            return {"t": "object", "type": f"a tensor of {value.dtype} without plain numbers"}
        self.count(value.numel() * value.element_size())
        value = value.cpu()
        value = value.to_dense() if value.layout is not torch.strided else value.contiguous()
        dtype, shape = str(value.dtype).removeprefix("torch."), _read_shape(value)
        flat = value.resolve_conj().resolve_neg().reshape(-1)
        if flat.numel() == 1:  # which may have any stride, and then can't be looked at as bytes
            flat = flat.clone(memory_format=torch.contiguous_format)
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        return {"t": "tensor", "dtype": dtype, "shape": shape, "v": self.text_of(data)}


def _read_shape(value: Any) -> list[int]:
    if value.ndim > MAX_DIMENSIONS:
        raise UnfitError(TOO_WIDE)
    return [int(n) for n in value.shape]


def _encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def digest_of_bytes(data: bytes) -> str:
    """Returns the digest of *data*."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _make_storable(text: str) -> str:
    # Half of a surrogate pair can't be written as UTF-8, and databases refuse NUL.
    return str.encode(text, "utf-8", "replace").decode().replace("\0", "\ufffd")


def _encode_opaque(value: Any) -> Raw:
    return {"t": "object", "type": _type_name(value)}


def _type_name(value: Any) -> str:
    """Returns the full name of the type of *value*; "object" if that can't be read."""
    cls = type(value)
    try:
        # Joined, because a name may be a str subclass of the student's, whose `+` is code.
        return _make_storable(".".join((cls.__module__, cls.__qualname__))[:200])
    except BaseException:  # noqa: BLE001  # a class that hides its name
        return "object"


def decode_input(raw: Mapping[str, Any]) -> Any:
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
    "list": lambda raw: [decode_input(item) for item in raw["v"]],
    "tuple": lambda raw: tuple(decode_input(item) for item in raw["v"]),
    "set": lambda raw: {decode_input(item) for item in raw["v"]},
    "dict": lambda raw: {decode_input(key): decode_input(item) for key, item in raw["v"]},
    "array": _decode_array,
    "tensor": _decode_tensor,
}
