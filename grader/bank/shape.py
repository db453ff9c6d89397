"""Converts plain data to records, with a readable error for everything that does not fit: unknown
and missing keys, and values of another type."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from grader.bank.yaml12 import Located, Path_
from grader.errors import SetupError, SpecError
from grader.registry import Registry, suggest


@cache
def adapter(record: type) -> TypeAdapter[Any]:
    """Returns the validator of a record class; cached because building it is slow."""
    return TypeAdapter(record)


@dataclasses.dataclass(frozen=True, slots=True)
class PartialRecord:
    """A record, as far as it could be read, and the errors in its data."""

    record: Any
    """The record without its unreadable pieces; None if it can't exist without them."""
    errors: tuple[SpecError, ...] = ()
    error_paths: tuple[Path_, ...] = ()
    """The paths of the errors."""


def shape(
    record: type, data: object, source: Located, at: Path_, fill: Mapping[str, object] | None = None
) -> PartialRecord:
    """Returns the record that *data* describes, and all errors in it.

    *fill* supplies required fields that are missing, so that the rest can be checked.
    """
    if not isinstance(data, dict):
        what = f"expected keys and values, saw {describe(data)}"
        fix = "known keys: " + ", ".join(_field_names(record))
        return PartialRecord(None, (source.error(at, what, fix),), (at,))
    try:
        return PartialRecord(_validate(record, data))
    except ValidationError as error:
        error_by_path = dict(_convert_errors(error, record, source, at))
    valid_data = _remove_paths(data, [path[len(at) :] for path in error_by_path])
    try:
        partial = _validate(record, {**(fill or {}), **valid_data})
    except ValidationError:
        partial = None  # a required field is missing
    return PartialRecord(partial, tuple(error_by_path.values()), tuple(error_by_path))


def shape_list(
    source: Located, key: str, noun: str, choice: str, registry: Registry[Any]
) -> Iterator[PartialRecord]:
    """Yields each item of the list under *key*, such as the parts, validated by its own record.

    The item's value of *choice*, such as its kind, names an entry of *registry* with a `spec`.
    """
    listed = source.data.get(key, ()) if isinstance(source.data, dict) else ()
    if not isinstance(listed, tuple):
        what = f"'{key}' should be a list of {key}, saw {describe(listed)}"
        error = source.error((key,), what, "add '- id: …' lines")
        yield PartialRecord(None, (error,), ((key,),))
        return
    for index, data in enumerate(listed):
        at: Path_ = (key, index)
        try:
            record = _find_record(data, source, at, noun, choice, registry)
        except SpecError as error:
            yield PartialRecord(None, (error,), (at,))
        else:
            yield shape(record, data, source, at)


def _find_record(
    data: object, source: Located, at: Path_, noun: str, choice: str, registry: Registry[Any]
) -> type:
    """Returns the record class for *data*; raises SpecError if *registry* has none."""
    if not isinstance(data, dict):
        what = f"a {noun} should be keys and values, saw {describe(data)}"
        raise source.error(at, what, "start it with '- id: name'")
    known = "one of: " + ", ".join(sorted(registry))
    if choice not in data:
        raise source.error(at, f"'{choice}' is missing", known)
    name = str(data[choice])
    try:
        entry = registry.find(name)
    except SetupError as error:
        raise source.error((*at, choice), error.what, error.fix or known) from None
    record: type = entry.spec
    if isinstance(entry, type):
        what = f"the plug-in for '{name}' is a class, not an object"
        raise source.error((*at, choice), what, f"let it name an object: {entry.__name__}()")
    own_names = _literal_values(record, choice)
    if own_names and name not in own_names:
        names = " or ".join(f"'{own}'" for own in own_names)
        what = f"the plug-in for '{name}' says that its {choice} is {names}"
        raise source.error((*at, choice), what, "use the same name in its entry point and its code")
    return record


@cache
def _literal_values(record: type, field: str) -> tuple[str, ...]:
    """Returns the texts that a field of type `Literal` allows; none for other types."""
    return tuple(f"{value}" for value in typing.get_args(typing.get_type_hints(record)[field]))


