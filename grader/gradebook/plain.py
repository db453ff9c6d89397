"""What the store can hold: text that is Unicode, and JSON of plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping

from grader.errors import GraderError


def storable(text: str) -> str:
    """*text* with what is not Unicode text written out, as student code can make such strings."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def storable_or_none(text: str | None) -> str | None:
    """As `storable`; None stays None."""
    return None if text is None else storable(text)


def to_json(value: object) -> str:
    """*value* as JSON, the same for equal values. Raises GraderError when it is not plain data."""
    try:
        return json.dumps(value, allow_nan=False, sort_keys=True, default=as_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise GraderError(f"the gradebook can't hold this: {error}") from None


def as_plain(value: object) -> object:
    """What `json` asks for when it meets *value*, which it does not know: a mapping as a dict."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not plain data")
