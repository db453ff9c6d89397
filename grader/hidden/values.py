"""What `grader.trial` says, read back without trust: bounded, without pickle, without torch."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader import trial

if TYPE_CHECKING:
    import numpy as np

_NUMBER = re.compile(r"-?(\d+(\.\d+)?(e[+-]?\d+)?|inf|nan)", re.ASCII)
_DTYPE = re.compile(
    r"(bool|u?int(8|16|32|64)|(b?float|complex)(8|16|32|64|128))(_e[45]m[23][a-z]*)?"
)
_TEXT = 300


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """An array of numpy or a tensor of torch, by its numbers."""

    form: str
    """`array` or `tensor`."""
    dtype: str
    shape: tuple[int, ...]
    numbers: np.ndarray[Any, Any]
    """Of that shape: float64 (or what is wider) for every kind of float, int64 and bool as is."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """An object of which the type's name is all that is known."""

    type: str


def read(raw: object) -> object:
    """The value: plain data, Array or Opaque. Raises ValueError for what `encode` never says."""
    return _read(raw, 0)


def _read(raw: object, depth: int) -> object:
    if not isinstance(raw, dict) or depth > trial.MAX_DEPTH + 1:
        raise ValueError("not a value")
    reader = _READERS.get(raw.get("t"))
    if reader is None:
        raise ValueError("no such kind of value")
    return reader(raw, depth)


def _plain(kind: type) -> Callable[[Mapping[str, Any], int], object]:
    def reader(raw: Mapping[str, Any], _depth: int) -> object:
        if type(raw.get("v")) is not kind:
            raise ValueError("not what it says it is")
        return raw["v"]

    return reader


def _string(value: object, most: int = trial.MAX_BYTES) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise ValueError("not a text")
    return value


def _int(raw: Mapping[str, Any], _depth: int) -> int:
    text = _string(raw.get("v"), 5_000)
    if not re.fullmatch(r"-?\d{1,4300}", text, re.ASCII):
        raise ValueError("not a whole number")
    return int(text)


def _float(raw: Mapping[str, Any], _depth: int) -> float:
    text = _string(raw.get("v"), 100)
    if not _NUMBER.fullmatch(text):
        raise ValueError("not a number")
    return float(text)


def _complex(raw: Mapping[str, Any], _depth: int) -> complex:
    return complex(_string(raw.get("v"), 100))


def _bytes(raw: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(_string(raw.get("v"), 2 * trial.MAX_BYTES), validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error


def _items(raw: Mapping[str, Any], depth: int) -> list[object]:
    value = raw.get("v")
    if not isinstance(value, list) or len(value) > trial.MAX_ITEMS:
        raise ValueError("not a list")
    return [_read(item, depth + 1) for item in value]


def _dict(raw: Mapping[str, Any], depth: int) -> object:
    found: dict[object, object] = {}
    for pair in raw.get("v") or ():
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError("not a pair")
        key, value = (_read(item, depth + 1) for item in pair)
        if not isinstance(key, (str, int, float, bool, tuple)) and key is not None:
            raise ValueError("not a key")
        try:
            found[key] = value
        except TypeError:  # a tuple that holds a list
            raise ValueError("not a key") from None
    return found


def _array(raw: Mapping[str, Any], _depth: int) -> Array:
    import numpy as np

    form, dtype = str(raw["t"]), _string(raw.get("dtype"), 40)
    if not _DTYPE.fullmatch(dtype):
        raise ValueError("no such type of numbers")
    shape = raw.get("shape")
    if not isinstance(shape, list) or len(shape) > 32:
        raise ValueError("no shape")
    if not all(type(n) is int and 0 <= n <= trial.MAX_BYTES for n in shape):
        raise ValueError("no shape")
    data = _bytes(raw)
    count = math.prod(shape)
    if dtype == "bfloat16":
        if len(data) != 2 * count:
            raise ValueError("not as many numbers as the shape says")
        numbers = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    elif dtype.startswith("float8"):
        numbers = _small_floats(np.frombuffer(data, np.uint8), dtype)
    else:
        try:
            numbers = np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))
        except TypeError:
            raise ValueError("no such type of numbers") from None
    if numbers.size != count:
        raise ValueError("not as many numbers as the shape says")
    if numbers.dtype.kind == "f":
        numbers = numbers.astype(np.float64)
    return Array(form, dtype, tuple(shape), numbers.reshape(shape))


def _small_floats(codes: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """Eight-bit floats by their bits: OCP's e4m3fn (no infinity) and e5m2."""
    import numpy as np

    exponent_bits, mantissa_bits, bias = (4, 3, 7) if "e4m3" in dtype else (5, 2, 15)
    codes = codes.astype(np.int64)
    sign = np.where(codes >> 7, -1.0, 1.0)
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    normal = (1 + mantissa) * 2.0 ** (exponent - bias)
    found = np.where(exponent == 0, mantissa * 2.0 ** (1 - bias), normal)
    if dtype == "float8_e5m2":
        top = exponent == (1 << exponent_bits) - 1
        found = np.where(top, np.where(mantissa == 0, np.inf, np.nan), found)
    else:
        found = np.where((codes & 0x7F) == 0x7F, np.nan, found)
    return np.asarray(sign * found)


_READERS: dict[object, Callable[[Mapping[str, Any], int], object]] = {
    "none": lambda *_: None,
    "bool": _plain(bool),
    "str": lambda raw, _: _string(raw.get("v")),
    "int": _int,
    "float": _float,
    "complex": _complex,
    "bytes": lambda raw, _: _bytes(raw),
    "list": _items,
    "tuple": lambda raw, depth: tuple(_items(raw, depth)),
    "set": lambda raw, depth: {"a set of": _items(raw, depth)},
    "dict": _dict,
    "array": _array,
    "tensor": _array,
    "object": lambda raw, _: Opaque(_string(raw.get("type"), _TEXT)),
}