def _validate(record: type, data: object) -> Any:
    # Strict mode for Python objects would not accept a dict in place of a record, so use JSON.
    return adapter(record).validate_json(json.dumps(data), strict=True)


def _remove_paths(data: Any, paths: list[Path_]) -> Any:
    """Returns a copy of *data* without the keys at *paths*; list items are kept."""
    if isinstance(data, dict):
        return {
            key: _remove_paths(value, [p[1:] for p in paths if len(p) > 1 and p[0] == key])
            for key, value in data.items()
            if (key,) not in paths
        }
    if isinstance(data, tuple):
        return tuple(
            _remove_paths(value, [p[1:] for p in paths if len(p) > 1 and p[0] == index])
            for index, value in enumerate(data)
        )
    return data


def describe(value: object) -> str:
    """Returns a short description of *value* for error messages."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text '{value[:40]}…'" if len(value) > 40 else f"the text '{value}'"
        case dict():
            return "keys and values"
        case _:
            return "a list" if value else "an empty list"


def _field_names(record: type) -> list[str]:
    return [f.name for f in dataclasses.fields(record)]


def _convert_errors(
    error: ValidationError, record: type, source: Located, at: Path_
) -> Iterator[tuple[Path_, SpecError]]:
    """Yields the path and the error for each piece of the data that pydantic refused."""
    details: dict[Path_, Any] = {}
    for detail in error.errors(include_url=False, include_context=True):
        path = _real_path(detail["loc"], source, at, missing=detail["type"] == "missing")
        details.setdefault(path, detail)  # one error for all branches of a union
    holders = {path[:end] for path in details for end in range(len(path))}
    for path, detail in details.items():
        # Keys and values with an error in them were not meant as the text of another branch.
        if detail["type"] != "string_type" or path not in holders:
            yield path, _make_error(detail, path, record, source, at)


def _real_path(loc: tuple[str | int, ...], source: Located, at: Path_, *, missing: bool) -> Path_:
    """Returns the error's path without the names that pydantic adds for branches of a union."""
    path = at
    for index, step in enumerate(loc):
        if (*path, step) in source.values or (missing and index == len(loc) - 1):
            path = (*path, step)
    return path


def _make_error(detail: Any, path: Path_, record: type, source: Located, at: Path_) -> SpecError:
    """Returns the error that pydantic found at *path*, in the words of an author."""
    # A release has no places, so that a path in it ends where the record begins.
    kind, steps = detail["type"], path[len(at) :] or detail["loc"] or path
    name = steps[-1]
    holder = _record_at(record, path[len(at) : -1])
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        known = _field_names(holder) if holder else []
        # In an entry of a set, 'id' is written for 'problem'.
        meant = "problem" if name == "id" and "problem" in known else str(name)
        return _unknown_key_error(name, meant, known, source, path)
    if kind == "missing":
        return source.error(path[:-1], f"'{name}' is missing", f"add '{name}:' here")
    if kind in ("literal_error", "enum"):
        wanted = detail["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        if detail["loc"][-1] == "[key]":
            return _unknown_key_error(name, str(name), wanted, source, path)
        fix = suggest(str(detail["input"]), wanted, "one of: " + ", ".join(wanted))
        return source.error(path, f"'{name}' can't be {describe(detail['input'])}", fix)
    subject = f"item {name + 1} of '{steps[-2]}'" if isinstance(name, int) else f"'{name}'"
    return source.error(
        path,
        f"{subject} should be {_describe_expected(detail)}, saw {describe(detail['input'])}",
        _choose_fix(detail, name),
    )


def _unknown_key_error(
    name: object, meant: str, known: list[str], source: Located, path: Path_
) -> SpecError:
    """Returns the error for the key *name*, with the known key most similar to *meant*."""
    fix = suggest(meant, known, "known keys: " + ", ".join(known))
    return source.error(path, f"unknown key '{name}'", fix, key=True)


_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "mapping_type": "keys and values",
    "dict_type": "keys and values",
    "dataclass_type": "keys and values",
    "dataclass_exact_type": "keys and values",
    "too_long": "a list of exactly two",
    "too_short": "a list of exactly two",
    "value_error": "a share such as 25% or 0.25",
}


