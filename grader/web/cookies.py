"""The cookie that holds the id of a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

R = TypeVar("R", bound=Response)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCookie:
    """A cookie for a session's id, which scripts can't read."""

    name: str
    secure: bool = False
    """Whether browsers send it over https alone."""

    def id_of(self, request: Request) -> str | None:
        """Returns the id that the browser sent; None if it sent none."""
        return request.cookies.get(self._name_for(request))

    def give(self, response: R, request: Request, id_: str, seconds: int | None = None) -> R:
        """Returns *response*, which sets the cookie until the browser ends, or for *seconds*."""
        # Lax, as the link is often opened from a page of another site; forms have their own token.
        response.set_cookie(
            self._name_for(request),
            id_,
            max_age=seconds,
            httponly=True,
            samesite="lax",
            secure=self.secure,
            path="/",
        )
        return response

    def take_back(self, response: R, request: Request) -> R:
        """Returns *response*, which removes the cookie."""
        response.delete_cookie(self._name_for(request), path="/", httponly=True, secure=self.secure)
        return response

    def _name_for(self, request: Request) -> str:
        # Browsers share cookies among all ports of a machine.
        return f"{self.name}-{request.url.port or 0}"
