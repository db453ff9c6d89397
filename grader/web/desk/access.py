"""Ways into the desk; this one is by links with tokens."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from grader.model.course import Role, StaffMember
from grader.web.desk.rendering import DeskRenderer
from grader.web.desk.sessions import DeskSession, Person, Sessions, person_of
from grader.web.safety import SessionCookie, plain, redirect

__all__ = ["AccessLinks", "DeskSession", "Entrance", "Person", "StaffAccess", "one_person"]


class Entrance(Protocol):
    """A way to sign in."""

    sessions: Sessions

    def routes(self, renderer: DeskRenderer, cookie: SessionCookie) -> list[Route]:
        """Returns the routes that everybody may open, as they lead to a session."""
        ...

    def turn_away(self, request: Request) -> Response:
        """Returns the answer to somebody who has no session."""
        ...

    def leave(self) -> Response:
        """Returns the answer to somebody who has signed out."""
        ...


class AccessLinks:
    """Links with tokens that are valid as long as the process runs, one for each person."""

    def __init__(self, people: Mapping[str, Person], now: Callable[[], float] = time.time):
        self.people = people
        """By the token in the person's link."""
        self.sessions = Sessions(self._find_person, now)

    def enter(self, token: str) -> str | None:
        """Returns the id of a new session for the person whose link has *token*; None for a wrong
        token."""
        for link_token, person in self.people.items():
            if hmac.compare_digest(link_token.encode(), token.encode()):
                return self.sessions.open(person.id, link_token)
        return None

    def _find_person(self, _id: str, token: str) -> Person | None:
        return self.people.get(token)

    def routes(self, _renderer: DeskRenderer, cookie: SessionCookie) -> list[Route]:
        """Returns the route of the links."""

        async def enter(request: Request) -> Response:
            id_ = self.enter(request.query_params.get("token", ""))
            if id_ is None:
                return plain("This link is not valid. Use the one that `grader desk` printed.", 403)
            return cookie.give(redirect("/"), request, id_)

        return [Route("/enter", enter, methods=["GET"])]

    def turn_away(self, _request: Request) -> Response:
        """Returns the answer to somebody who has no session."""
        return plain("Open the link that `grader desk` printed.", 403)

    def leave(self) -> Response:
        """Returns the answer to somebody who has signed out."""
        return plain("You have signed out. To come back, open your link again.", 200)


class StaffAccess(AccessLinks):
    """Links for everybody on the staff, with the rights that the course file gives them now."""

    def __init__(self, staff: Callable[[], Mapping[str, StaffMember]]):
        people = {secrets.token_urlsafe(24): person_of(*one) for one in staff().items()}
        super().__init__(people)
        self._staff = staff

    def _find_person(self, id_: str, _token: str) -> Person | None:
        member = self._staff().get(id_)
        return person_of(id_, member) if member else None


def one_person(id_: str) -> AccessLinks:
    """Returns the access of a desk that one person uses on their own machine."""
    return AccessLinks({secrets.token_urlsafe(24): Person(id=id_, role=Role.INSTRUCTOR)})
