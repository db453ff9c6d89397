"""The routes of the desk: an ASGI application over one results folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from grader.bank.folders import Bank
from grader.errors import GraderError
from grader.gradebook import Gradebook
from grader.grading.course_policy import zone_of
from grader.grading.results import write_results
from grader.model.desk import PartId
from grader.web.desk.access import Entrance, Person
from grader.web.desk.audit import AuditFilter, AuditPages
from grader.web.desk.calls import DeskCall, Endpoints, Page
from grader.web.desk.changes import (
    GradedGroup,
    MarkChangeResult,
    change_mark,
    change_rubric,
    grade_group,
)
from grader.web.desk.evidence import student_view
from grader.web.desk.idea_search import IdeaSearch
from grader.web.desk.ideas_page import ideas_page
from grader.web.desk.pages import Desk, Names
from grader.web.desk.part_page import part_page
from grader.web.desk.presence import OpenPage, Presence
from grader.web.desk.rendering import DeskRenderer
from grader.web.desk.requests import change_requests, requests_page
from grader.web.desk.sessions import Capability
from grader.web.desk.student_page import student_page
from grader.web.desk.students_page import student_list
from grader.web.safety import (
    HEADERS,
    SessionCookie,
    is_own_address,
    not_found,
    redirect,
    static_route,
)

_STATIC = {"style.css": "report", "desk.css": "desk", "desk.js": "desk"}


class DeskApp:
    """The application; `asgi` is what a server runs."""

    def __init__(
        self,
        desk: Desk,
        entrance: Entrance,
        bank: Bank,
        hosts: tuple[str, ...],
        *,
        secure: bool = False,
    ):
        """Opens the gradebook. If *secure*, browsers send the session's cookie only over https."""
        self._desk = desk
        self._entrance = entrance
        self._cookie = SessionCookie(name="desk", secure=secure)
        self._bank = bank
        self._book = Gradebook.open(desk.out)
        zone = zone_of(self._book, desk.course)
        self._renderer = DeskRenderer(bank.templates, zone, anonymous=desk.anonymous)
        self._audits = AuditPages()
        self._ideas = IdeaSearch(desk.out)
        self._presence = Presence()
        get, post = partial(Route, methods=["GET"]), partial(Route, methods=["POST"])
        self._changing = Lock()
        self._exporting = Lock()
        endpoints = Endpoints(
            entrance=entrance,
            cookie=self._cookie,
            desk=desk,
            book=self._book,
            error_page=self._render_error,
            changing=self._changing,
        )
        endpoint, can = endpoints.endpoint, Capability
        ideas = partial(ideas_page, searches=self._ideas)
        self.asgi = Starlette(
            routes=[
                *entrance.routes(self._renderer, self._cookie),
                static_route(bank.templates, _STATIC),
                get("/", endpoint(self._show_queue, can.READ)),
                get("/students", endpoint(self._view("students", student_list), can.READ)),
                get("/student/{id}", endpoint(self._show_student, can.READ)),
                get("/student/{id}/{view}", endpoint(self._show_student_view, can.READ)),
                get("/part/{problem}/{part}", endpoint(self._show_part, can.READ)),
                get("/here", endpoint(self._report_presence, can.READ)),
                get("/requests", endpoint(self._view("requests", requests_page), can.READ)),
                get("/agreement", endpoint(self._show_agreement, can.READ_LOG)),
                get("/audit", endpoint(self._show_audit, can.READ_LOG)),
                get("/ideas", endpoint(self._view("ideas", ideas), can.SEARCH_IDEAS)),
                post("/ideas", endpoint(self._search_ideas, can.SEARCH_IDEAS)),
                post("/grade", endpoint(self._grade_group, can.GRADE)),
                post("/override", endpoint(self._change_mark, can.CHANGE_MARK)),
                post("/item", endpoint(self._change_rubric, can.CHANGE_RUBRIC)),
                post("/undo", endpoint(self._undo_batch, can.GRADE)),
                post("/request", endpoint(self._change_requests, can.ANSWER_REQUESTS)),
                # Writing a large class takes seconds, and people grade meanwhile.
                post("/write", endpoint(self._write_results, can.WRITE_RESULTS, self._exporting)),
                post("/names", endpoint(self._switch_names, can.SEE_NAMES)),
                post("/sign-out", endpoint(self._sign_out, can.READ)),
            ],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
            exception_handlers={404: not_found, 405: not_found},
        )

    def close(self) -> None:
        """Closes the gradebook, and stops a search that is running."""
        self._ideas.close()
        self._book.close()

    # Access

    def _sign_out(self, call: DeskCall) -> Response:
        self._entrance.sessions.close(self._cookie.id_of(call.request))
        return self._cookie.take_back(self._entrance.leave(), call.request)

    def _switch_names(self, call: DeskCall) -> Response:
        """Shows or hides the students' names, and records in the audit log that they are shown."""
        show = bool(call.form.text("show"))
        if show and not call.person.sees_names:
            call.book.record("names shown", by=call.person.id)
        self._entrance.sessions.show_names(self._cookie.id_of(call.request), show)
        return redirect("/")

    def _render_error(self, call: DeskCall, error: GraderError, status: int) -> Response:
        """Returns the page about an error, without names that the person may not see."""
        try:
            names = call.names
        except GraderError:  # the gradebook can't be read, and the error is about that
            names = Names(students={})
        text = self._renderer.page("error", call.session, error=error, hide=names.hide)
        return HTMLResponse(text, status, headers=HEADERS)

    def _render_page(
        self, call: DeskCall, name: str, place: OpenPage | None = None, **names: Any
    ) -> HTMLResponse:
        """Returns the page *name*, and stores that the person has the page at *place* open."""
        self._store_place(call.person, place)
        names = {
            "names": call.names,
            "presence": self._presence.texts(call.person.id, place),
            "place": place,
            **names,
        }
        text = self._renderer.page(name, call.session, **names)
        return HTMLResponse(text, headers=HEADERS)

    # Pages

    def _show_queue(self, call: DeskCall) -> Response:
        return self._render_page(call, "queue", page=self._desk.queue(call.book, call.person))

    def _view(self, name: str, read: Callable[[DeskCall], object]) -> Page:
        """Returns the page *name*, which shows what *read* returns."""
        return lambda call: self._render_page(call, name, page=read(call))

    def _show_student(self, call: DeskCall) -> Response:
        return self._render_student(call, call.names.find(call.request.path_params["id"]))

    def _render_student(
        self, call: DeskCall, id_: str, unsaved: MarkChangeResult | None = None
    ) -> HTMLResponse:
        """Returns the page of a student. The form shows *unsaved* again, which was not stored."""
        place = OpenPage(key=call.names.key(id_))
        page = student_page(call, id_)
        return self._render_page(call, "student", place, page=page, unsaved=unsaved)

    def _show_student_view(self, call: DeskCall) -> Response:
        page = student_view(call)
        return self._render_page(call, page.template, page=page)

    def _show_part(self, call: DeskCall) -> Response:
        """Shows a part at the group in the query of the address, or at the next that waits."""
        place, query = call.request.path_params, call.request.query_params
        index = query.get("group", "")
        return self._render_part(
            call,
            PartId(place["problem"], place["part"]),
            done=query.get("done", ""),
            everything=bool(query.get("all")),
            index=int(index[:9]) if index.isdecimal() else None,
        )

    def _render_part(
        self,
        call: DeskCall,
        part: PartId,
        *,
        done: str = "",
        graded: GradedGroup | None = None,
        **how: Any,
    ) -> HTMLResponse:
        """Returns the page of a part. The arguments *how* are those of `part_page`."""
        page = part_page(call, part, **how)
        place = OpenPage(part, page.current.key)
        everything = how.get("everything")
        return self._render_page(
            call, "part", place, page=page, done=done, graded=graded, everything=everything
        )

    def _report_presence(self, call: DeskCall) -> Response:
        """Stores which page the person has open, and answers with sentences about the others."""
        query, person = call.request.query_params, call.person
        problem, part, key = (query.get(name, "")[:200] for name in ("problem", "part", "key"))
        place = OpenPage(PartId(problem, part) if part else None, key) if key else None
        self._store_place(person, place)
        return JSONResponse(self._presence.texts(person.id, place), headers=HEADERS)

    def _store_place(self, person: Person, place: OpenPage | None) -> None:
        if person.may(Capability.GRADE):
            self._presence.report(person.id, place)

    def _show_agreement(self, call: DeskCall) -> Response:
        from grader.analysis.agreement import agreement_of  # numpy takes a while to import

        return self._render_page(call, "agreement", lines=agreement_of(call.book))

    def _show_audit(self, call: DeskCall) -> Response:
        query = call.request.query_params
        start = query.get("page", "1")[:6]
        number = int(start) if start.isdecimal() else 1
        page = self._audits.read(call.book, call.names, AuditFilter.from_query(query), number)
        return self._render_page(call, "audit", page=page)

    # Changes

    def _search_ideas(self, call: DeskCall) -> Response:
        self._ideas.start(call.book, call.form.number("fewest"))
        return redirect("/ideas")

    def _grade_group(self, call: DeskCall) -> Response:
        """Grades a group. If answers changed meanwhile, shows the page again with status 409."""
        graded = grade_group(call)
        everything = bool(call.form.text("all"))
        if graded.unsaved_students:
            page = self._render_part(
                call,
                graded.part,
                graded=graded,
                everything=everything,
                entry=graded.choice,
                unsaved=graded.unsaved_students,
            )
            page.status_code = 409
            return page
        return redirect(f"{_address(graded.part)}?done={graded.batch}{'&all=1' * everything}")

    def _change_mark(self, call: DeskCall) -> Response:
        """Changes a mark; shows the student's page again with status 409 if the answer or its mark
        changed meanwhile."""
        changed = change_mark(call)
        if changed.conflict:
            page = self._render_student(call, changed.student, changed)
            page.status_code = 409
            return page
        return redirect(f"/student/{quote(call.names.address(changed.student))}#{changed.name}")

    def _change_rubric(self, call: DeskCall) -> Response:
        """Changes the rubric of a part, and returns to the group that was open."""
        part = change_rubric(call)
        group = "" if call.form.text("criteria") else call.form.text("group")
        address = _address(part)
        return redirect(f"{address}?group={group}" if group.isdecimal() else address)

    def _undo_batch(self, call: DeskCall) -> Response:
        """Undoes the decisions of one form, so far as the person may undo them."""
        person = call.person

        def may(by: str, student: str) -> bool:
            own = by == person.id or person.may(Capability.UNDO_OTHERS)
            return own and student in call.names.students

        call.book.double.undo(call.form.number("batch"), by=person.id, may=may)
        back = call.form.text("back")
        return redirect(back if is_own_address(back) else "/")

    def _change_requests(self, call: DeskCall) -> Response:
        change_requests(call)
        return redirect("/requests")

    def _write_results(self, call: DeskCall) -> Response:
        written = write_results(self._desk.out, self._bank)
        return self._render_page(call, "written", summary=call.names.hide(written.summary))


def _address(part: PartId) -> str:
    return f"/part/{quote(part.problem, safe='')}/{quote(part.part, safe='')}"
