"""The way into the desk with an account: invitations, and sign-in with a password."""

from __future__ import annotations

import functools
import ipaddress
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from urllib.parse import quote

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from grader.errors import GraderError, SetupError
from grader.model.course import StaffMember
from grader.web.desk.accounts import SHORTEST, AccountFile
from grader.web.desk.forms import Form
from grader.web.desk.rendering import DeskRenderer
from grader.web.desk.sessions import Person, Sessions, person_of
from grader.web.safety import (
    HEADERS,
    SessionCookie,
    is_own_address,
    plain,
    receive_fields,
    redirect,
    requested_address,
)

log = logging.getLogger("grader.desk")
_FORGOTTEN = 3600
"""Seconds without an attempt after which the failures before it no longer count."""
_MOST = 10_000
"""Maximum number of keys that are remembered."""
_MOST_WAITING = 20
"""Maximum number of people who wait until a password is hashed."""
_LONGEST_ID = 200
_Staff = Callable[[], Mapping[str, StaffMember]]
_Page = Callable[[Request, Form], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How many attempts fail without a delay, and the longest delay in seconds."""

    free: int
    longest: float

    def delay(self, failures: int) -> float:
        """Returns the seconds to wait after so many failures: 1, 2, 4, and so on.

        >>> [Allowance(free=3, longest=5.0).delay(n) for n in (2, 3, 4, 5, 6)]
        [0.0, 1.0, 2.0, 4.0, 5.0]
        """
        beyond = failures - self.free
        return 0.0 if beyond < 0 else min(2.0 ** min(beyond, 60), self.longest)


_OF_ACCOUNT = Allowance(free=5, longest=60)
_OF_ADDRESS = Allowance(free=20, longest=300)


@dataclass(slots=True)
class Throttle:
    """The failed attempts by key, such as an account or an address."""

    _failures: dict[str, tuple[int, float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def attempt(self, keys: Iterable[tuple[str, Allowance]], now: float) -> float:
        """Counts a failure for each key, and returns 0. If it is too soon for another attempt,
        counts nothing, and returns the seconds to wait.

        Failures are counted before anything is checked, so that attempts at the same time don't
        help."""
        keys = tuple(keys)
        with self._lock:
            wait = max(self._wait(key, allowance, now) for key, allowance in keys)
            if wait > 0:
                return wait
            for key, _ in keys:
                failures, at = self._failures.pop(key, (0, now))
                self._failures[key] = (1 if now - at > _FORGOTTEN else failures + 1), now
            while len(self._failures) > _MOST:
                del self._failures[next(iter(self._failures))]
        return 0.0

    def _wait(self, key: str, allowance: Allowance, now: float) -> float:
        failures, at = self._failures.get(key, (0, now))
        return max(at + allowance.delay(failures) - now, 0.0)

    def succeed(self, key: str) -> None:
        """Forgets the failures of *key*."""
        with self._lock:
            self._failures.pop(key, None)

    def take_back(self, key: str) -> None:
        """Forgets the last failure of *key*, after an attempt that succeeded."""
        with self._lock:
            failures, at = self._failures.pop(key, (0, 0.0))
            if failures > 1:
                self._failures[key] = failures - 1, at


class Accounts:
    """Sign-in with the id and the password of a staff member."""

    def __init__(self, staff: _Staff, file: AccountFile, now: Callable[[], float] = time.time):
        self._staff = staff
        self._file = file
        self._now = now
        self.sessions = Sessions(self._find_person, now)

    def _find_person(self, id_: str, password: str) -> Person | None:
        member = self._staff().get(id_)
        is_same = password != "" and self._file.password_of(id_) == password
        return person_of(id_, member) if member and is_same else None

    def without_password(self) -> list[str]:
        """Returns the ids of the staff members who can't sign in yet."""
        return [id_ for id_ in self._staff() if not self._file.password_of(id_)]

    def turn_away(self, request: Request) -> Response:
        """Returns the answer to somebody who has no session."""
        if request.method not in ("GET", "HEAD"):
            text = "Your session has ended, so nothing was saved. Go back, copy what you wrote, "
            return plain(f"{text}and sign in again.", 403)
        address = requested_address(request)
        return redirect(
            "/sign-in" if address == "/" else f"/sign-in?next={quote(address, safe='')}"
        )

    def leave(self) -> Response:
        """Returns the answer to somebody who has signed out."""
        return redirect("/sign-in")

    def routes(self, renderer: DeskRenderer, cookie: SessionCookie) -> list[Route]:
        """Returns the routes of the sign-in page and of invitations."""
        pages = _Pages(self._staff, self._file, self.sessions, self._now, renderer, cookie)
        return [
            Route("/sign-in", pages.open_to_all(pages.sign_in), methods=["GET", "POST"]),
            Route("/invitation", pages.open_to_all(pages.invitation), methods=["GET", "POST"]),
        ]


@dataclass(frozen=True, slots=True)
class _Pages:
    """The pages that people without a session may open, and what these pages need."""

    staff: _Staff
    file: AccountFile
    sessions: Sessions
    now: Callable[[], float]
    renderer: DeskRenderer
    cookie: SessionCookie
    throttle: Throttle = field(default_factory=Throttle)
    hashing: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))

    def open_to_all(self, page: _Page) -> Callable[[Request], Awaitable[Response]]:
        """Returns the endpoint of a page that needs no session."""

        @functools.wraps(page)
        async def answer(request: Request) -> Response:
            if self.cookie.secure and request.url.scheme != "https":
                text = "Open this page over https. If you did, the proxy must say so in the header "
                return plain(f"{text}X-Forwarded-Proto.", 400)
            fields = await receive_fields(request)
            if isinstance(fields, Response):
                return fields
            try:
                return await page(request, Form(fields))
            except GraderError as error:
                log.error("%s", error)
                return plain(
                    "Sign-in is not available at the moment. For details, see the terminal.", 503
                )

        return answer

    def _page(self, name: str, status: int = 200, **names: object) -> Response:
        return HTMLResponse(self.renderer.page(name, None, **names), status, headers=HEADERS)

    def _count_attempt(self, request: Request, keys: dict[str, Allowance]) -> Response | None:
        """Counts an attempt to sign in. Returns the page that refuses it; None if it may go on."""
        keys = {_address_of(request): _OF_ADDRESS, **keys}
        wait = self.throttle.attempt(keys.items(), self.now())
        if wait > 0:
            seconds = math.ceil(wait)
            answer = plain(f"Too many attempts. Try again in {seconds} seconds.", 429)
        elif self.hashing.statistics().tasks_waiting >= _MOST_WAITING:
            seconds, answer = 5, plain("Too many people are signing in. Try again soon.", 503)
        else:
            return None
        answer.headers["Retry-After"] = str(seconds)
        return answer

    async def sign_in(self, request: Request, form: Form) -> Response:
        """Returns the page with the form, or the answer to it."""
        if request.method != "POST":
            next_address = request.query_params.get("next", "")
            return self._page("sign_in", id="", next=next_address, failed=False)
        id_, next_address = form.text("id")[:_LONGEST_ID], form.text("next")
        account = f"account {id_}"
        if late := self._count_attempt(request, {account: _OF_ACCOUNT}):
            return late
        password = next(iter(form.every("password")), "")
        is_right = await run_sync(self.file.accepts, id_, password, limiter=self.hashing)
        if not is_right or id_ not in self.staff():
            log.warning("failed sign-in from %s", _address_of(request))
            return self._page("sign_in", 403, id=id_, next=next_address, failed=True)
        self.throttle.succeed(account)
        self.throttle.take_back(_address_of(request))
        return self._let_in(request, id_, next_address)

    async def invitation(self, request: Request, form: Form) -> Response:
        """Returns the page on which somebody chooses a password, or the answer to it."""
        token = form.text("token") or request.query_params.get("token", "")
        id_ = self.file.invitee_of(token, self.now())
        if id_ is None or id_ not in self.staff():
            if late := self._count_attempt(request, {}):
                return late
            text = "This invitation is not valid: it was used, replaced, or is too old. "
            return plain(f"{text}Ask an instructor for a new one.", 403)
        show = functools.partial(self._page, "invitation", id=id_, token=token, shortest=SHORTEST)
        if request.method != "POST":
            return show(problem=None)
        first, again = (next(iter(form.every(name)), "") for name in ("password", "again"))
        try:
            if first != again:
                raise SetupError("the two passwords differ", fix="type the same one twice")
            await run_sync(self.file.accept, token, first, self.now(), limiter=self.hashing)
        except SetupError as problem:
            return show(400, problem=problem)
        return self._let_in(request, id_, "/")

    def _let_in(self, request: Request, id_: str, wanted: str) -> Response:
        session = self.sessions.open(id_, self.file.password_of(id_))
        address = wanted if is_own_address(wanted) else "/"
        return self.cookie.give(redirect(address), request, session)


def _address_of(request: Request) -> str:
    return f"address {network_of(request.client.host if request.client else '')}"


def network_of(address: str) -> str:
    """Returns what one customer of a provider has: the IPv4 address, or the /64 of an IPv6 one.

    >>> network_of("192.0.2.7"), network_of("2001:db8:1:2:3::4"), network_of("")
    ('192.0.2.7', '2001:db8:1:2::', '')
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False).network_address)
