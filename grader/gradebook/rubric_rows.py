"""Converts the items of rubrics from rows of their table."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from grader.gradebook import schema
from grader.gradebook.plain import read_record
from grader.model.desk import PartId, RubricItem

_ITEMS = schema.rubric_items


def read_items(connection: Connection, part: PartId | None) -> Iterator[RubricItem]:
    """Yields the items of one part's rubric, or all items, in the order of their creation."""
    t = _ITEMS.c
    query = select(_ITEMS).order_by(t.number)
    if part is not None:
        query = query.where((t.problem == part.problem) & (t.part == part.part))
    for row in connection.execute(query).mappings():
        yield read_record(RubricItem, row)
