"""Decodes untrusted replies of `grader.wire.calls`: bounded, without pickle and torch."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.wire import encoding

if TYPE_CHECKING:
    import numpy as np

_NUMBERS: Mapping[str, tuple[re.Pattern[str], type[complex]]] = {
    "int": (re.compile(r"-?\d{1,4300}", re.ASCII), int),
    "float": (re.compile(r"(?=.{0,100}$)-?(\d+(\.\d+)?(e[+-]?\d+)?|inf|nan)", re.ASCII), float),
    "complex": (re.compile(r"\(?[\d.einfa+-]{0,60}j\)?", re.ASCII), complex),
}
_MOST_KEYS = 5_000
"""Limit on the items of a dict or set, so that even forged hash collisions cost little time."""
_MOST_ITEMS = 2 * encoding.RESULT.items
"""Limit on the items of one value, including the keys of dicts."""
_TEXT = 300
_MOST_ROOM = 2**20
"""Limit on the product of the other sizes of an empty array: a sum along the empty one has as
many numbers."""

_PLAIN_DTYPES = frozenset(
    ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16",
     "float32", "float64", "float128", "complex64", "complex128"]
)  # fmt: skip
# Bits of exponent and mantissa, the bias, and whether there is an infinity: the two formats of the
# "OCP 8-bit Floating Point Specification", and those with neither infinity nor a negative zero of
# Noune et al., "8-bit Numerical Formats for Deep Neural Networks" (2022).
_SMALL_FLOATS = {
    "float8_e4m3fn": (4, 3, 7, False),
    "float8_e5m2": (5, 2, 15, True),
    "float8_e4m3fnuz": (4, 3, 8, False),
    "float8_e5m2fnuz": (5, 2, 16, False),
}


@dataclass(frozen=True, slots=True, eq=False)
class ArrayValue:
    """The numbers of a numpy array or a torch tensor."""

    form: str
    """`array` or `tensor`."""
    dtype: str
    shape: tuple[int, ...]
    numbers: np.ndarray[Any, Any]
    """In the array's shape; floats as float64 or wider, int64 and bool unchanged."""

    @property
    def number(self) -> object:
        """The only number of an array without dimensions."""
        return self.numbers.item()


@dataclass(frozen=True, slots=True)
class Opaque:
    """An object of which only the type's name is known."""

    type: str


@dataclass(frozen=True, slots=True)
class SetOf:
    """A set: its items in an order that does not depend on how the set was made."""

    items: tuple[object, ...]


def decode_result(raw: object) -> object:
    """Returns *raw* as plain data, an ArrayValue, a SetOf, or an Opaque.

    Raises ValueError if it is malformed.
    """
    return _Reader().read(raw)


def digest_of_result(raw: Any) -> str:
    """Returns the digest of *raw*, a result as `encoding.encode_result` returns it.

    The kernel reports the same digest before it shows that result. Anything that is not a result
    has the digest of no result. Raises ValueError if bytes are not base64.
    """
    return encoding.digest_of_bytes(json.dumps(_replace_bytes_by_digests(raw)).encode())


def _replace_bytes_by_digests(raw: Any) -> Any:
    """Returns *raw* with the digest of the bytes in place of each base64 text of bytes."""
    if isinstance(raw, list):
        return [_replace_bytes_by_digests(item) for item in raw]
    if not isinstance(raw, dict):
        return raw
    text = raw.get("v")
    if raw.get("t") in ("array", "tensor", "bytes") and isinstance(text, str):
        return {**raw, "v": encoding.digest_of_bytes(base64.b64decode(text))}
    return {name: _replace_bytes_by_digests(item) for name, item in raw.items()}


class UnknownError(ValueError):
    """A result that may be right but can't be judged; the message says what it is."""


