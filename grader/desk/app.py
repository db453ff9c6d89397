"""The routes of the desk: an ASGI application over one results folder."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, quote

from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from grader.bank.folders import Bank
from grader.desk.access import COOKIE, Access, Person, Session
from grader.desk.audit import AuditPages
from grader.desk.changes import Changed, Graded, change_mark, grade_group
from grader.desk.evidence import student_view
from grader.desk.forms import Form, item_of
from grader.desk.pages import Desk
from grader.desk.part_page import part_page
from grader.desk.presence import Place, Presence
from grader.desk.rendering import Renderer
from grader.desk.requests import change_requests, requests_page
from grader.errors import GraderError, SetupError
from grader.gradebook import Gradebook
from grader.grading.results import write_results
from grader.model.course import Role
from grader.model.desk import PartId
from grader.web.origins import is_foreign, is_own_address
from grader.web.safety import (
    HEADERS,
    limited_body,
    not_found,
    plain,
    redirect,
    session_cookie,
)

log = logging.getLogger("grader.desk")
_LONGEST_SEARCH = 200
_Page = Callable[["_Call"], Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One request of somebody who is signed in."""

    request: Request
    session: Session
    book: Gradebook
    form: Form = field(default_factory=Form)


class DeskApp:
    """The application; `asgi` is what a server runs."""

    def __init__(self, desk: Desk, access: Access, bank: Bank, hosts: tuple[str, ...]):
        self._desk = desk
        self._access = access
        self._bank = bank
        self._renderer = Renderer(bank.templates)
        self._book = Gradebook.open(desk.out)
        self._audits = AuditPages()
        self._presence = Presence()
        self._writing = Lock()
        get, post = partial(Route, methods=["GET"]), partial(Route, methods=["POST"])
        self.asgi = Starlette(
            routes=[
                get("/enter", self._enter),
                get("/static/{name}", self._static),
                get("/", self._shown(self._queue)),
                get("/students", self._shown(self._students)),
                get("/student/{id}", self._shown(self._student)),
                get("/student/{id}/{view}", self._shown(self._student_view)),
                get("/part/{problem}/{part}", self._shown(self._part)),
                get("/here", self._shown(self._here)),
                get("/requests", self._shown(self._requests)),
                get("/agreement", self._shown(self._agreement, Role.INSTRUCTOR)),
                get("/audit", self._shown(self._audit, Role.INSTRUCTOR)),
                post("/grade", self._shown(self._grade, Role.GRADER)),
                post("/override", self._shown(self._override, Role.GRADER)),
                post("/item", self._shown(self._item, Role.GRADER)),
                post("/undo", self._shown(self._undo, Role.GRADER)),
                post("/request", self._shown(self._request, Role.GRADER)),
                post("/write", self._shown(self._write, Role.INSTRUCTOR)),
            ],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
            exception_handlers={404: not_found, 405: not_found},
        )

    def close(self) -> None:
        """Closes the gradebook."""
        self._book.close()

    # Access

    async def _enter(self, request: Request) -> Response:
        id_ = self._access.enter(request.query_params.get("token", ""))
        if id_ is None:
            return plain("This link is not valid. Use the one that `grader desk` printed.", 403)
        response = RedirectResponse("/", status_code=303, headers=HEADERS)
        # Lax, as the link is often opened from a page of another site; forms have their own token.
        response.set_cookie(
            session_cookie(COOKIE, request), id_, httponly=True, samesite="lax", path="/"
        )
        return response

    def _shown(
        self, page: _Page, role: Role = Role.OBSERVER
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            session = self._access.session(request.cookies.get(session_cookie(COOKIE, request)))
            if session is None:
                return plain("Open the link that `grader desk` printed.", 403)
            if not session.person.may(role):
                return plain(f"This requires the {role.value} role.", 403)
            form = Form()
            if request.method == "POST":
                if is_foreign(request.headers):
                    return plain("This form comes from another site.", 403)
                body = await limited_body(request)
                if body is None:
                    return plain("This form is too large.", 413)
                form = Form(parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True))
                if not session.accepts(form.text("form_token")):
                    return plain(
                        "This form has expired. Go back, reload the page, and try again.", 403
                    )
            call = _Call(request=request, session=session, book=self._book, form=form)
            return await run_sync(self._answer, page, call)

        return answer

    def _answer(self, page: _Page, call: _Call) -> Response:
        changes = call.request.method == "POST"
        try:
            with self._writing if changes else nullcontext():
                return page(call)
        except GraderError as error:
            return self._error(call, error, 400)
        except Exception as error:
            log.exception("%s %s", call.request.method, call.request.url.path)
            what = f"an internal error occurred ({type(error).__name__}); nothing was changed"
            fix = "go back and try again; for details, see the terminal of `grader desk`"
            return self._error(call, SetupError(what, fix=fix), 500)

    def _error(self, call: _Call, error: GraderError, status: int) -> Response:
        text = self._renderer.page("error", call.session, error=error)
        return HTMLResponse(text, status, headers=HEADERS)

    async def _static(self, request: Request) -> Response:
        found = self._renderer.static(request.path_params["name"])
        if found is None:
            return plain("Not found.", 404)
        text, kind = found
        return Response(text, media_type=kind, headers=HEADERS)

    def _page(
        self, call: _Call, name: str, place: Place | None = None, **names: Any
    ) -> HTMLResponse:
        self._report(call.session.person, place)
        presence = self._presence.texts(call.session.person.id, place)
        text = self._renderer.page(name, call.session, presence=presence, place=place, **names)
        return HTMLResponse(text, headers=HEADERS)

    # Pages

    def _queue(self, call: _Call) -> Response:
        page = self._desk.queue(call.book, call.session.person)
        names = self._desk.names(call.book, call.session.person)
        return self._page(call, "queue", page=page, names=names)

    def _students(self, call: _Call) -> Response:
        names = self._desk.names(call.book, call.session.person)
        rows = sorted(
            self._desk.rows(call.book, names), key=lambda row: names.shown(row.student.id)
        )
        return self._page(call, "students", rows=rows, names=names)

    def _student(self, call: _Call) -> Response:
        names = self._desk.names(call.book, call.session.person)
        return self._student_page(call, names.find(call.request.path_params["id"]))

    def _student_page(self, call: _Call, id_: str, unsaved: Changed | None = None) -> HTMLResponse:
        names, person = self._desk.names(call.book, call.session.person), call.session.person
        page = self._desk.student(call.book, id_, names, person)
        place = Place(key=names.key(id_))
        return self._page(call, "student", place, page=page, names=names, unsaved=unsaved)

    def _student_view(self, call: _Call) -> Response:
        names = self._desk.names(call.book, call.session.person)
        id_ = names.find(call.request.path_params["id"])
        page = student_view(call.book, call.request.path_params["view"], id_)
        return self._page(call, page.template, page=page, names=names)

    def _part(self, call: _Call) -> Response:
        index = call.request.query_params.get("group", "")
        everything = call.request.query_params.get("all", "")
        done = call.request.query_params.get("done", "")
        return self._part_page(
            call,
            _part_of(call),
            done=done,
            everything=bool(everything),
            index=int(index[:9]) if index.isdecimal() else None,
        )

    def _part_page(
        self, call: _Call, part: PartId, *, done: str = "", graded: Graded | None = None, **how: Any
    ) -> HTMLResponse:
        names, person = self._desk.names(call.book, call.session.person), call.session.person
        page = part_page(self._desk, call.book, part, names, person, **how)
        place = Place(part, page.current.key)
        return self._page(
            call, "part", place, page=page, names=names, done=done, graded=graded,
            everything=how.get("everything"),
        )  # fmt: skip

    def _here(self, call: _Call) -> Response:
        query, person = call.request.query_params, call.session.person
        problem, part, key = (query.get(name, "")[:200] for name in ("problem", "part", "key"))
        place = Place(PartId(problem, part) if part else None, key) if key else None
        self._report(person, place)
        return JSONResponse(self._presence.texts(person.id, place), headers=HEADERS)

    def _report(self, person: Person, place: Place | None) -> None:
        if person.may(Role.GRADER):
            self._presence.report(person.id, place)

    def _requests(self, call: _Call) -> Response:
        names = self._desk.names(call.book, call.session.person)
        page = requests_page(call.book, names)
        return self._page(call, "requests", page=page, names=names)

    def _agreement(self, call: _Call) -> Response:
        from grader.analysis.agreement import agreement_of  # numpy takes a while to import

        return self._page(call, "agreement", lines=agreement_of(call.book))

    def _audit(self, call: _Call) -> Response:
        wanted = call.request.query_params.get("q", "")[:_LONGEST_SEARCH]
        number = call.request.query_params.get("page", "1")
        names = self._desk.names(call.book, call.session.person)
        start = int(number[:6]) if number[:6].isdecimal() else 1
        page = self._audits.read(call.book, names, wanted, start)
        return self._page(call, "audit", page=page, wanted=wanted)

    # Changes

    def _grade(self, call: _Call) -> Response:
        names = self._desk.names(call.book, call.session.person)
        graded = grade_group(self._desk, call.book, call.form, names, call.session.person)
        everything = bool(call.form.text("all"))
        if graded.unsaved:
            page = self._part_page(
                call,
                graded.part,
                graded=graded,
                everything=everything,
                entry=graded.choice,
                unsaved=graded.unsaved,
            )
            page.status_code = 409
            return page
        return redirect(f"{_address(graded.part)}?done={graded.batch}{'&all=1' * everything}")

    def _override(self, call: _Call) -> Response:
        names = self._desk.names(call.book, call.session.person)
        changed = change_mark(self._desk, call.book, call.form, names, call.session.person)
        if changed.why_not:
            page = self._student_page(call, changed.student, changed)
            page.status_code = 409
            return page
        return redirect(f"/student/{quote(names.address(changed.student))}#{changed.name}")

    def _item(self, call: _Call) -> Response:
        part = PartId(call.form.text("problem"), call.form.text("part"))
        every = call.book.decisions.answers(part)
        if not every:
            raise SetupError(f"no student was asked '{part}'", fix="go back to the queue")
        item = item_of(call.form, part, every[0].max_points)
        by = call.session.person.id
        if item.number:
            worth = {(one.student, one.name): one.max_points for one in every}
            names = self._desk.names(call.book, call.session.person)
            students = names.students if call.session.person.sections else None
            call.book.decisions.change_item(item, worth, by=by, students=students)
        else:
            call.book.decisions.add_item(part, item.text, item.points, item.feedback, by=by)
        group = call.form.text("group")
        address = _address(part)
        return redirect(f"{address}?group={group}" if group.isdecimal() else address)

    def _undo(self, call: _Call) -> Response:
        person, names = call.session.person, self._desk.names(call.book, call.session.person)

        def may(by: str, student: str) -> bool:
            own = by == person.id or person.may(Role.INSTRUCTOR)
            return own and student in names.students

        call.book.double.undo(call.form.number("batch"), by=person.id, may=may)
        back = call.form.text("back")
        return redirect(back if is_own_address(back) else "/")

    def _request(self, call: _Call) -> Response:
        names = self._desk.names(call.book, call.session.person)
        change_requests(call.book, call.form, names, call.session.person)
        return redirect("/requests")

    def _write(self, call: _Call) -> Response:
        written = write_results(self._desk.out, self._bank)
        return self._page(call, "written", summary=written.summary)


def _address(part: PartId) -> str:
    return f"/part/{quote(part.problem, safe='')}/{quote(part.part, safe='')}"


def _part_of(call: _Call) -> PartId:
    return PartId(call.request.path_params["problem"], call.request.path_params["part"])


__all__ = ["DeskApp"]
