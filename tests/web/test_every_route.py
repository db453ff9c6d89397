"""Every route of every application, asked by somebody who has no session.

The routes come from the applications themselves, so that nobody can forget a new one.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.routing import BaseRoute, Route

from grader.course.staff import StaffFile
from grader.gradebook import Gradebook
from grader.model.course import StaffMember
from grader.web.desk.access import Entrance, one_person
from grader.web.desk.accounts import AccountFile
from grader.web.desk.app import DeskApp
from grader.web.desk.hub import Hub, HubService
from grader.web.desk.sign_in import Accounts
from grader.web.practice.app import OwnerAccess, PracticeApp
from tests.helpers.desk import a_class, a_desk, ask
from tests.helpers.practice import a_practice
from tests.helpers.servers import running

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
PATHS = {"{id}": "s3", "{view}": "code", "{problem}": "sample", "{part}": "why"}
COOKIES = ("", "desk-{port}=x; practice-{port}=x; desk=y; desk-state-{port}=z")
HUB = HubService(
    client="service-desk", token="t", api="http://127.0.0.1:9/hub/api", host="", base="/hub/",
    prefix="/", callback="/oauth_callback", listen="http://127.0.0.1:9",
)  # fmt: skip
Start = Callable[[Path], AbstractContextManager["App"]]
COURSE = "id: systems\ntime_zone: Europe/Berlin\nstaff:\n  kim: {role: instructor}\n"
SECRET = re.compile(r"Student \d|lock lets|\bs\d\b|sample|\bkim\b|form_token|GiB")


@dataclass
class App:
    """An application that runs."""

    address: str
    routes: list[BaseRoute]
    state: Callable[[], object]
    """What nobody may change without a session."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("routes")
    a_class(home)
    (home / "course.yaml").write_text(COURSE)
    return home


@contextmanager
def desk(home: Path, entrance: Entrance) -> Iterator[App]:
    results, apps = home / "results", list[DeskApp]()

    def state() -> object:
        with Gradebook.open(results) as book:
            kept = (book.overrides(), book.audit(), book.requests.every(), book.setting("release"))
        return kept, sorted(map(str, home.rglob("*")))

    with a_desk(results, entrance, app_made=apps.append) as links:
        (link,) = links.values()
        yield App(link.partition("/enter")[0], list(apps[0].asgi.routes), state)


@contextmanager
def practice(home: Path) -> Iterator[App]:
    session = a_practice(home, "fsdp-state-per-gpu")
    app = PracticeApp(session, OwnerAccess())
    with running(app.asgi) as address:
        state = lambda: (session.number, session.result, session.saving, session.fields)  # noqa: E731
        yield App(address, list(app.asgi.routes), state)


def with_links(home: Path) -> AbstractContextManager[App]:
    return desk(home, one_person("kim"))


def with_accounts(home: Path) -> AbstractContextManager[App]:
    return desk(
        home, Accounts(StaffFile(home / "course.yaml"), AccountFile(home / "accounts.json"))
    )


def in_a_hub(home: Path) -> AbstractContextManager[App]:
    return desk(home, Hub(lambda: {"kim": StaffMember()}, HUB))


STATIC = "/static/{name}"
# The routes that need no session, as they lead to one or hold no data.
OPEN: dict[Start, set[str]] = {
    with_links: {"/enter", STATIC},
    with_accounts: {"/sign-in", "/invitation", STATIC},
    in_a_hub: {"/oauth_callback", STATIC},
    practice: {"/enter", STATIC},
}


@pytest.mark.parametrize("start", OPEN)
def test_nothing_is_read_or_changed_without_a_session(
    start: Start, made: Path, tmp_path: Path
) -> None:
    home = Path(shutil.copytree(made, tmp_path / "home"))
    with start(home) as app:
        assert all(isinstance(route, Route) for route in app.routes), "a mount or a socket"
        paths = {route.path for route in app.routes if isinstance(route, Route)}
        assert paths > OPEN[start]
        before = app.state()
        for path in sorted(paths):
            address = path.replace("{name}", "style.css")
            for name, value in PATHS.items():
                address = address.replace(name, value)
            for method in METHODS:
                for cookie in COOKIES:
                    port = app.address.rpartition(":")[2]
                    status, headers, text = ask(
                        app.address, method, address, b"points=4", Cookie=cookie.format(port=port)
                    )
                    where = (method, address, cookie, status)
                    headers.pop("location", "")  # may repeat the address
                    assert not SECRET.search(f"{text}\n{headers}"), (where, text)
                    if path not in OPEN[start]:
                        assert status in (303, 403, 404), where
                        assert status != 303 or method in ("GET", "HEAD"), where
                    else:
                        assert status < 500, where
        assert app.state() == before
