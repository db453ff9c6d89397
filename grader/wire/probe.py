"""Runs in the kernel: encodes values as strict JSON, with the standard library only.

The text of this module is sent to the kernel (see `grader.runtime.kernels.ask`), so it imports
nothing from `grader`. Its replies are untrusted, and the grader validates them.
"""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

MAX_TEXT = 10_000
"""Limit on the characters of one string; a longer one is cut and marked as cut."""
MAX_ITEMS = 2_000
"""Limit on the items of one answer, including nested ones; a larger answer becomes an object."""
MAX_DEPTH = 8
MAX_ARRAY = 1_000
"""Limit on the elements of an array; of a larger one, only the shape is sent."""
MAX_BITS = 14_000
"""Limit on the size of an integer that is sent in digits."""
MAX_CHARACTERS = 100_000
"""Limit on the characters of all strings in one answer."""
MAX_ANSWERS = 2_000_000
"""Limit on the characters of all answers; those that no longer fit become "crowded" objects."""

Raw = dict[str, Any]


# Bound here, because a student may replace json.dumps.
_to_json = json.JSONEncoder(allow_nan=False).encode


class TooLargeError(Exception):
    """A value exceeds one of the bounds."""


def encode(value: Any) -> Raw:
    """The Raw form of *value*: tagged by "t", bounded in size, and never anything executable.

    Methods that a student's class may override are not called where that can be avoided.
    """
    try:
        return _Encoder().encode(value)
    except TooLargeError:
        return {**_encode_opaque(value), "large": True}


def encode_answers(names: Iterable[str], space: Mapping[str, Any]) -> str:
    """The values of *names* in *space*, as base64 of a JSON object; null for undefined names."""
    found: dict[str, Raw | None] = {}
    room = MAX_ANSWERS
    for name in names:
        raw = encode(space[name]) if name in space else None
        size = len(_to_json(raw))
        if raw is not None and size > room:
            raw, size = {**_encode_opaque(space[name]), "large": True, "crowded": True}, 0
        room -= size
        found[name] = raw
    return base64.b64encode(_to_json(found).encode()).decode()


class _Encoder:
    """Encodes one value, and counts the size so far."""

    def __init__(self) -> None:
        self.items = MAX_ITEMS
        self.characters = MAX_CHARACTERS
        self.depth = 0

    def encode(self, value: Any) -> Raw:
        self.items -= 1
        if self.items < 0 or self.depth > MAX_DEPTH:
            raise TooLargeError
        try:
            for matches, make in _FORMS:
                if matches(value):
                    return make(self, value)
        except TooLargeError:
            raise
        except BaseException:  # noqa: BLE001  # a value of the student's own that can't be looked at
            # Any exception from its methods; also our interrupt, if they never end.
            return _encode_opaque(value)
        return _encode_opaque(value)

    def from_bool(self, value: Any) -> Raw:
        return {"t": "bool", "v": value is True}

    def from_none(self, _value: Any) -> Raw:
        return {"t": "none"}

    def from_ellipsis(self, _value: Any) -> Raw:
        return {"t": "ellipsis"}

    def from_int(self, value: Any) -> Raw:
        bits = int.bit_length(value)
        if bits > MAX_BITS:
            return {"t": "int", "digits": int(bits * math.log10(2)) + 1}
        return {"t": "int", "v": int.__repr__(value)}

    def from_float(self, value: Any) -> Raw:
        return {"t": "float", "v": float.__repr__(value)}

    def from_complex(self, value: Any) -> Raw:
        return {"t": "complex", "v": complex.__repr__(value)}

    def from_str(self, value: Any) -> Raw:
        text = _storable_text(str.__getitem__(value, slice(MAX_TEXT)))
        self.characters -= len(text)
        if self.characters < 0:
            raise TooLargeError
        return {"t": "str", "v": text, "cut": str.__len__(value) > MAX_TEXT}

    def from_list(self, value: Any) -> Raw:
        return {"t": "list", "v": self._encode_each(list.__iter__(value))}

    def from_tuple(self, value: Any) -> Raw:
        return {"t": "list", "v": self._encode_each(tuple.__iter__(value))}

    def from_range(self, value: Any) -> Raw:
        return {"t": "list", "v": self._encode_each(value)}

    def from_set(self, value: Any) -> Raw:
        items = (frozenset if isinstance(value, frozenset) else set).__iter__(value)
        return {"t": "set", "v": sorted(self._encode_each(items), key=_to_json)}

    def from_dict(self, value: Any) -> Raw:
        return {"t": "dict", "v": [self._encode_each(pair) for pair in dict.items(value)]}

    def from_fraction(self, value: Any) -> Raw:
        return {**self.from_float(float(value)), "from": _type_name(value)}

    def from_numpy_scalar(self, value: Any) -> Raw:
        if value.dtype.kind not in "biufc":
            return _encode_opaque(value)
        item = value.item()
        if type(item) not in _PLAIN:
            item = float(value)  # Python has no equivalent of a long double
        return {**_PLAIN[type(item)](self, item), "from": _type_name(value)}

    def from_numpy_array(self, value: Any) -> Raw:
        if value.ndim == 0:
            return self.encode(value[()])
        return self._encode_array(value, str(value.dtype))

    def from_tensor(self, value: Any) -> Raw:
        value = value.detach().cpu()
        dtype = str(value.dtype)
        if value.ndim == 0:
            item = value.item()
            return {**_PLAIN[type(item)](self, item), "from": dtype}
        return self._encode_array(value, dtype.removeprefix("torch."))

    def _encode_array(self, value: Any, dtype: str) -> Raw:
        shape = [int(n) for n in value.shape]
        if len(shape) > MAX_DEPTH:
            raise TooLargeError
        small = math.prod(shape) <= MAX_ARRAY
        nested = self._encode_nested(value.tolist()) if small else None
        return {"t": "array", "shape": shape, "dtype": dtype, "v": nested}

    def _encode_nested(self, value: Any) -> Any:
        if type(value) is list:
            return [self._encode_nested(item) for item in value]
        return self.encode(value)

    def _encode_each(self, values: Iterable[Any]) -> list[Raw]:
        self.depth += 1
        try:
            return [self.encode(value) for value in values]
        finally:
            self.depth -= 1


