"""The routes of practice: an ASGI application for one student on their own machine."""

from __future__ import annotations

import hmac
import logging
import math
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from grader.errors import GraderError, SetupError
from grader.runtime.sandbox import choose_sandbox
from grader.web.practice.selection import Selection
from grader.web.practice.session import Practice
from grader.web.practice.spacing import LEVELS
from grader.web.practice.views import PracticeRenderer, part_views
from grader.web.safety import (
    HEADERS,
    FormFields,
    SessionCookie,
    not_found,
    plain,
    receive_fields,
    redirect,
    static_route,
)
from grader.web.serving import LOOPBACK

log = logging.getLogger("grader.practice")
_MOST_MINUTES = 10_000
_STATIC = {"style.css": "report", "practice.css": "practice", "practice.js": "practice"}
_POLICY = "Content-Security-Policy"
# Formulas and figures have style attributes; what students write is escaped.
_HEADERS = {
    **HEADERS,
    _POLICY: HEADERS[_POLICY].replace("style-src 'self'", "style-src 'self' 'unsafe-inline'"),
}
_Page = Callable[[FormFields, str], Response]


@dataclass(slots=True)
class OwnerAccess:
    """A link with a token, and the sessions of the browsers that opened it. They end with the
    process."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    _form_tokens: dict[str, str] = field(default_factory=dict)

    def enter(self, token: str) -> str | None:
        """Returns the id of a new session; None if *token* is not the link's."""
        if not hmac.compare_digest(self.token.encode(), token.encode()):
            return None
        id_ = secrets.token_urlsafe(32)
        self._form_tokens[id_] = secrets.token_urlsafe(32)
        return id_

    def form_token(self, id_: str | None) -> str | None:
        """Returns what every form of the session sends back; None if there is no such session."""
        return self._form_tokens.get(id_ or "")


class PracticeApp:
    """The application; `asgi` is what a server runs."""

    def __init__(self, practice: Practice, access: OwnerAccess):
        self._practice = practice
        self._access = access
        self._cookie = SessionCookie(name="practice")
        self._renderer = PracticeRenderer(practice.bank.templates)
        self._changing = Lock()
        get, post = partial(Route, methods=["GET"]), partial(Route, methods=["POST"])
        self.asgi = Starlette(
            routes=[
                get("/enter", self._open_session),
                static_route(practice.bank.templates, _STATIC),
                get("/", self._page_route(self._show_choices)),
                get("/question", self._page_route(self._show_question)),
                post("/start", self._page_route(self._start_practice)),
                post("/answer", self._page_route(self._mark_answers)),
                post("/tick", self._page_route(self._tick_criteria)),
                post("/next", self._page_route(self._draw_next)),
                post("/save", self._page_route(self._save_progress)),
            ],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(LOOPBACK))],
            exception_handlers={404: not_found, 405: not_found},
        )

    # Access

    async def _open_session(self, request: Request) -> Response:
        """Starts a session for a browser with the right link; the status is 403 for any other."""
        id_ = self._access.enter(request.query_params.get("token", ""))
        if id_ is None:
            return plain("This link is not valid. Use the one that `grader practice` printed.", 403)
        address = "/question" if self._practice.question else "/"
        return self._cookie.give(redirect(address), request, id_)

    def _page_route(self, page: _Page) -> Callable[[Request], Awaitable[Response]]:
        """Returns the endpoint of *page*, which checks the session and the form's token first."""

        async def answer(request: Request) -> Response:
            token = self._access.form_token(self._cookie.id_of(request))
            if token is None:
                return plain("Open the link that `grader practice` printed.", 403)
            values = await receive_fields(request)
            if isinstance(values, Response):
                return values
            fields = FormFields(values)
            sent = fields.text("form_token")
            if request.method == "POST" and not hmac.compare_digest(token.encode(), sent.encode()):
                return plain("This form has expired. Reload the page, and try again.", 403)
            return await run_sync(self._respond, page, fields, token)

        return answer

    def _respond(self, page: _Page, fields: FormFields, token: str) -> Response:
        """Returns the answer of *page*, or the page of an error. Answers one request at a time."""
        try:
            with self._changing:
                return page(fields, token)
        except GraderError as error:
            return self._render_page("error", token, 400, error=error)
        except Exception as error:
            log.exception("practice failed")
            what = f"an internal error occurred ({type(error).__name__})"
            fix = "go on with another question; for details, see the terminal"
            return self._render_page("error", token, 500, error=SetupError(what, fix=fix))

    def _render_page(self, name: str, token: str, status: int = 200, **names: object) -> Response:
        text = self._renderer.page(name, form_token=token, practice=self._practice, **names)
        return HTMLResponse(text, status, headers=_HEADERS)

    # Pages

    def _show_choices(self, _fields: FormFields, token: str) -> Response:
        """Shows the form that chooses what to practice."""
        heads, bank = self._practice.heads, self._practice.bank
        present = {head.family for head in heads}
        families = {name: title for name, title in bank.families.items() if name in present}
        topics = sorted({topic for head in heads for topic in head.topics})
        return self._render_page(
            "choose",
            token,
            families=families,
            levels=LEVELS,
            topics=topics,
            sets=bank.listed_sets,
            sandbox=choose_sandbox(self._practice.sandbox).warning,
        )

    def _show_question(self, _fields: FormFields, token: str) -> Response:
        """Shows the current question, or returns to the choice if there is none."""
        if self._practice.question is None:
            return redirect("/")
        warning = choose_sandbox(self._practice.sandbox).warning
        views = tuple(part_views(self._practice))
        return self._render_page("question", token, parts=views, sandbox=warning)

    # Changes

    def _start_practice(self, fields: FormFields, _token: str) -> Response:
        """Starts with the problems that the form chooses."""
        self._practice.start(
            Selection(
                name=fields.text("wanted").strip() or fields.text("set"),
                family=fields.text("family"),
                level=fields.text("level"),
                concept=fields.text("concept").strip(),
                minutes=_parse_minutes(fields.text("minutes").strip()),
            )
        )
        return redirect("/question")

    def _mark_answers(self, fields: FormFields, _token: str) -> Response:
        self._require_current(fields)
        self._practice.answer(fields, give_up=fields.text("action") == "solution")
        return redirect("/question#verdict")

    def _tick_criteria(self, fields: FormFields, _token: str) -> Response:
        self._require_current(fields)
        self._practice.tick(fields.text("name"), fields.every("criterion"))
        return redirect("/question#verdict")

    def _draw_next(self, fields: FormFields, _token: str) -> Response:
        self._require_current(fields)
        self._practice.next()
        return redirect("/question")

    def _save_progress(self, _fields: FormFields, _token: str) -> Response:
        self._practice.save()
        return redirect("/question" if self._practice.question else "/")

    def _require_current(self, fields: FormFields) -> None:
        """Raises SetupError if the form belongs to another question than the one on the page."""
        if fields.text("variant") != str(self._practice.number):
            raise SetupError(
                "this form belongs to an earlier question",
                fix="go back to the question, which is open in another tab or was replaced",
            )


def _parse_minutes(text: str) -> float:
    """Returns the minutes in a field; 0 if it is empty. Raises SetupError for anything else."""
    try:
        minutes = float(text or 0)
    except ValueError:
        minutes = math.nan
    if not 0 <= minutes <= _MOST_MINUTES:
        raise SetupError(f"'{text}' is not a number of minutes", fix="enter a number such as 30")
    return minutes
