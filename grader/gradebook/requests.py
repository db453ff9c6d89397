"""Stores students' requests for a regrade, and what the staff answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from sqlalchemy import Connection, insert, select

from grader.errors import SetupError
from grader.gradebook import request_rows, schema
from grader.gradebook.decisions import Decisions
from grader.gradebook.plain import now, storable
from grader.gradebook.store import Store
from grader.model.desk import AnswerToDecide, Choice
from grader.model.requests import NewRequest, RegradeRequest, RequestState

_CHANGED = "somebody has answered this request in the meantime"


class Requests:
    """The regrade requests of a gradebook."""

    def __init__(self, store: Store, decisions: Decisions):
        self._engine, self._write, self._log = store.engine, store.write, store.log
        self._decisions = decisions

    def every(self, student: str | None = None) -> tuple[RegradeRequest, ...]:
        """Returns the requests of one student or of all, oldest first."""
        where = () if student is None else (schema.requests.c.student == student,)
        with self._engine.begin() as connection:
            return tuple(request_rows.read_requests(connection, *where))

    def add(self, batch: Iterable[NewRequest]) -> int:
        """Stores requests, all or none. Returns how many were not stored before."""
        r = schema.requests.c
        count = 0
        with self._write() as connection:
            for request in batch:
                line = asdict(request) | {"text": storable(request.text), "at": now()}
                same = (r.student == request.student) & (r.name == request.name)
                same &= r.text == line["text"]
                if connection.scalar(select(r.number).where(same)) is not None:
                    continue
                connection.execute(insert(schema.requests), line)
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
                    f"{other.by} changed this mark to {other.points:g} points in the meantime",
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
            request_rows.undo_answers(connection, schema.request_answers.c.number == answer.number)
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
        """Stores and logs the answer to *request*, with the *batch* of the decision that follows,
        if any."""
        line = {
            "request": request.number,
            "outcome": outcome.value,
            "reply": storable(reply),
            "by": by,
            "at": now(),
            "batch": batch,
            "undone": False,
        }
        connection.execute(insert(schema.request_answers), line)
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
        mine = schema.requests.c.number == number
        request = next(iter(list(request_rows.read_requests(connection, mine))), None)
        if request is None:
            raise SetupError("there is no such request", fix="reload the page")
        return request
