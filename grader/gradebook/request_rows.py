"""Reads regrade requests and their answers from their tables."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, select, update

from grader.gradebook import schema
from grader.gradebook.plain import read_record
from grader.model.requests import RegradeRequest, RequestAnswer, RequestState

_REQUESTS, _ANSWERS = schema.requests, schema.request_answers


def read_requests(connection: Connection, *where: ColumnElement[bool]) -> Iterator[RegradeRequest]:
    """Yields the requests that fit, oldest first."""
    query = select(_REQUESTS).where(*where).order_by(_REQUESTS.c.number)
    rows = connection.execute(query).mappings().all()
    if not rows:
        return
    answers: dict[int, list[RequestAnswer]] = {}
    query = select(_ANSWERS).join(_REQUESTS, _ANSWERS.c.request == _REQUESTS.c.number)
    for row in connection.execute(query.where(*where).order_by(_ANSWERS.c.number)).mappings():
        line = dict(row)
        mine = answers.setdefault(line.pop("request"), [])
        mine.append(read_record(RequestAnswer, line, outcome=RequestState(row["outcome"])))
    for row in rows:
        yield read_record(RegradeRequest, row, answers=tuple(answers.get(row["number"], ())))


def undo_answers(connection: Connection, which: ColumnElement[bool]) -> None:
    """Marks the answers that match *which* as undone."""
    connection.execute(update(_ANSWERS).where(which).values(undone=True))
