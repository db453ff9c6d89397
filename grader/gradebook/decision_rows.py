"""Converts decisions to rows of their table and back."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict
from functools import lru_cache

from sqlalchemy import ColumnElement, Connection, exists, func, insert, select, update

from grader.gradebook import parts, schema
from grader.model import Override
from grader.model.desk import Choice, Decision

_DECISIONS = schema.decisions


def about(names: Collection[str] | None) -> tuple[ColumnElement[bool], ...]:
    """Returns the condition that a decision is about an answer in *names*; none if None."""
    return () if names is None else (_DECISIONS.c.name.in_(list(names)),)


@lru_cache(maxsize=4096)
def choice_from_json(text: str) -> Choice:
    """Returns the choice that is stored as *text*."""
    data = json.loads(text)
    return Choice(**{**data, "items": tuple(data["items"])})


def every_decision(connection: Connection, *where: ColumnElement[bool]) -> Iterator[Decision]:
    """Yields the decisions that fit, oldest first."""
    query = select(_DECISIONS).where(*where).order_by(_DECISIONS.c.number)
    for row in connection.execute(query):
        yield Decision(
            number=row.number,
            batch=row.batch,
            student=row.student,
            name=row.name,
            choice=choice_from_json(row.choice),
            points=row.points,
            engine_points=row.engine_points,
            by=row.by,
            at=row.at,
            is_undone=row.undone,
        )


def current_decisions(connection: Connection, *where: ColumnElement[bool]) -> Iterable[Decision]:
    """Returns the decisions that count and fulfill the conditions *where*, oldest first."""
    later = _DECISIONS.alias()
    replaced = exists().where(
        later.c.student == _DECISIONS.c.student,
        later.c.name == _DECISIONS.c.name,
        later.c.undone.is_(False),
        later.c.number > _DECISIONS.c.number,
    )
    return every_decision(connection, _DECISIONS.c.undone.is_(False), ~replaced, *where)


def store_overrides(connection: Connection, batch: Iterable[Override]) -> None:
    """Records points that were given elsewhere, such as by `grader mark`, as decisions."""
    number = next_batch(connection)
    for override in batch:
        mark = parts.find_mark(connection, override.student, override.name)
        line = {
            "batch": number,
            "student": override.student,
            "name": override.name,
            "choice": json.dumps(asdict(Choice(points=override.points, comment=override.reason))),
            "points": override.points,
            "engine_points": mark.points if mark else None,
            "by": override.by,
            "at": override.at,
            "undone": False,
        }
        connection.execute(insert(_DECISIONS), line)


def withdraw_decisions(connection: Connection, student: str, name: str) -> None:
    """Undoes all decisions about an answer, so that the grader's points count again."""
    mine = (_DECISIONS.c.student == student) & (_DECISIONS.c.name == name)
    connection.execute(update(_DECISIONS).where(mine).values(undone=True))


def next_batch(connection: Connection) -> int:
    """Returns the number of the next batch."""
    tables = (_DECISIONS, schema.independent_marks)
    return 1 + max(connection.scalar(select(func.max(t.c.batch))) or 0 for t in tables)
