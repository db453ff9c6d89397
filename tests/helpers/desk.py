"""A desk that runs in a thread, and a class with explanations to grade."""

from __future__ import annotations

import http.client
import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from grader.bank.folders import Bank
from grader.model.course import Course
from grader.web.desk.access import AccessLinks, Entrance, one_person
from grader.web.desk.app import DeskApp
from grader.web.desk.pages import Desk
from grader.web.prefix import BelowPrefix
from tests.helpers.banks import ESSAY, a_bank
from tests.helpers.commands import ok
from tests.helpers.servers import running

ANSWERS = {
    "s0": "Because the lock lets one thread run at a time.",
    "s1": "because the lock lets one thread run at a time",
    "s2": "Because the lock lets one  thread run at a time.",
    "s3": "The <b>processes</b> have memory <script>alert(1)</script> of their own.",
    "s4": "I don't know, it was slow.",
}


def a_class(home: Path) -> Path:
    """Results of a class whose explanations wait for a person; the bank is in `bank`."""
    a_bank(home / "bank", ESSAY)
    lines = [f"{id_},Student {id_[1]},{'AB'[int(id_[1]) % 2]}\n" for id_ in ANSWERS]
    (home / "roster.csv").write_text("id,name,section\n" + "".join(lines))
    ok(
        "render", "quiz", "--roster", home / "roster.csv", "--out", home / "release",
        "--bank", home / "bank",
    )  # fmt: skip
    for id_, text in ANSWERS.items():
        path = home / "in" / f"{id_}.ipynb"
        ok("solve", home / "release", "--student", id_, "--out", path, "--bank", home / "bank")
        data = json.loads(path.read_text())
        cell = next(c for c in reversed(data["cells"]) if c["cell_type"] == "code")
        added = {**cell, "id": "added", "source": f"q1_why = {text!r}", "metadata": {}}
        path.write_text(json.dumps({**data, "cells": [*data["cells"], added]}))
    ok(
        "grade", home / "in", "--release", home / "release", "--out", home / "results",
        "--bank", home / "bank",
    )  # fmt: skip
    return home / "results"


class Reader:
    """A browser without scripts: it keeps cookies, and follows redirects."""

    def __init__(self, address: str):
        self.address = address
        self._jar = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._jar))

    def cookies(self) -> set[str]:
        """The names of the cookies."""
        return {cookie.name for cookie in self._jar}

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        """The status and text of a page."""
        return self._open(urllib.request.Request(self.address + path, headers=headers))

    def post(self, path: str, fields: object, **headers: str) -> tuple[int, str]:
        """The status and text of the page that answers a form."""
        data = urllib.parse.urlencode(fields, doseq=True).encode()  # type: ignore[arg-type]
        return self._open(urllib.request.Request(self.address + path, data, headers=headers))

    def send(self, path: str, action: str, **changes: object) -> tuple[int, str]:
        """Opens a page, fills in its first form for *action*, and sends it."""
        fields = form_of(self.get(path)[1], action)
        return self.post(action, {**fields, **changes})

    def _open(self, request: urllib.request.Request) -> tuple[int, str]:
        try:
            with self._opener.open(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


def ask(
    link: str, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, dict[str, str], str]:
    """Sends a request as it is, without following redirects or correcting the address."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(link).netloc, timeout=60)
    connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, {k.lower(): v for k, v in answer.getheaders()}, text


def form_of(page: str, action: str) -> dict[str, list[str]]:
    """The hidden and checked fields of the first form of *page* for *action*."""
    form = re.search(rf'<form method="post" action="{action}"[^>]*>(.*?)</form>', page, re.DOTALL)
    assert form, f"no form for {action}"
    fields: dict[str, list[str]] = {}
    for tag in re.findall(r"<input [^>]*>", form[1]):
        attributes = dict(re.findall(r'([a-z-]+)="([^"]*)"', tag))
        if attributes.get("type") == "hidden" or tag.endswith(" checked>"):
            fields.setdefault(attributes["name"], []).append(attributes["value"])
    return fields


@contextmanager
def a_desk(
    results: Path,
    access: Entrance | None = None,
    *,
    anonymous: bool = False,
    course: Course | None = None,
    hosts: tuple[str, ...] = ("127.0.0.1",),
    behind_proxy: bool = False,
    prefix: str = "",
    app_made: Callable[[DeskApp], object] = lambda _: None,
) -> Iterator[Mapping[str, str]]:
    """Runs a desk; yields the link of each person, or with another entrance the desk's address as
    that of nobody. All addresses begin with *prefix*. Passes the application to *app_made*."""
    access = access or one_person("kim")
    app = DeskApp(
        Desk(out=results, anonymous=anonymous, course=course),
        access,
        Bank.open((str(results.parent / "bank"),)),
        hosts,
        secure=behind_proxy,
    )
    app_made(app)
    proxies = ["127.0.0.1"] if behind_proxy else []
    options = {"proxy_headers": behind_proxy, "forwarded_allow_ips": proxies}
    try:
        asgi = BelowPrefix(app.asgi, prefix) if prefix else app.asgi
        with running(asgi, **options) as address:
            home = address + prefix
            if isinstance(access, AccessLinks):
                yield {p.id: f"{home}/enter?token={token}" for token, p in access.people.items()}
            else:
                yield {"": home}
    finally:
        app.close()


def signed_in(link: str) -> Reader:
    """A reader who has opened their link."""
    address, _, path = link.partition("/enter")
    reader = Reader(address)
    assert reader.get("/enter" + path)[0] == 200
    return reader
