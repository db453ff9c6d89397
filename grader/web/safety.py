"""What every page sends and checks: headers, cookies, forms, addresses, and open files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

MAX_BODY = 300_000
"""Maximum bytes of a form."""
_LONGEST = 50_000
"""Maximum characters of a field."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
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


@dataclass(frozen=True, slots=True)
class FormFields:
    """The fields of a submitted form, by name."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Returns the field's first value; empty if there is none."""
        return next(iter(self.values.get(name, ())), "")[:_LONGEST].replace("\r\n", "\n")

    def every(self, name: str) -> tuple[str, ...]:
        """Returns all values of the field."""
        return tuple(self.values.get(name, ()))


async def receive_fields(request: Request, most: int = MAX_BODY) -> dict[str, list[str]] | Response:
    """Returns the fields of the form in *request*, which are empty if it has no form.

    Returns the page to answer with instead if the form has more than *most* bytes or comes from
    another site.
    """
    if request.method != "POST":
        return {}
    if is_foreign(request.headers):
        return plain("This form comes from another site.", 403)
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            return plain("This form is too large.", 413)
    return parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)


def static_route(folders: Sequence[Path], files: Mapping[str, str]) -> Route:
    """Returns the route of style sheets and scripts, which need no session.

    *files* are their names, each with the folder that it is in below one of *folders*, the first
    of which wins.
    """

    async def answer(request: Request) -> Response:
        name = request.path_params["name"]
        places = (folder / files[name] / name for folder in folders if name in files)
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            return plain("Not found.", 404)
        kind = "text/css" if path.suffix == ".css" else "text/javascript"
        return Response(path.read_text(encoding="utf-8"), media_type=kind, headers=HEADERS)

    return Route("/static/{name}", answer, methods=["GET"])


def redirect(address: str) -> Response:
    """Returns a redirect that a browser follows with GET."""
    return RedirectResponse(address, status_code=303, headers=HEADERS)


def plain(text: str, status: int) -> Response:
    """Returns a page of plain text."""
    return PlainTextResponse(f"{text}\n", status, headers=HEADERS)


async def not_found(_request: Request, _error: Exception) -> Response:
    """Returns the page for an address that does not exist."""
    return plain("There is no such page.", 404)


_OWN = re.compile(r"/(?![/\\])[\w.~%?=&/-]*", re.ASCII)


def is_own_address(address: str) -> bool:
    """Returns whether a browser that is redirected to *address* stays in the application.

    >>> is_own_address("/part/a/b?group=1"), is_own_address("//evil.example")
    (True, False)
    """
    return _OWN.fullmatch(address) is not None


def requested_address(request: Request) -> str:
    """Returns the address of *request* in the application, with its query."""
    return quote(request.url.path) + (f"?{request.url.query}" if request.url.query else "")


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Returns whether a form was sent by a page of another site, as the browser says.

    Browsers send `Sec-Fetch-Site` or `Origin`, which scripts can't change. Other clients send
    neither; they need the token of the form all the same.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site not in ("same-origin", "none")
    return origin is not None and origin.partition("://")[2] != headers.get("host", "")
