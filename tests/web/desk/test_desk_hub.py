"""The desk as a service of a real JupyterHub."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.model.course import StaffMember
from grader.web.desk.hub import Hub, HubService, hub_service
from tests.helpers.desk import Reader, a_class, a_desk, ask, form_of
from tests.helpers.hub import RunningHub, a_hub
from tests.helpers.servers import running

DESK = "/services/desk"
SERVICE = HubService(
    client="service-desk", token="t", api="http://127.0.0.1:9/hub/api", host="", base="/hub/",
    prefix=f"{DESK}/", callback=f"{DESK}/oauth_callback", listen="http://127.0.0.1:9",
)  # fmt: skip
COURSE = """\
id: systems
time_zone: Europe/Berlin
staff:
  kim: {role: instructor}
  gil: {role: grader}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("desk")
    (found / "course.yaml").write_text(COURSE)
    a_class(found)
    return found


@pytest.fixture(scope="module")
def hub(home: Path) -> Iterator[RunningHub]:
    course = ["--course", str(home / "course.yaml"), "--bank", str(home / "bank")]
    with a_hub(home / "hub", [str(home / "results"), "--hub", *course]) as found:
        yield found


@pytest.mark.thorough
def test_a_user_of_the_hub_who_is_on_the_staff_grades(hub: RunningHub, home: Path) -> None:
    kim = hub.log_in("kim")
    status, page = kim.get(f"{DESK}/part/sample/why?group=0")
    assert status == 200, page
    assert "kim, instructor" in page
    assert "Answer 1 of 3" in page, "the page that was wanted"
    assert re.findall(r'(?:href|src|action)="(/(?!services/desk/)[^"]*)"', page) == []
    fields = form_of(page, f"{DESK}/grade")
    status, page = kim.post(f"{DESK}/grade", {**fields, "points": "3"})
    assert status == 200
    assert "2 answers left" in page
    with Gradebook.open(home / "results") as book:
        assert {one.by for one in book.overrides()} == {"kim"}
    status, text = kim.post(f"{DESK}/sign-out", {"form_token": fields["form_token"]})
    assert (status, "signed out" in text) == (200, True)


@pytest.mark.thorough
def test_others_are_told_who_they_are_and_see_nothing(hub: RunningHub) -> None:
    ada = hub.log_in("ada")
    status, page = ada.get(f"{DESK}/students")
    assert status == 403
    assert "logged in to JupyterHub as <strong>ada</strong>" in page
    assert f'href="//{hub.address.removeprefix("http://")}/hub/logout"' in page
    assert ada.post(f"{DESK}/grade", {"points": "4"})[0] == 403
    status, page = Reader(hub.address).get(f"{DESK}/students")
    assert "Student" not in page
    assert "/hub/login" in page, "the Hub asks who it is"


@pytest.mark.thorough
def test_the_hub_alone_can_send_people_back(hub: RunningHub) -> None:
    kim = hub.log_in("kim")
    status, headers, _ = ask(hub.address, "GET", f"{DESK}/")
    assert status == 303
    question = urllib.parse.urlsplit(headers["location"])
    assert question.path == "/hub/api/oauth2/authorize"
    assert "Path=/services/desk/" in headers["set-cookie"]
    state = urllib.parse.parse_qs(question.query)["state"][0]
    # Somebody else's sign-in, which an attacker started: the browser has another cookie.
    status, page = kim.get(f"{question.path}?{question.query}")
    assert (status, "not valid any more" in page) == (403, True)
    for path in (f"?state={state}&code=x", "?code=x", "", f"?state={state}"):
        assert ask(hub.address, "GET", f"{DESK}/oauth_callback{path}")[0] == 403
    assert ask(hub.address, "GET", f"{DESK}/", Host="evil.example")[0] == 400


@pytest.mark.thorough
def test_leaving_the_staff_or_the_hub_ends_access(hub: RunningHub, home: Path) -> None:
    gil = hub.log_in("gil")
    assert "gil, grader" in gil.get(f"{DESK}/")[1]
    (home / "course.yaml").write_text(COURSE.partition("  gil:")[0])
    status, page = gil.get(f"{DESK}/")
    assert (status, "not on the staff" in page) == (403, True)
    (home / "course.yaml").write_text(COURSE)
    assert "gil, grader" in gil.get(f"{DESK}/")[1]


@pytest.mark.thorough
def test_a_session_ends_when_the_hub_ends_its_token(hub: RunningHub) -> None:
    kim, now = hub.log_in("kim"), [1_000_000.0]
    made = hub.tell(kim, "POST", "users/kim/tokens")
    service = replace(SERVICE, api=f"{hub.address}/hub/api")
    staff = {"kim": StaffMember(), "gil": StaffMember()}
    sessions = Hub(lambda: staff, service, lambda: now[0]).sessions
    mine, other = sessions.open("kim", made["token"]), sessions.open("gil", made["token"])
    assert sessions.get(mine)
    now[0] += 300
    assert sessions.get(other) is None, "the token is kim's"
    assert sessions.get(mine)
    hub.tell(kim, "DELETE", f"users/kim/tokens/{made['id']}")
    now[0] += 300
    assert sessions.get(mine) is None


def test_while_the_hub_does_not_answer_nobody_is_let_in_or_thrown_out() -> None:
    now = [1_000_000.0]
    sessions = Hub(lambda: {"kim": StaffMember()}, SERVICE, lambda: now[0]).sessions
    mine = sessions.open("kim", "token")
    for _ in range(2):
        with pytest.raises(SetupError, match="does not tell who a user is"):
            sessions.get(mine)


def test_without_a_hub_it_says_what_is_missing() -> None:
    with pytest.raises(SetupError, match="needs JUPYTERHUB_API_TOKEN"):
        hub_service({"JUPYTERHUB_CLIENT_ID": "service-desk"})


async def _answer_as_hub(request: Request) -> JSONResponse:
    return JSONResponse({"access_token": "token", "name": "kim"})


def test_two_tabs_sign_in_at_a_time(home: Path) -> None:
    """With a stand-in for the Hub, which says to every code and token that it is kim's."""
    routes = [Route("/hub/api/{path:path}", _answer_as_hub, methods=["GET", "POST"])]
    with running(Starlette(routes=routes)) as address:
        hub = Hub(lambda: {"kim": StaffMember()}, replace(SERVICE, api=f"{address}/hub/api"))
        with a_desk(home / "results", hub) as links:
            desk, cookies, states = links[""], [], {}
            for path in ("/students", "/requests"):
                _, headers, _ = ask(desk, "GET", path)
                cookies.append(headers["set-cookie"].partition(";")[0])
                question = urllib.parse.urlsplit(headers["location"]).query
                states[path] = urllib.parse.parse_qs(question)["state"][0]
            # A browser keeps the last of the cookies with one name.
            jar = "; ".join({one.partition("=")[0]: one for one in cookies}.values())
            for path, state in states.items():
                back = f"/oauth_callback?state={state}&code=x"
                status, headers, text = ask(desk, "GET", back, Cookie=jar)
                assert (status, headers.get("location")) == (303, path), text
