"""Every route of a running desk: who may open it, and what stops everybody else."""

from __future__ import annotations

import re
import shutil
import socket
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from starlette.routing import Route

from grader.gradebook import Gradebook
from grader.model.course import Role
from grader.web.desk.access import AccessLinks, Person
from grader.web.desk.app import DeskApp
from grader.web.desk.sessions import IDLE_SECONDS, SESSION_SECONDS
from tests.helpers.commands import ok
from tests.helpers.desk import a_class, a_desk, ask, form_of
from tests.helpers.requests import request_file

ALL = ("oda", "gil", "hao", "kim")
GRADERS = ("gil", "hao", "kim")
# Who may do what, written down a second time. A new route fails until somebody decides.
WHO: dict[tuple[str, str], tuple[str, ...]] = {
    ("GET", "/"): ALL,
    ("GET", "/students"): ALL,
    ("GET", "/student/{id}"): ALL,
    ("GET", "/student/{id}/{view}"): ALL,
    ("GET", "/part/{problem}/{part}"): ALL,
    ("GET", "/here"): ALL,
    ("GET", "/requests"): ALL,
    ("GET", "/agreement"): ("hao", "kim"),
    ("GET", "/audit"): ("hao", "kim"),
    ("GET", "/ideas"): ("hao", "kim"),
    ("POST", "/ideas"): ("hao", "kim"),
    ("POST", "/grade"): GRADERS,
    ("POST", "/override"): GRADERS,
    ("POST", "/item"): GRADERS,
    ("POST", "/undo"): GRADERS,
    ("POST", "/request"): GRADERS,
    ("POST", "/write"): ("kim",),
    ("POST", "/names"): ("kim",),
    ("POST", "/sign-out"): ALL,
}
OPEN = {("GET", "/enter"), ("GET", "/static/{name}")}
PATHS = {"{id}": "s3", "{view}": "code", "{problem}": "sample", "{part}": "why"}
SECRETS = re.compile(r"Student \d|lock lets|\bs3\b|sample|kim")


@dataclass
class Clock:
    time: float = 1_000_000.0

    def __call__(self) -> float:
        return self.time


