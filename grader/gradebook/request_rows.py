"""Converts regrade requests and their answers to rows of their tables and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import ColumnElement, Connection, Row, insert, select, update

from grader.gradebook import schema
from grader.gradebook.plain import now, storable
from grader.model.requests import NewRequest, RegradeRequest, RequestAnswer, RequestState

_REQUESTS, _ANSWERS = schema.requests, schema.request_answers


def read_requests(connection: Connection, *where: ColumnElement[bool]) -> Iterator[RegradeRequest]:
    """Yields the requests that fit, oldest first."""
    rows = list(connection.execute(select(_REQUESTS).where(*where).order_by(_REQUESTS.c.number)))
    if not rows:
        return
    answers: dict[int, list[RequestAnswer]] = {}
    query = select(_ANSWERS).join(_REQUESTS, _ANSWERS.c.request == _REQUESTS.c.number)
    for row in connection.execute(query.where(*where).order_by(_ANSWERS.c.number)):
        answers.setdefault(row.request, []).append(_answer_of(row))
    for row in rows:
        yield RegradeRequest(
            number=row.number,
            student=row.student,
            name=row.name,
            text=row.text,
            points=row.points,
            at=row.at,
            answers=tuple(answers.get(row.number, ())),
        )


def _answer_of(row: Row[tuple[object, ...]]) -> RequestAnswer:
    return RequestAnswer(
        number=row.number,
        outcome=RequestState(row.outcome),
        reply=row.reply,
        by=row.by,
        at=row.at,
        batch=row.batch,
        is_undone=row.undone,
    )


def store_requests(connection: Connection, batch: Iterable[NewRequest]) -> list[NewRequest]:
    """Stores requests; returns those that were not stored before."""
    r, new = _REQUESTS.c, []
    for request in batch:
        text = storable(request.text)
        same = (r.student == request.student) & (r.name == request.name) & (r.text == text)
        if connection.scalar(select(r.number).where(same)) is None:
            line = {
                "student": request.student,
                "name": request.name,
                "text": text,
                "points": request.points,
                "at": now(),
            }
            connection.execute(insert(_REQUESTS), line)
            new.append(request)
    return new


def store_answer(
    connection: Connection,
    request: int,
    outcome: RequestState,
    reply: str,
    *,
    by: str,
    batch: int | None,
) -> None:
    """Stores the answer to a request."""
    line = {
        "request": request,
        "outcome": outcome.value,
        "reply": storable(reply),
        "by": by,
        "at": now(),
        "batch": batch,
        "undone": False,
    }
    connection.execute(insert(_ANSWERS), line)


def undo_answers(connection: Connection, batch: int) -> None:
    """Marks the answers that were given with the decisions of *batch* as undone."""
    connection.execute(update(_ANSWERS).where(_ANSWERS.c.batch == batch).values(undone=True))


def undo_answer(connection: Connection, number: int) -> None:
    """Marks one answer as undone."""
    connection.execute(update(_ANSWERS).where(_ANSWERS.c.number == number).values(undone=True))
