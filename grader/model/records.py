"""What records have in common."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def field_values(record: Any, common: type | None = None) -> dict[str, Any]:
    """Returns the values of *record* by field, or of the fields of the dataclass *common* alone,
    which it extends."""
    return {each.name: getattr(record, each.name) for each in fields(common or record)}