class _Reader:
    """Decodes one value, and counts the size so far."""

    def __init__(self) -> None:
        self._items = _MOST_ITEMS
        self._depth = 0

    def read(self, raw: object) -> object:
        """Returns the value that *raw* encodes. Raises ValueError if malformed or too large."""
        self._items -= 1
        if not isinstance(raw, dict) or self._items < 0 or self._depth > encoding.RESULT.depth + 1:
            raise ValueError("not a value")
        tag = raw.get("t")
        read_value = _READERS.get(tag) if isinstance(tag, str) else None
        if read_value is None:
            raise ValueError("no such kind of value")
        self._depth += 1
        try:
            return read_value(self, raw)
        finally:
            self._depth -= 1

    def items(self, raw: Mapping[str, Any]) -> list[object]:
        """Returns the items of a list."""
        return [self.read(item) for item in _read_list(raw)]

    def set(self, raw: Mapping[str, Any]) -> object:
        """Returns a set with its items sorted."""
        if len(_read_list(raw)) > _MOST_KEYS:
            raise UnknownError(f"more than {_MOST_KEYS:,} items of a set")
        return SetOf(tuple(sorted(self.items(raw), key=_make_sort_key)))

    def dict(self, raw: Mapping[str, Any]) -> object:
        """Returns a dict whose keys are plain data. Raises ValueError if a key can't be one."""
        entries: dict[object, object] = {}
        pairs = _read_list(raw)
        if len(pairs) > _MOST_KEYS:
            raise UnknownError(f"more than {_MOST_KEYS:,} keys of a dict")
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise ValueError("not a pair")
            key, value = _normalize_key(self.read(pair[0])), self.read(pair[1])
            if not isinstance(key, (str, bytes, int, float, complex, tuple)) and key is not None:
                raise ValueError("not a key")
            try:
                entries[key] = value
            except TypeError:  # a tuple that holds a list
                raise ValueError("not a key") from None
        return entries


def _normalize_key(value: object) -> object:
    """Returns a key as the equal Python number, so that numpy's numbers match Python's."""
    if isinstance(value, tuple):
        return tuple(map(_normalize_key, value))
    if isinstance(value, SetOf):
        return ("a set of", *map(_normalize_key, value.items))
    is_numpy_scalar = isinstance(value, ArrayValue) and value.form == "array" and not value.shape
    return value.number if is_numpy_scalar else value  # type: ignore[attr-defined]


def _make_sort_key(value: object) -> tuple[int, Any]:
    """Returns the sort key for items of a set, which may mix types of numbers.

    Numbers are sorted by size, so that a rounding error does not change their order.
    """
    if isinstance(value, ArrayValue) and not value.shape:
        value = value.number
    if isinstance(value, (tuple, SetOf)):
        items = value if isinstance(value, tuple) else value.items
        return 2, tuple(map(_make_sort_key, items))
    if isinstance(value, int) or (isinstance(value, float) and not math.isnan(value)):
        return 0, value
    # Values that no set can hold keep their order, as the text of a large array takes long.
    return 1, repr(value) if isinstance(value, (float, complex, str, bytes)) else ""


def _read_list(raw: Mapping[str, Any]) -> list[object]:
    value = raw.get("v")
    if not isinstance(value, list):
        raise ValueError("not a list")
    return value


def _read_bool(raw: Mapping[str, Any]) -> bool:
    if type(raw.get("v")) is not bool:
        raise ValueError("not true or false")
    return bool(raw["v"])


def _read_string(value: object, longest: int = encoding.RESULT.size) -> str:
    """Returns *value*. Raises ValueError unless it is text of at most *longest* characters."""
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError("not a text")
    return value


def _read_number(raw: Mapping[str, Any]) -> complex:
    """Returns an int, a float, or a complex number, as the tag says."""
    pattern, cls = _NUMBERS[raw["t"]]
    text = _read_string(raw.get("v"), 5_000)
    if not pattern.fullmatch(text):
        raise ValueError("not a number")
    return cls(text)


