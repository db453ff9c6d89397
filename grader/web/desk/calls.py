"""Answers requests of people who are signed in: checks who asks, and what they may do."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from grader.errors import GraderError, SetupError
from grader.gradebook import Gradebook
from grader.web.desk.access import Entrance
from grader.web.desk.forms import Form
from grader.web.desk.pages import Desk, Names
from grader.web.desk.sessions import Capability, DeskSession, Person
from grader.web.safety import SessionCookie, plain, receive_fields

log = logging.getLogger("grader.desk")
_MAX_BODY = 3_000_000
"""Maximum bytes of a form: the form of a group names every answer in it, and a class may have tens
of thousands of blank ones."""


@dataclass(frozen=True, kw_only=True)
class DeskCall:
    """One request of somebody who is signed in."""

    request: Request
    session: DeskSession
    desk: Desk
    book: Gradebook
    form: Form

    @property
    def person(self) -> Person:
        """Who it is."""
        return self.session.person

    @cached_property
    def names(self) -> Names:
        """How the person sees the students' names."""
        return self.desk.names(self.book, self.person)


Page = Callable[[DeskCall], Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Makes the desk's endpoints: checks who asks before a page answers."""

    entrance: Entrance
    cookie: SessionCookie
    desk: Desk
    book: Gradebook
    error_page: Callable[[DeskCall, GraderError, int], Response]
    """Returns the page about an error, with a status."""
    changing: Lock
    """Lets one form at a time change something."""

    def endpoint(
        self, page: Page, capability: Capability, lock: Lock | None = None
    ) -> Callable[[Request], Awaitable[Response]]:
        """Returns the endpoint of *page* for people who are signed in and may do this.

        Forms wait for one another; those of a page with a *lock* of its own wait for that alone.
        """

        async def answer(request: Request) -> Response:
            try:
                id_ = self.cookie.id_of(request)
                session = await run_sync(self.entrance.sessions.get, id_)
            except GraderError as error:
                log.error("%s", error)
                return plain("Nobody can use the desk now. For details, see the terminal.", 503)
            if session is None:
                return self.entrance.turn_away(request)
            if not session.person.may(capability):
                return plain(f"The role '{session.person.role.value}' may not do this.", 403)
            fields = await receive_fields(request, _MAX_BODY)
            if isinstance(fields, Response):
                return fields
            form = Form(fields)
            if request.method == "POST" and not session.accepts(form.text("form_token")):
                return plain("This form has expired. Go back, reload the page, and try again.", 403)
            call = DeskCall(
                request=request, session=session, desk=self.desk, book=self.book, form=form
            )
            return await run_sync(self._answer_call, page, call, lock or self.changing)

        answer.capability = capability  # type: ignore[attr-defined] # for the test of all routes
        return answer

    def _answer_call(self, page: Page, call: DeskCall, lock: Lock) -> Response:
        """Returns the answer of *page*, or the page of an error. Holds *lock* for a form."""
        is_form = call.request.method == "POST"
        held: AbstractContextManager[object] = lock if is_form else nullcontext()
        try:
            with held:
                return page(call)
        except GraderError as error:
            return self.error_page(call, error, 400)
        except Exception as error:
            log.exception("%s %s", call.request.method, call.request.url.path)
            what = f"an internal error occurred ({type(error).__name__}); nothing was changed"
            fix = "go back and try again; for details, see the terminal of `grader desk`"
            return self.error_page(call, SetupError(what, fix=fix), 500)
