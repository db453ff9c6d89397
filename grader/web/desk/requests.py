"""The page of regrade requests, and the answers to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading.request_files import MAX_BYTES, parse_requests
from grader.grading.requests import store_requests
from grader.grading.tally import with_overrides
from grader.model import Mark
from grader.model.desk import AnswerToDecide, Decision, PartId, state_of
from grader.model.requests import RegradeRequest, RequestState
from grader.web.desk.calls import DeskCall
from grader.web.desk.forms import Form, choice_of
from grader.web.desk.sessions import Capability, Person

_MOST = 50
"""Maximum number of open requests on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    """An open request beside the mark that it is about."""

    request: RegradeRequest
    mark: Mark | None
    """The grader's own mark; None if the student's grade no longer has it."""
    current_mark: Mark | None
    decision: Decision | None
    """The decision that counts; None if there is none."""

    @property
    def part(self) -> PartId | None:
        """The part that the request is about; None if the student's grade no longer has it."""
        return PartId(self.mark.problem, self.mark.part) if self.mark else None

    @property
    def points(self) -> float | None:
        """The points that count; None if the mark is open."""
        if self.decision is not None:
            return self.decision.points
        return self.mark.points if self.mark else None

    @property
    def state(self) -> str:
        """The state of the answer and its mark."""
        return state_of(self.mark) if self.mark else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsPage:
    """The requests of the students that the reader may see."""

    waiting: tuple[OpenRequest, ...]
    """The first open requests, oldest first."""
    open_count: int
    answered_requests: tuple[RegradeRequest, ...]


def _requests_of(call: DeskCall) -> list[RegradeRequest]:
    """Returns the requests of the students that the reader may see."""
    requests = call.book.requests.every()
    return [request for request in requests if request.student in call.names.students]


def requests_page(call: DeskCall) -> RequestsPage:
    """Returns the page of all regrade requests."""
    requests = _requests_of(call)
    waiting = [one for one in requests if one.state is RequestState.OPEN]
    answered = [one for one in requests if one.state is not RequestState.OPEN]
    answered.sort(key=lambda one: one.answer.number if one.answer else 0, reverse=True)
    return RequestsPage(
        waiting=tuple(_with_marks(call.book, waiting[:_MOST])),
        open_count=len(waiting),
        answered_requests=tuple(answered),
    )


def _with_marks(book: Gradebook, requests: list[RegradeRequest]) -> Iterator[OpenRequest]:
    """Yields each request with the current mark and decision of its answer."""
    students = {request.student for request in requests}
    grades = {id_: book.grade(id_) for id_ in students}
    overrides = {(one.student, one.name): one for one in book.overrides(students)}
    decisions = book.decisions.current({request.name for request in requests})
    for request in requests:
        grade = grades[request.student]
        marks = {mark.name: mark for mark in grade.marks} if grade else {}
        answer = (request.student, request.name)
        override = {request.name: overrides[answer]} if answer in overrides else {}
        current_marks = {m.name: m for m in with_overrides(grade, override).marks} if grade else {}
        yield OpenRequest(
            request=request,
            mark=marks.get(request.name),
            current_mark=current_marks.get(request.name),
            decision=decisions.get(answer),
        )


def change_requests(call: DeskCall) -> None:
    """Stores new requests if the form has the text of a file or an issue; else an answer to one."""
    if call.form.every("content"):
        _store_pasted_requests(call.book, call.form)
    else:
        _answer_request(call)


def _answer_request(call: DeskCall) -> None:
    """Stores what the form answers to a request: accepts or declines it, or opens it again.

    Raises SetupError, and changes nothing, if the request, the answer, or its mark has changed
    since the page was shown.
    """
    book, form, person = call.book, call.form, call.person
    number = form.number("request")
    request = next((one for one in _requests_of(call) if one.number == number), None)
    if request is None:
        raise SetupError("there is no such request", fix="reload the page")
    outcome, reply = form.text("outcome"), form.prose("reply")
    if outcome == "reopen":
        _check_may_undo(request, person)
        book.requests.reopen(number, by=person.id)
        return
    if not reply:
        raise SetupError(
            "a decision on a request needs a reply to the student", fix="go back and write one"
        )
    if outcome == "decline":
        book.requests.decline(number, reply, by=person.id)
    elif outcome == "accept":
        answer, points = _new_mark(book, form, request)
        book.requests.accept(number, answer, points, reply, by=person.id)
    else:
        raise SetupError("this answer is neither 'accept' nor 'decline'", fix="reload the page")


def _check_may_undo(request: RegradeRequest, person: Person) -> None:
    """Raises SetupError if *person* may not undo another person's answer to *request*."""
    answer = request.answer
    if answer is not None and answer.by != person.id and not person.may(Capability.UNDO_OTHERS):
        raise SetupError(
            "this answer is not yours to undo", fix=f"ask {answer.by}, or an instructor"
        )


def _new_mark(book: Gradebook, form: Form, request: RegradeRequest) -> tuple[AnswerToDecide, float]:
    """Returns the answer and its new points. Raises SetupError if the form has none that fit."""
    line = next(iter(_with_marks(book, [request])))
    if line.mark is None:
        raise SetupError(
            f"the student's grade no longer has a mark for '{request.name}'",
            fix="decline the request and explain why",
        )
    points = choice_of(form, line.mark.max_points).points
    if points is None:
        raise SetupError("a new mark needs points", fix="go back and enter them")
    if form.text("state") != line.state:
        raise SetupError(
            "this answer was graded or handed in again in the meantime",
            fix="go back, reload the page, and decide again",
        )
    answer = AnswerToDecide(
        student=request.student,
        name=request.name,
        max_points=line.mark.max_points,
        engine_points=line.mark.points,
        last_decision=form.number("seen"),
    )
    return answer, points


def _store_pasted_requests(book: Gradebook, form: Form) -> None:
    """Stores the requests in the text of a file or of an issue.

    Raises GraderError or SpecErrors.
    """
    text = form.every("content")[0]
    if not text.strip():
        raise SetupError("there is no text", fix="go back, and paste a file or an issue")
    if len(text) > MAX_BYTES:
        raise SetupError("the text is too long", fix="use `grader requests`")
    store_requests(book, [parse_requests(text.replace("\r\n", "\n"), "pasted text")])
