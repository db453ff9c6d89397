"""The way into the desk as a service of a JupyterHub: the Hub says who somebody is."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from urllib.parse import urlencode, urlsplit

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from grader.errors import GraderError, SetupError
from grader.model.course import StaffMember
from grader.web.desk.rendering import DeskRenderer
from grader.web.desk.sessions import Person, Sessions, person_of
from grader.web.safety import HEADERS, SessionCookie, is_own_address, plain, requested_address

log = logging.getLogger("grader.desk")
_WAIT = 20
"""Seconds for one answer of the Hub."""
_FRESH = 120
"""Seconds for which the Hub's word that a token is valid is taken for granted."""
_STATE_SECONDS = 600
_MOST_STATES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HubService:
    """What a Hub tells its service in the environment."""

    client: str
    token: str = field(repr=False)
    api: str
    """The address of the Hub's API, as seen from the service."""
    host: str
    """The Hub's address with the scheme if it has a host of its own; else empty."""
    base: str
    """The path of the Hub's pages and API, such as `/hub/`."""
    prefix: str
    """The path of the service, such as `/services/desk/`."""
    callback: str
    """Where the Hub sends people back to."""
    listen: str
    """The address to listen on, as seen from the Hub's proxy."""

    @property
    def listens_on(self) -> tuple[str, int]:
        """The host and port of `listen`."""
        parts = urlsplit(self.listen)
        return parts.hostname or "127.0.0.1", parts.port or 80


def hub_service(environment: Mapping[str, str]) -> HubService:
    """Returns the service that a Hub has started. Raises SetupError if none has."""
    names = ("CLIENT_ID", "API_TOKEN", "API_URL", "SERVICE_PREFIX", "SERVICE_URL")
    missing = [f"JUPYTERHUB_{name}" for name in names if not environment.get(f"JUPYTERHUB_{name}")]
    if missing:
        raise SetupError(
            f"with --hub, the desk needs {missing[0]} in the environment",
            fix="let JupyterHub start it, as a service with 'url' and 'command' in "
            "jupyterhub_config.py",
        )
    prefix = environment["JUPYTERHUB_SERVICE_PREFIX"].rstrip("/") + "/"
    return HubService(
        client=environment["JUPYTERHUB_CLIENT_ID"],
        token=environment["JUPYTERHUB_API_TOKEN"],
        api=environment["JUPYTERHUB_API_URL"].rstrip("/"),
        host=environment.get("JUPYTERHUB_HOST", ""),
        base=environment.get("JUPYTERHUB_BASE_URL", "/").rstrip("/") + "/hub/",
        prefix=prefix,
        callback=environment.get("JUPYTERHUB_OAUTH_CALLBACK_URL") or f"{prefix}oauth_callback",
        listen=environment["JUPYTERHUB_SERVICE_URL"],
    )


@dataclass(slots=True, kw_only=True)
class _Visit:
    """Somebody whom the desk sent to the Hub and expects back."""

    address: str
    verifier: str
    until: float


