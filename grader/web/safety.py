"""The headers of every page, and limits on what a request may send."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

MAX_BODY = 300_000
"""Maximum bytes of a form."""
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


def session_cookie(name: str, request: Request) -> str:
    """Returns the cookie's name: browsers share cookies among all ports of a machine."""
    return f"{name}-{request.url.port or 0}"


async def limited_body(request: Request) -> bytes | None:
    """Returns the request's body; None if it is too large."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            return None
    return body


def redirect(address: str) -> Response:
    """Returns a redirect that a browser follows with GET."""
    return RedirectResponse(address, status_code=303, headers=HEADERS)


def plain(text: str, status: int) -> Response:
    """Returns a page of plain text."""
    return PlainTextResponse(f"{text}\n", status, headers=HEADERS)


async def not_found(_request: Request, _error: Exception) -> Response:
    """Returns the page for an address that does not exist."""
    return plain("There is no such page.", 404)