def _describe_expected(detail: Any) -> str:
    message = str(detail["msg"])
    return _WANTED.get(detail["type"], message[:1].lower() + message[1:])


# The form of fields that are often written in a shortened form.
_EXAMPLES = {
    "tolerance": "write {relative: 1%} or {absolute: 0.5 * GB}",
    "carry": "write {discount: 25%}",
    "mistakes": "write a list of {id: …, value: …, feedback: …}",
    "options": "write a list of {id: …, text: …, correct: true}",
    "parameters": "write name: {choice: [1, 2, 4]}",
    "values": "write name: expression",
    "families": "write {memory-math: 60%, numerics: 40%}",
    "levels": "write {apply: 60%, analyze: 40%}",
    "where": "write a list of conditions, each after '- '",
}


def _choose_fix(detail: Any, name: object) -> str:
    """Returns what to write instead of the value *name*, which *detail* is about."""
    value = detail["input"]
    if detail["type"] == "value_error":
        return "write a percentage, or a number from 0 to 1"
    if name in _EXAMPLES:
        return _EXAMPLES[str(name)]
    if detail["type"] in ("float_type", "int_type") and isinstance(value, str):
        return "write it without quotes and without a unit"
    if detail["type"] == "string_type" and isinstance(value, (int, float, bool)):
        return "put it in quotes"
    if detail["type"] == "tuple_type":
        return "write [a, b], or one '- ' line for each"
    return "see the reference of problem specs, or `grader new` for a commented example"


def _record_at(record: type | None, path: Path_) -> type | None:
    """Returns the record class at *path*, according to the type hints; None if there is none."""
    current: Any = record
    for step in path:
        current = _follow_step(current, step)
        if current is None:
            return None
    records = [t for t in _flatten(current) if dataclasses.is_dataclass(t)]
    return typing.cast("type", records[0]) if records else None


def _follow_step(hint: Any, step: str | int) -> Any:
    """Returns the type hint of the field or item *step* of a value; None if it has none."""
    for option in _flatten(hint):
        if dataclasses.is_dataclass(option) and isinstance(option, type):
            hints = hints_of(option)
            if step in hints:
                return hints[str(step)]
        elif typing.get_origin(option) in (tuple, dict, Mapping):
            arguments = [a for a in typing.get_args(option) if a is not Ellipsis]
            return arguments[-1]
    return None


@cache
def hints_of(record: type) -> Mapping[str, Any]:
    """Returns the resolved type hints of a record, including markers."""
    return typing.get_type_hints(record, include_extras=True)


def _flatten(hint: Any) -> Iterator[Any]:
    """Yields the members of a union, without markers."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        yield from _flatten(typing.get_args(hint)[0])
    elif origin in (typing.Union, types.UnionType):
        for option in typing.get_args(hint):
            yield from _flatten(option)
    else:
        yield hint


def iter_marked(record: Any, at: Path_ = ()) -> Iterator[tuple[Path_, str, Any]]:
    """Yields path, marker, and source of every expression and text in a record."""
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        yield from _iter_marked_value(
            value, hints_of(record.__class__)[field.name], (*at, field.name)
        )


def _iter_marked_value(value: Any, hint: Any, at: Path_) -> Iterator[tuple[Path_, str, Any]]:
    """Yields path, marker, and source of each expression and text in a field's value."""
    if value is None:
        return
    if dataclasses.is_dataclass(value):
        yield from iter_marked(value, at)
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _iter_marked_value(item, hint, (*at, index))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _iter_marked_value(item, hint, (*at, key))
    elif marker := _find_marker(hint):
        yield at, marker, value


@cache
def _find_marker(hint: Any) -> str | None:
    """Returns the first marker in a type hint, such as "text"; None if it has none."""
    if typing.get_origin(hint) is typing.Annotated:
        return str(typing.get_args(hint)[1])
    for argument in typing.get_args(hint):
        marker = None if argument is Ellipsis else _find_marker(argument)
        if marker:
            return marker
    return None