class Hub:
    """Sign-in at a JupyterHub, whose user names are the ids of the staff."""

    def __init__(
        self,
        staff: Callable[[], Mapping[str, StaffMember]],
        service: HubService,
        now: Callable[[], float] = time.time,
    ):
        self._staff = staff
        self._service = service
        self._now = now
        self._visits: dict[str, _Visit] = {}
        self._valid: dict[str, float] = {}
        self._lock = Lock()
        self.sessions = Sessions(self._find_person, now)

    def _find_person(self, id_: str, token: str) -> Person | None:
        """Returns the staff member; None if they left the staff or logged out of the Hub."""
        member = self._staff().get(id_)
        if member is None or not self._confirm_token(id_, token):
            return None
        return person_of(id_, member)

    def _confirm_token(self, id_: str, token: str) -> bool:
        """Returns whether *token* is still valid for the user, asking the Hub every two minutes."""
        now = self._now()
        if now - self._valid.get(token, 0.0) < _FRESH:
            return True
        if self._user_of(token) != id_:
            self._valid.pop(token, None)
            return False
        with self._lock:
            for old in [old for old, at in self._valid.items() if now - at > 2 * _FRESH]:
                del self._valid[old]
            self._valid[token] = now
        return True

    def turn_away(self, request: Request) -> Response:
        """Returns the answer to somebody who has no session."""
        if request.method not in ("GET", "HEAD"):
            text = "Your session has ended, so nothing was saved. Go back, copy what you wrote, "
            return plain(f"{text}and open the desk again.", 403)
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
        question = {
            "client_id": self._service.client,
            "redirect_uri": self._service.callback,
            "response_type": "code",
            "state": state,
            "code_challenge": digest.decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        now = self._now()
        with self._lock:
            for old in [key for key, visit in self._visits.items() if visit.until < now]:
                del self._visits[old]
            while len(self._visits) >= _MOST_STATES:
                del self._visits[next(iter(self._visits))]
            until = now + _STATE_SECONDS
            self._visits[state] = _Visit(
                address=requested_address(request), verifier=verifier, until=until
            )
        address = self._hub_address(request, f"api/oauth2/authorize?{urlencode(question)}")
        response = Response(status_code=303, headers={**HEADERS, "Location": address})
        return _cookie_of(state).give(response, request, state, _STATE_SECONDS)

    def _hub_address(self, request: Request, path: str) -> str:
        host = self._service.host or f"//{request.headers.get('host', '')}"
        return f"{host}{self._service.base}{path}"

    def leave(self) -> Response:
        """Returns the answer to somebody who has signed out."""
        text = "You have signed out of the desk. To sign out of everything, log out of JupyterHub."
        return plain(text, 200)

    def routes(self, renderer: DeskRenderer, cookie: SessionCookie) -> list[Route]:
        """Returns the route to which the Hub sends people back."""

        async def callback(request: Request) -> Response:
            try:
                return await self._sign_in(request, renderer, cookie)
            except GraderError as error:
                log.error("%s", error)
                return plain(
                    "Sign-in is not available at the moment. For details, see the terminal.", 503
                )

        return [Route("/oauth_callback", callback, methods=["GET"])]

    async def _sign_in(
        self, request: Request, renderer: DeskRenderer, cookie: SessionCookie
    ) -> Response:
        """Signs in somebody who returns from JupyterHub, and redirects to the page they wanted."""
        state = request.query_params.get("state", "")
        state_cookie = _cookie_of(state)
        with self._lock:
            is_same = hmac.compare_digest(
                state.encode(), (state_cookie.id_of(request) or "").encode()
            )
            visit = self._visits.pop(state, None) if is_same else None
        code = request.query_params.get("code", "")
        if visit is None or visit.until < self._now() or not code:
            return plain("This sign-in is not valid any more. Open the desk again.", 403)
        token = await run_sync(self._exchange_code, code, visit.verifier)
        id_ = await run_sync(self._user_of, token) if token else ""
        if not id_:
            return plain("JupyterHub did not confirm this sign-in. Open the desk again.", 403)
        if id_ not in self._staff():
            log_out = self._hub_address(request, "logout")
            text = renderer.page("stranger", None, id=id_, log_out=log_out)
            return state_cookie.take_back(HTMLResponse(text, 403, headers=HEADERS), request)
        wanted = visit.address if is_own_address(visit.address) else "/"
        response = Response(status_code=303, headers={**HEADERS, "Location": wanted})
        state_cookie.take_back(response, request)
        return cookie.give(response, request, self.sessions.open(id_, token))

    def _exchange_code(self, code: str, verifier: str) -> str:
        """Returns the token that the Hub gives for *code*; empty if it refuses."""
        fields = {
            "client_id": self._service.client,
            "client_secret": self._service.token,
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._service.callback,
            "code_verifier": verifier,
        }
        return self._ask_hub("oauth2/token", "access_token", data=urlencode(fields).encode())

    def _user_of(self, token: str) -> str:
        """Returns the name of the user whose token this is; empty if it is nobody's."""
        return self._ask_hub("user", "name", headers={"Authorization": f"token {token}"})

    def _ask_hub(
        self,
        path: str,
        name: str,
        *,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> str:
        """Returns a field of the Hub's answer; empty if it refuses. Raises SetupError."""
        address = f"{self._service.api}/{path}"
        request = urllib.request.Request(address, data, dict(headers or {}))  # noqa: S310
        # The Hub is on this machine or in its network; a proxy for the web doesn't know it.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=_WAIT) as answer:
                value = json.loads(answer.read())[name]
        except urllib.error.HTTPError as error:
            if error.code < 500:
                return ""
            raise _hub_error(address, f"it answers with status {error.code}") from error
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise _hub_error(address, str(error)) from error
        return value if isinstance(value, str) else ""


def _cookie_of(state: str) -> SessionCookie:
    """Returns the cookie for one way to the Hub and back, of which a browser may go several at a
    time."""
    return SessionCookie(name=f"desk-state-{hashlib.sha256(state.encode()).hexdigest()[:8]}")


def _hub_error(address: str, why: str) -> SetupError:
    return SetupError(
        f"JupyterHub does not tell who a user is: {why}",
        where=address,
        fix="check that the Hub is running",
    )
