"""Converts decisions, and the items of rubrics that they choose, to rows and back."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict
from functools import lru_cache

from sqlalchemy import ColumnElement, Connection, exists, func, insert, select, update

from grader.gradebook import parts, schema
from grader.gradebook.plain import read_record
from grader.model import Override
from grader.model.desk import Choice, Decision, PartId, RubricItem

_DECISIONS, _ITEMS = schema.decisions, schema.rubric_items


def condition_on_names(names: Collection[str] | None) -> tuple[ColumnElement[bool], ...]:
    """Returns the condition that a decision is about an answer in *names*, or no condition for
    None."""
    return () if names is None else (_DECISIONS.c.name.in_(list(names)),)


@lru_cache(maxsize=4096)
def choice_from_json(text: str) -> Choice:
    """Returns the choice that is stored as *text*."""
    data = json.loads(text)
    return Choice(**{**data, "items": tuple(data["items"])})


def iter_decisions(connection: Connection, *where: ColumnElement[bool]) -> Iterator[Decision]:
    """Yields the decisions that fit, oldest first."""
    query = select(_DECISIONS).where(*where).order_by(_DECISIONS.c.number)
    for row in connection.execute(query).mappings():
        yield read_record(Decision, row, choice=choice_from_json(row["choice"]))


def current_decisions(connection: Connection, *where: ColumnElement[bool]) -> Iterable[Decision]:
    """Returns the decisions that count and fulfill the conditions *where*, oldest first."""
    later = _DECISIONS.alias()
    replaced = exists().where(
        later.c.student == _DECISIONS.c.student,
        later.c.name == _DECISIONS.c.name,
        later.c.undone.is_(False),
        later.c.number > _DECISIONS.c.number,
    )
    return iter_decisions(connection, _DECISIONS.c.undone.is_(False), ~replaced, *where)


def store_overrides(connection: Connection, batch: Iterable[Override]) -> None:
    """Records points that were given elsewhere, such as by `grader mark`, as decisions."""
    number = next_batch(connection)
    for override in batch:
        mark = parts.find_mark(connection, override.student, override.name)
        choice = Choice(points=override.points, comment=override.reason)
        store_decision(connection, number, override, choice, mark.points if mark else None)


def store_decision(
    connection: Connection,
    batch: int,
    override: Override,
    choice: Choice,
    engine_points: float | None,
) -> None:
    """Stores the decision for *choice*, which gives the points of *override*."""
    line = asdict(override) | {
        "batch": batch,
        "choice": json.dumps(asdict(choice)),
        "engine_points": engine_points,
        "undone": False,
    }
    del line["reason"]  # it follows from the choice
    connection.execute(insert(_DECISIONS), line)


def withdraw_decisions(connection: Connection, student: str, name: str) -> None:
    """Undoes all decisions about an answer, so that the grader's points count again."""
    mine = (_DECISIONS.c.student == student) & (_DECISIONS.c.name == name)
    connection.execute(update(_DECISIONS).where(mine).values(undone=True))


def next_batch(connection: Connection) -> int:
    """Returns the number of the next batch."""
    tables = (_DECISIONS, schema.independent_marks)
    return 1 + max(connection.scalar(select(func.max(t.c.batch))) or 0 for t in tables)


def read_items(connection: Connection, part: PartId | None) -> Iterator[RubricItem]:
    """Yields the items of one part's rubric, or all items, in the order of their creation."""
    t = _ITEMS.c
    query = select(_ITEMS).order_by(t.number)
    if part is not None:
        query = query.where((t.problem == part.problem) & (t.part == part.part))
    for row in connection.execute(query).mappings():
        yield read_record(RubricItem, row)
