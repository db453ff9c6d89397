"""Converts values to what the store can hold, Unicode text and JSON of plain data, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from grader.errors import GraderError
from grader.model.desk import PartId

T = TypeVar("T")

_RENAMED = {"undone": "is_undone", "retired": "is_retired"}
"""The fields of records whose columns have other names."""


def now() -> str:
    """Returns the current time as ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def read_record(record: Callable[..., T], row: Mapping[Any, Any], **values: object) -> T:
    """Returns the record whose fields are the columns of *row*, except for those in *values*. The
    columns `problem` and `part` together become the record's field `part`."""
    fields = {_RENAMED.get(name, name): value for name, value in row.items()} | values
    if "problem" in fields:
        fields["part"] = PartId(fields.pop("problem"), fields["part"])
    return record(**fields)


def storable(text: str) -> str:
    """Returns *text* with invalid Unicode and null characters escaped, because student code can
    create such strings, and not every database can hold them."""
    text = text.replace("\0", "\\x00") if "\0" in text else text
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def storable_or_none(text: str | None) -> str | None:
    """Returns `storable(text)`, or None if *text* is None."""
    return None if text is None else storable(text)


def to_json(value: object) -> str:
    """Returns *value* as JSON, the same for equal values. Raises GraderError if it is not plain
    data."""
    try:
        return json.dumps(value, allow_nan=False, sort_keys=True, default=as_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise GraderError(f"the gradebook can't store this value: {error}") from None


def as_plain(value: object) -> object:
    """Returns a mapping as a dict, for `json`. Raises TypeError for any other type."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not plain data")
