"""Tells requests and addresses of an application from those of other sites."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.requests import Request

_OWN = re.compile(r"/(?![/\\])[\w.~%?=&/-]*", re.ASCII)


def is_own_address(address: str) -> bool:
    """Returns whether a browser that is redirected to *address* stays in the application.

    >>> is_own_address("/part/a/b?group=1"), is_own_address("//evil.example")
    (True, False)
    """
    return _OWN.fullmatch(address) is not None


def requested_address(request: Request) -> str:
    """Returns the address of *request* in the application, with its query."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Returns whether a form was sent by a page of another site, as the browser says.

    Browsers send `Sec-Fetch-Site` or `Origin`, which scripts can't change. Other clients send
    neither; they need the token of the form all the same.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site not in ("same-origin", "none")
    return origin is not None and urlsplit(origin).netloc != headers.get("host", "")
