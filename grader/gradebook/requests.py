"""Stores students' requests for a regrade, and what the staff answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

from sqlalchemy import ColumnElement, Connection, insert, select, update

from grader.errors import SetupError
from grader.gradebook import schema
from grader.gradebook.decisions import Decisions
from grader.gradebook.plain import now, read_record, storable
from grader.gradebook.store import Store
from grader.model.desk import AnswerToDecide, Choice
from grader.model.requests import NewRequest, RegradeRequest, RequestAnswer, RequestState
from grader.text.words import count_points

_REQUESTS, _ANSWERS = schema.requests, schema.request_answers

_CHANGED = "somebody has answered this request in the meantime"


class Requests:
    """The regrade requests of a gradebook."""

    def __init__(self, store: Store, decisions: Decisions):
        self._engine, self._write, self._log = store.engine, store.write, store.log
        self._decisions = decisions

    def every(self, student: str | None = None) -> tuple[RegradeRequest, ...]:
        """Returns the requests of one student or of all, oldest first."""
        where = () if student is None else (_REQUESTS.c.student == student,)
        with self._engine.begin() as connection:
            return tuple(read_requests(connection, *where))

    def add(self, batch: Iterable[NewRequest]) -> int:
        """Stores requests, all or none. Returns how many were not stored before."""
        r = _REQUESTS.c
        count = 0
        with self._write() as connection:
            for request in batch:
                line = asdict(request) | {"text": storable(request.text), "at": now()}
                same = (r.student == request.student) & (r.name == request.name)
                same &= r.text == line["text"]
                if connection.scalar(select(r.number).where(same)) is not None:
                    continue
                connection.execute(insert(_REQUESTS), line)
                detail = {name: line[name] for name in ("student", "name", "points")}
                self._log(connection, "regrade requested", request.student, request.text, detail)
                count += 1
        return count

    def accept(
        self, number: int, answer: AnswerToDecide, points: float, reply: str, *, by: str
    ) -> None:
        """Gives *points* for the answer that an open request is about, as a decision.

        Raises SetupError, and changes nothing, if the request is not open, or if somebody has
        decided about the answer meanwhile.
        """
        with self._write() as connection:
            request = self._require_open_request(connection, number)
            if (request.student, request.name) != (answer.student, answer.name):
                raise SetupError("this request is about another answer", fix="reload the page")
            choice = Choice(points=points, comment=reply)
            done = self._decisions.decide_in_transaction(connection, [answer], choice, by=by)
            if done.conflicts:
                other = done.conflicts[0]
                raise SetupError(
                    f"{other.by} changed this mark to {count_points(other.points)} in the meantime",
                    fix="go back, reload the page, and decide again",
                )
            self._store_answer(connection, request, RequestState.ACCEPTED, reply, by, done.batch)

    def decline(self, number: int, reply: str, *, by: str) -> None:
        """Declines an open request, so that the mark stays. Raises SetupError if it is not open."""
        with self._write() as connection:
            request = self._require_open_request(connection, number)
            self._store_answer(connection, request, RequestState.DECLINED, reply, by, None)

    def reopen(self, number: int, *, by: str) -> None:
        """Undoes the answer that declined a request. Raises SetupError if there is none.

        To undo an acceptance, undo its decision.
        """
        with self._write() as connection:
            request = self._require_request(connection, number)
            answer = request.answer
            if answer is None or answer.batch is not None:
                raise SetupError(_CHANGED, fix="reload the page")
            undone = update(_ANSWERS).where(_ANSWERS.c.number == answer.number)
            connection.execute(undone.values(undone=True))
            detail = {"request": number, "student": request.student, "name": request.name}
            self._log(connection, "regrade answer undone", by, "", detail)

    def _store_answer(
        self,
        connection: Connection,
        request: RegradeRequest,
        outcome: RequestState,
        reply: str,
        by: str,
        batch: int | None,
    ) -> None:
        """Stores and logs the answer to *request*, with the *batch* of its decision, if any."""
        line = {
            "request": request.number,
            "outcome": outcome.value,
            "reply": storable(reply),
            "by": by,
            "at": now(),
            "batch": batch,
            "undone": False,
        }
        connection.execute(insert(_ANSWERS), line)
        detail = {"request": request.number, "student": request.student, "name": request.name}
        self._log(connection, f"regrade request {outcome.value}", by, reply, detail)

    def _require_open_request(self, connection: Connection, number: int) -> RegradeRequest:
        """Returns the request with this number. Raises SetupError if it is not open."""
        request = self._require_request(connection, number)
        if request.state is not RequestState.OPEN:
            raise SetupError(_CHANGED, fix="reload the page to see the answer")
        return request

    def _require_request(self, connection: Connection, number: int) -> RegradeRequest:
        """Returns the request with this number. Raises SetupError if there is none."""
        mine = _REQUESTS.c.number == number
        request = next(read_requests(connection, mine), None)
        if request is None:
            raise SetupError("there is no such request", fix="reload the page")
        return request


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