def _storable_text(text: str) -> str:
    # Half of a surrogate pair can't be written as UTF-8, and databases refuse NUL.
    return str.encode(text, "utf-8", "replace").decode().replace("\0", "\ufffd")


def _encode_opaque(value: Any) -> Raw:
    return {"t": "object", "type": _type_name(value)}


def _type_name(value: Any) -> str:
    cls = type(value)
    try:
        # Joined, because a name may be a str subclass of the student's, whose `+` is code.
        return _storable_text(".".join((cls.__module__, cls.__qualname__))[:200])
    except BaseException:  # noqa: BLE001  # a class that hides its name
        return "object"


def _is_instance_of(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


def _is_from_module(module: str, *classes: str) -> Callable[[Any], bool]:
    """A test for instances of classes in *module*, if that module has been imported."""

    def matches(value: Any) -> bool:
        there = sys.modules.get(module)
        known = (getattr(there, name, None) for name in classes)
        return any(isinstance(value, cls) for cls in known if isinstance(cls, type))

    return matches


_PLAIN: dict[type, Callable[[_Encoder, Any], Raw]] = {
    bool: _Encoder.from_bool,
    int: _Encoder.from_int,
    float: _Encoder.from_float,
    complex: _Encoder.from_complex,
}

# The first that matches is used: numpy's float64 is also a float, and a bool also an int.
_FORMS: tuple[tuple[Callable[[Any], bool], Callable[[_Encoder, Any], Raw]], ...] = (
    (_is_instance_of(bool), _Encoder.from_bool),
    (lambda value: value is None, _Encoder.from_none),
    (lambda value: value is ..., _Encoder.from_ellipsis),
    (_is_from_module("numpy", "bool_", "number"), _Encoder.from_numpy_scalar),
    (_is_from_module("numpy", "ndarray"), _Encoder.from_numpy_array),
    (_is_from_module("torch", "Tensor"), _Encoder.from_tensor),
    (_is_instance_of(int), _Encoder.from_int),
    (_is_instance_of(float), _Encoder.from_float),
    (_is_instance_of(complex), _Encoder.from_complex),
    (_is_instance_of(str), _Encoder.from_str),
    (_is_instance_of(list), _Encoder.from_list),
    (_is_instance_of(tuple), _Encoder.from_tuple),
    (_is_instance_of(set, frozenset), _Encoder.from_set),
    (_is_instance_of(dict), _Encoder.from_dict),
    (_is_instance_of(range), _Encoder.from_range),
    (_is_from_module("fractions", "Fraction"), _Encoder.from_fraction),
    (_is_from_module("decimal", "Decimal"), _Encoder.from_fraction),
)
