"""Serves an application below a prefix of the address, such as `/services/desk`."""

from __future__ import annotations

import re

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from grader.web.safety import plain

# Quotes in texts are escaped, so that this finds attributes alone.
_ADDRESS = re.compile(rb'( (?:href|src|action)=")/(?!/)')
_ROOT_PATH = re.compile(r"(?i)(; *path=)/(?=;|$)")


class BelowPrefix:
    """Removes the prefix from addresses that come in, and adds it to those that go out.

    The application knows nothing of it: addresses in its pages and redirects start with `/`.
    """

    def __init__(self, app: ASGIApp, prefix: str):
        self._app = app
        self._prefix = prefix.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request below the prefix to the application, without the prefix."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == self._prefix:
            await plain("Add a slash to the address.", 404)(scope, receive, send)
        elif scope["path"].startswith(f"{self._prefix}/"):
            length = len(self._prefix)
            inner = {**scope, "path": scope["path"][length:]}
            if raw := scope.get("raw_path"):
                inner["raw_path"] = raw[length:]
            await self._app(inner, receive, _PrefixedAnswer(send, self._prefix))
        else:
            await plain("There is no such page.", 404)(scope, receive, send)


class _PrefixedAnswer:
    """Sends an answer once it is complete, with the prefix in its addresses."""

    def __init__(self, send: Send, prefix: str):
        self._send = send
        self._prefix = prefix
        self._start: Message = {}
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        self._body += message.get("body", b"")
        if message.get("more_body"):
            return
        headers = MutableHeaders(scope=self._start)
        self._add_prefix(headers)
        if headers.get("content-type", "").startswith("text/html"):
            self._body = _ADDRESS.sub(rb"\1" + self._prefix.encode() + rb"/", self._body)
            headers["content-length"] = str(len(self._body))
        await self._send(self._start)
        await self._send({"type": "http.response.body", "body": self._body})

    def _add_prefix(self, headers: MutableHeaders) -> None:
        location = headers.get("location", "")
        if location.startswith("/") and not location.startswith("//"):
            headers["location"] = self._prefix + location
        cookies = headers.getlist("set-cookie")
        del headers["set-cookie"]
        for cookie in cookies:
            path = _ROOT_PATH.sub(rf"\1{self._prefix}/", cookie)
            headers.append("set-cookie", path)
