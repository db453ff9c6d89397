"""Reads a stored profile strictly, because scores may depend on it."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from grader.errors import SetupError
from grader.runtime.machine.records import SCHEMA, MachineProfile

MOST_BYTES = 2_000_000
"""Of a profile's file; a real one has some 50 kB."""
_LONGEST = 2_000
"""Characters of one text, and entries of one list."""
_FIX = "measure this machine again with `grader calibrate`"

T = TypeVar("T")


class _Wrong(ValueError):  # noqa: N818 - never leaves this module
    """What is wrong, with the place in the file."""


def read_profile(path: Path) -> MachineProfile:
    """The profile in the file at *path*. Raises SetupError, also when the file can't be read."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        what = f"this machine profile can't be read: {(error.strerror or str(error)).lower()}"
        raise SetupError(what, where=str(path), fix=_FIX) from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        what = "this is not a machine profile: it is not UTF-8"
        raise SetupError(what, where=str(path), fix=_FIX) from error
    return from_json(text, where=str(path))


def from_json(text: str, *, where: str | None = None) -> MachineProfile:
    """The profile that *text* holds, with every field checked.

    Raises SetupError that names the field when anything is missing, unknown, of the wrong type or
    contradictory, and when the id is not that of the contents.
    """
    try:
        return _profile(_parsed(text))
    except _Wrong as error:
        raise SetupError(str(error), where=where, fix=_FIX) from None


def _parsed(text: str) -> dict[str, Any]:
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise _Wrong(f"this is not a machine profile: it has more than {MOST_BYTES:,} bytes")
    try:
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_doubles)
    except _Wrong:
        raise
    except (ValueError, RecursionError) as error:
        raise _Wrong(f"this is not a machine profile: it is not JSON ({error})") from None
    if not isinstance(data, dict) or "schema" not in data:
        raise _Wrong("this is not a machine profile: it has no 'schema'")
    if data["schema"] != SCHEMA:
        seen = str(data["schema"])[:60]
        raise _Wrong(f"schema is '{seen}', and this version reads '{SCHEMA}'")
    return data


def _no_constant(name: str) -> float:
    raise _Wrong(f"{name} is not a number that a profile may hold")


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Wrong(f"'{twice[:60]}' is there twice in one object")
    return data


def _profile(data: dict[str, Any]) -> MachineProfile:
    stored = data.get("id")
    fields = {name: value for name, value in data.items() if name not in {"schema", "id"}}
    profile = _record(MachineProfile, fields, "")
    try:
        datetime.fromisoformat(profile.taken)
    except ValueError:
        raise _Wrong(f"taken: expected a time in ISO 8601, got '{profile.taken[:60]}'") from None
    if stored != profile.id:
        seen = str(stored)[:60]
        raise _Wrong(f"id is '{seen}', but the contents have '{profile.id}': they were changed")
    return profile


def _record(kind: type[T], data: object, place: str) -> T:
    """*data* as the dataclass *kind*."""
    if not isinstance(data, dict):
        raise _Wrong(f"{_at(place)}expected an object, got {_kind(data)}")
    hints = get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in data:
        if name not in fields:
            raise _Wrong(f"{_at(place)}there is no field '{str(name)[:60]}'")
    for name in fields:
        # Also what has a default: a file of ours holds every field.
        if name not in data:
            raise _Wrong(f"{_at(place)}'{name}' is missing")
    inner = f"{place}." if place else ""
    values = {name: _value(hints[name], data[name], f"{inner}{name}") for name in fields}
    try:
        return kind(**values)
    except ValueError as error:
        raise _Wrong(f"{_at(place)}{error}") from None


def _value(hint: Any, data: object, place: str) -> object:
    """*data* as *hint* wants it; numbers without a point are floats where floats are wanted."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        (inner,) = (one for one in get_args(hint) if one is not type(None))
        return None if data is None else _value(inner, data, place)
    if origin is tuple:
        return _items(get_args(hint)[0], data, place)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(get_args(hint)[1], data, place)
    if dataclasses.is_dataclass(hint):
        return _record(hint, data, place)  # type: ignore[arg-type]
    return _plain(hint, data, place)


def _items(inner: Any, data: object, place: str) -> tuple[object, ...]:
    if not isinstance(data, list):
        raise _Wrong(f"{place}: expected a list, got {_kind(data)}")
    if len(data) > _LONGEST:
        raise _Wrong(f"{place}: more than {_LONGEST:,} entries")
    return tuple(_value(inner, one, f"{place}[{i}]") for i, one in enumerate(data))


def _mapping(inner: Any, data: object, place: str) -> dict[str, object]:
    if not isinstance(data, dict):
        raise _Wrong(f"{place}: expected an object, got {_kind(data)}")
    if len(data) > _LONGEST or any(len(name) > _LONGEST for name in data):
        raise _Wrong(f"{place}: this is too large")
    return {name: _value(inner, one, f"{place}.{name[:60]}") for name, one in data.items()}


def _plain(hint: type, data: object, place: str) -> object:
    if hint is float and isinstance(data, int) and not isinstance(data, bool):
        try:
            return float(data)
        except OverflowError:
            raise _Wrong(f"{place}: the number is too large") from None
    if type(data) is not hint:
        wanted = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
        raise _Wrong(f"{place}: expected {wanted[hint]}, got {_kind(data)}")
    if isinstance(data, str):
        return _text(data, place)
    if data in (float("inf"), float("-inf")):  # what JSON makes of 1e999
        raise _Wrong(f"{place}: the number is too large")
    return data


def _text(data: str, place: str) -> str:
    if len(data) > _LONGEST:
        raise _Wrong(f"{place}: more than {_LONGEST:,} characters")
    try:
        data.encode("utf-8")
    except UnicodeEncodeError:
        raise _Wrong(f"{place}: half of a surrogate pair is not text") from None
    return data


def _at(place: str) -> str:
    return f"{place}: " if place else ""


def _kind(data: object) -> str:
    """What *data* is, in JSON's words."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    if data is None:
        return "null"
    return names.get(type(data), str(data)[:40])