def _read_bytes(raw: Mapping[str, Any]) -> bytes:
    """Returns the bytes in *raw*. Raises ValueError if they are not base64 or too many."""
    try:
        data = base64.b64decode(_read_string(raw.get("v"), 2 * encoding.RESULT.size), validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error
    if len(data) > encoding.RESULT.size:
        raise ValueError("too much")
    return data


def _read_array(raw: Mapping[str, Any]) -> ArrayValue:
    """Returns an array or a tensor. Raises ValueError if its shape does not match its numbers."""
    form, dtype = str(raw["t"]), _read_string(raw.get("dtype"), 40)
    shape = raw.get("shape")
    if not isinstance(shape, list) or len(shape) > encoding.MAX_DIMENSIONS:
        raise ValueError("no shape")
    if not all(type(n) is int and 0 <= n <= encoding.RESULT.size for n in shape):
        raise ValueError("no shape")
    if 0 in shape and math.prod(n for n in shape if n) > _MOST_ROOM:
        raise ValueError("an array without numbers whose other sizes are too large")
    numbers = _read_numbers(dtype, _read_bytes(raw))
    if numbers.size != math.prod(shape):
        raise ValueError("not as many numbers as the shape says")
    return ArrayValue(form, dtype, tuple(shape), numbers.reshape(shape))


def _read_numbers(dtype: str, data: bytes) -> np.ndarray[Any, Any]:
    """Returns the numbers in *data*, in the width used for comparison. Raises ValueError."""
    import numpy as np

    if dtype in _SMALL_FLOATS:
        return _list_float8_values(dtype)[np.frombuffer(data, np.uint8)]
    if dtype == "bfloat16":
        numbers = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
        return _convert_to_float64(numbers)
    if dtype not in _PLAIN_DTYPES:
        raise UnknownError("numbers of a type that is not known")
    if dtype == "bool":
        flags = np.frombuffer(data, np.uint8)
        if flags.size and flags.max() > 1:
            raise ValueError("neither true nor false")
        return flags.astype(np.bool_)
    try:
        numbers = np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))
    except TypeError:  # float128, where there is none
        raise UnknownError("numbers of a type that is not known") from None
    return _convert_to_float64(numbers) if numbers.dtype.kind == "f" else numbers


def _convert_to_float64(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Converts to float64, without warnings about signaling NaNs."""
    import numpy as np

    with np.errstate(all="ignore"):
        return numbers.astype(np.float64)


def _list_float8_values(dtype: str) -> np.ndarray[Any, Any]:
    """Returns the number that each code of the eight-bit float *dtype* stands for, in shape (256,).

    An exponent of 0 marks subnormal numbers. With an infinity, the highest exponent marks infinity
    and NaN, as in IEEE 754; the formats without one have NaN only at the codes set below.
    """
    import numpy as np

    exponent_bits, mantissa_bits, bias, has_infinity = _SMALL_FLOATS[dtype]
    codes = np.arange(256)
    sign = np.where(codes >> 7, -1.0, 1.0)
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    normal = (1 + mantissa) * 2.0 ** (exponent - bias)
    values = np.where(exponent == 0, mantissa * 2.0 ** (1 - bias), normal)
    if has_infinity:
        top = exponent == (1 << exponent_bits) - 1
        values = np.where(top, np.where(mantissa == 0, np.inf, np.nan), values)
    elif dtype.endswith("fnuz"):
        values[0x80] = np.nan
    else:
        values[[0x7F, 0xFF]] = np.nan
    return np.asarray(sign * values)


_READERS: dict[str, Callable[[_Reader, Mapping[str, Any]], object]] = {
    "none": lambda *_: None,
    "bool": lambda _, raw: _read_bool(raw),
    "str": lambda _, raw: _read_string(raw.get("v")),
    **dict.fromkeys(_NUMBERS, lambda _, raw: _read_number(raw)),
    "bytes": lambda _, raw: _read_bytes(raw),
    "list": _Reader.items,
    "tuple": lambda reader, raw: tuple(reader.items(raw)),
    "set": _Reader.set,
    "dict": _Reader.dict,
    **dict.fromkeys(("array", "tensor"), lambda _, raw: _read_array(raw)),
    "object": lambda _, raw: Opaque(_read_string(raw.get("type"), _TEXT)),
}