@dataclass
class Place:
    """A running desk with somebody of each role."""

    links: dict[str, str]
    results: Path
    routes: list[tuple[str, str]]
    clock: Clock
    cookies: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    def sign_in(self, who: str) -> None:
        link = self.links[who]
        _, headers, _ = ask(link, "GET", link[link.index("/enter") :])
        self.cookies[who] = headers["set-cookie"].partition(";")[0]
        _, _, page = ask(link, "GET", "/", Cookie=self.cookies[who])
        self.tokens[who] = form_of(page, "/sign-out")["form_token"][0]

    def ask(
        self, who: str, method: str, path: str, token: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        body = b""
        if method == "POST":
            fields = {"form_token": self.tokens.get(who, "") if token is None else token}
            body = urllib.parse.urlencode(fields).encode()
        if who in self.cookies:
            headers["Cookie"] = self.cookies[who]
        return ask(self.links["kim"], method, address(path), body, **headers)

    def state(self) -> tuple[object, ...]:
        with Gradebook.open(self.results) as book:
            return book.overrides(), book.audit(), book.requests.every()


def address(path: str) -> str:
    for name, value in PATHS.items():
        path = path.replace(name, value)
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("desk")
    results = a_class(home)
    ok("requests", results, "--open", "--bank", home / "bank")
    ok("requests", results, request_file(results, "s3", "q1_why"))
    return home


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Iterator[Place]:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    roles = zip(ALL, (Role.OBSERVER, Role.GRADER, Role.HEAD_GRADER, Role.INSTRUCTOR), strict=True)
    people = {f"token-{id_}": Person(id=id_, role=role) for id_, role in roles}
    people["token-pat"] = Person(id="pat", role=Role.INSTRUCTOR, sections=("A",))
    clock, apps = Clock(), list[DeskApp]()
    results = tmp_path / "results"
    with a_desk(results, AccessLinks(people, clock), app_made=apps.append) as links:
        routes = [
            (method, route.path)
            for route in apps[0].asgi.routes
            if isinstance(route, Route)
            for method in sorted(route.methods or ())
            if method != "HEAD"
        ]
        assert len(apps[0].asgi.routes) == len(routes), "a mount, or a route of several methods"
        yield Place(dict(links), results, routes, clock)


@pytest.mark.thorough
def test_every_route_has_a_rule(place: Place) -> None:
    assert set(place.routes) == set(WHO) | OPEN


@pytest.mark.thorough
def test_each_role_may_do_what_the_table_says(place: Place) -> None:
    for who in ALL:
        for (method, path), people in WHO.items():
            place.sign_in(who)
            status, _, text = place.ask(who, method, path)
            if who in people:
                assert status in (200, 303, 400), (who, method, path, text)
            else:
                assert (status, text[:9]) == (403, "The role "), (who, method, path)


def test_nothing_can_be_read_or_written_without_a_session(place: Place) -> None:
    before = place.state()
    place.cookies["nobody"] = "desk-0=x; desk=y"
    for who in ("stranger", "nobody"):
        for method, path in WHO:
            status, headers, text = place.ask(who, method, path)
            assert status == 403, (method, path)
            assert not SECRETS.search(text), (method, path)
            assert "set-cookie" not in headers
    assert place.state() == before


@pytest.mark.thorough
@pytest.mark.parametrize("seconds", [IDLE_SECONDS + 1, SESSION_SECONDS + 1])
def test_a_session_ends(place: Place, seconds: int) -> None:
    place.sign_in("kim")
    start = place.clock.time
    while place.clock.time < start + seconds - IDLE_SECONDS / 2:
        assert place.ask("kim", "GET", "/")[0] == 200, "somebody who works stays signed in"
        place.clock.time += IDLE_SECONDS / 2
    place.clock.time = start + seconds + (IDLE_SECONDS if seconds < SESSION_SECONDS else 0)
    before = place.state()
    for method, path in WHO:
        status, _, text = place.ask("kim", method, path)
        assert status == 403, (method, path)
        assert not SECRETS.search(text)
    assert place.state() == before


def test_signing_out_ends_the_session(place: Place) -> None:
    place.sign_in("kim")
    status, headers, _ = place.ask("kim", "POST", "/sign-out")
    assert status == 200
    assert "desk-" in headers["set-cookie"]
    assert "Max-Age=0" in headers["set-cookie"]
    for method, path in WHO:
        assert place.ask("kim", method, path)[0] == 403, (method, path)


def test_forms_need_the_token_of_their_own_session_and_site(place: Place) -> None:
    place.sign_in("kim")
    place.sign_in("pat")
    before = place.state()
    foreign = (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    )
    for method, path in WHO:
        if method == "POST":
            for token in ("", "x", place.tokens["pat"]):
                assert place.ask("kim", method, path, token)[0] == 403, (path, token)
            for headers in foreign:
                assert place.ask("kim", method, path, **headers)[0] == 403, (path, headers)
    assert place.state() == before
    assert place.ask("kim", "GET", "/")[0] == 200


@pytest.mark.thorough
def test_other_hosts_are_refused_everywhere(place: Place) -> None:
    place.sign_in("kim")
    before = place.state()
    for host in ("evil.example", "127.0.0.1.evil.example", ""):
        for method, path in (*WHO, *OPEN):
            status, _, text = place.ask("kim", method, path, Host=host)
            assert status == 400, (host, method, path)
            assert not SECRETS.search(text)
    assert place.state() == before


def test_no_form_may_be_large(place: Place) -> None:
    place.sign_in("kim")
    before = place.state()
    body = f"form_token={place.tokens['kim']}&x=".encode() + b"x" * 3_000_000
    for method, path in WHO:
        if method == "POST":
            headers = {"Cookie": place.cookies["kim"]}
            assert ask(place.links["kim"], method, address(path), body, **headers)[0] == 413
    assert chunked(place, "/grade", 2**23) == 413
    assert place.state() == before


def chunked(place: Place, path: str, size: int) -> int:
    """The status of a form that does not say how long it is."""
    url = urllib.parse.urlsplit(place.links["kim"])
    with socket.create_connection((str(url.hostname), int(url.port or 0)), timeout=60) as line:
        head = f"POST {path} HTTP/1.1\r\nHost: {url.netloc}\r\nCookie: {place.cookies['kim']}\r\n"
        line.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        try:
            for _ in range(size // 2**16):
                line.sendall(b"10000\r\n" + b"x" * 2**16 + b"\r\n")
        except OSError:
            pass  # the desk has answered and closed the connection
        return int(line.recv(4096).split()[1])


@pytest.mark.thorough
def test_the_sections_of_a_person_hold_on_every_route(place: Place) -> None:
    place.sign_in("pat")
    hidden = re.compile(r"\bs[13]\b|Student [13]|processes|regrade-request")
    for method, path in WHO:
        if method == "GET":
            status, _, text = place.ask("pat", method, path)
            assert status == (
                400
                if "{id}" in path
                else 403
                if path in ("/audit", "/agreement", "/ideas")
                else 200
            ), path
            if status == 200:
                assert not hidden.search(text), (path, hidden.search(text))
