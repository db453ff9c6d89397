"""Reads a stored profile and checks every field, because scores may depend on it."""

from __future__ import annotations

import dataclasses
import json
import math
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from grader.errors import SetupError
from grader.runtime.machine.records import SCHEMA, MachineProfile, digest

MAX_BYTES = 2_000_000
"""Maximum size of a profile's file; a real one has some 20 kB."""
_FIX = "measure this machine again with `grader calibrate`"
_NAMES = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}

T = TypeVar("T")


class _InvalidProfileError(ValueError):
    """A defect of the profile, with its place in the file."""


def read_profile(path: Path) -> MachineProfile:
    """Returns the profile in the file at *path*.

    Raises SetupError if the file can't be read or is not a profile.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except OSError as error:
        what = f"this machine profile can't be read: {(error.strerror or str(error)).lower()}"
        raise SetupError(what, where=str(path), fix=_FIX) from error
    except UnicodeDecodeError as error:
        what = "this is not a machine profile: it is not UTF-8"
        raise SetupError(what, where=str(path), fix=_FIX) from error
    return from_json(text, where=str(path))


def from_json(text: str, *, where: str | None = None) -> MachineProfile:
    """Returns the profile that *text* contains. Unknown fields are ignored: version 0.1 had more.

    Raises SetupError, which names the field, if a field is missing or has the wrong type, or if
    the contents do not match the id.
    """
    try:
        data = _parse(text)
        profile = _read_record(MachineProfile, data, "")
        contents = {name: value for name, value in data.items() if name not in {"schema", "id"}}
        if data.get("id") != _digest(contents):
            raise _InvalidProfileError(
                f"its contents do not match its id '{str(data.get('id'))[:60]}'"
            )
    except _InvalidProfileError as error:
        raise SetupError(str(error), where=where, fix=_FIX) from None
    return profile


def _digest(contents: dict[str, Any]) -> str:
    try:
        return digest(contents)
    except ValueError:  # an unknown field contains an infinite number
        return ""


def _parse(text: str) -> dict[str, Any]:
    if len(text) > MAX_BYTES:
        raise _InvalidProfileError(
            f"this is not a machine profile: it has more than {MAX_BYTES:,} bytes"
        )
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _InvalidProfileError(
            f"this is not a machine profile: it is not JSON ({error})"
        ) from None
    if not isinstance(data, dict) or "schema" not in data:
        raise _InvalidProfileError("this is not a machine profile: it has no 'schema'")
    if data["schema"] != SCHEMA:
        raise _InvalidProfileError(
            f"schema is '{str(data['schema'])[:60]}', but must be '{SCHEMA}'"
        )
    return data


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _read_record(kind: type[T], data: object, place: str) -> T:
    """Returns *data* as the dataclass *kind*."""
    if not isinstance(data, Mapping):
        raise _InvalidProfileError(f"{_place_prefix(place)}expected an object")
    hints = get_type_hints(kind)
    inner = f"{place}." if place else ""
    values = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.name in data:
            values[field.name] = _read_value(
                hints[field.name], data[field.name], inner + field.name
            )
        elif field.default is dataclasses.MISSING:
            raise _InvalidProfileError(f"{_place_prefix(place)}'{field.name}' is missing")
    try:
        return kind(**values)
    except ValueError as error:
        raise _InvalidProfileError(f"{_place_prefix(place)}{error}") from None


def _read_value(hint: Any, data: object, place: str) -> object:
    """Returns *data* as *hint* requires; whole numbers may stand for floats."""
    if get_origin(hint) in (Union, types.UnionType):
        if data is None:
            return None
        return _read_value(
            next(arg for arg in get_args(hint) if arg is not type(None)), data, place
        )
    if get_origin(hint) is tuple:
        if not isinstance(data, list):
            raise _InvalidProfileError(f"{_place_prefix(place)}expected a list")
        item = get_args(hint)[0]
        return tuple(_read_value(item, one, f"{place}[{index}]") for index, one in enumerate(data))
    if dataclasses.is_dataclass(hint):
        return _read_record(hint, data, place)  # type: ignore[arg-type]
    wanted = (int, float) if hint is float else hint
    if not isinstance(data, wanted) or (isinstance(data, bool) and hint is not bool):
        raise _InvalidProfileError(f"{_place_prefix(place)}expected {_NAMES[hint]}")
    return _read_float(data, place) if hint is float else data


def _read_float(data: float, place: str) -> float:
    try:
        value = float(data)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise _InvalidProfileError(f"{_place_prefix(place)}the number is too large")
    return value


def _place_prefix(place: str) -> str:
    return f"{place}: " if place else ""
