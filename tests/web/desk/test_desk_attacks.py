"""Attacks on a running desk over HTTP: without a link, with odd addresses, and from other sites."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from grader.model.course import Role
from grader.web.desk.access import AccessLinks, Person
from tests.helpers.desk import Reader, a_desk, ask, form_of, signed_in

WHY = "/part/sample/why"
PAGES = ("/", "/students", "/student/s0", WHY, "/audit", "/audit?q=s0&page=2")
FORMS = ("/grade", "/override", "/item", "/undo", "/write")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")


@pytest.fixture
def link(results: Path) -> Iterator[str]:
    with a_desk(results) as links:
        yield links["kim"]


def cookie_of(link: str) -> str:
    """The cookie of a new session."""
    _, headers, _ = ask(link, "GET", link[link.index("/enter") :])
    return headers["set-cookie"].partition(";")[0]


def state(results: Path) -> tuple[object, ...]:
    with Gradebook.open(results) as book:
        return book.overrides(), book.audit(), book.rubrics.items()


def test_no_method_reads_or_writes_anything_without_a_link(link: str, results: Path) -> None:
    before = state(results)
    for method in METHODS:
        for path in (*PAGES, *FORMS, "/enter", "/enter?token=x", "/openapi.json", "/docs"):
            status, headers, text = ask(link, method, path, b"points=4")
            assert status in (403, 404, 405), (method, path, status)
            assert "set-cookie" not in headers
            assert not re.search(r"Student \d|lock|s0", text), (method, path)
    status, _, _ = ask(link, "GET", "/", Cookie="desk-0=x; desk=" + "y" * 500)
    assert status == 403
    assert state(results) == before


def test_a_signed_in_person_changes_nothing_by_reading(link: str, results: Path) -> None:
    cookie, before = cookie_of(link), state(results)
    for path in FORMS:
        status, _, _ = ask(link, "GET", f"{path}?points=4&form_token=x", Cookie=cookie)
        assert status in (404, 405)
    for path in PAGES:
        assert ask(link, "GET", path, Cookie=cookie)[0] == 200
    assert state(results) == before


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2f..%2fbank%2fproblems",
        "/static/%2e%2e/%2e%2e/gradebook.sqlite",
        "/static//etc/passwd",
        "/static/part.html.j2",
        "/static/style.css%00",
        "/student/..%2f..%2fetc%2fpasswd",
        "/student/../../etc/passwd",
        "/part/..%2f..%2fsolutions/why",
        "/../../../../etc/passwd",
        "//evil.example/",
    ],
)
def test_paths_do_not_leave_the_desk(link: str, path: str) -> None:
    status, _, text = ask(link, "GET", path, Cookie=cookie_of(link))
    assert status in (400, 404)
    assert "root:" not in text
    assert "{%" not in text
    assert "Traceback" not in text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", ""])
def test_other_hosts_are_refused(link: str, host: str) -> None:
    status, _, text = ask(link, "GET", "/", Host=host, Cookie=cookie_of(link))
    assert status == 400
    assert "Queue" not in text


@pytest.mark.thorough
@pytest.mark.parametrize(
    "back",
    ["//evil.example", "https://evil.example", "/\\evil.example", "/\t/evil.example", "\\\\evil"],
)
def test_a_form_does_not_redirect_to_another_site(link: str, back: str) -> None:
    kim = signed_in(link)
    _, page = kim.send(WHY, "/grade", points="3")
    fields = form_of(page, "/undo")
    cookie = "; ".join(f"{c.name}={c.value}" for c in kim._jar)
    body = urllib.parse.urlencode({**fields, "back": back}, doseq=True).encode()
    status, headers, _ = ask(link, "POST", "/undo", body, Cookie=cookie)
    assert status == 303
    assert headers["location"] == "/"


def test_forms_of_other_sites_are_refused(link: str, results: Path) -> None:
    kim = signed_in(link)
    fields = form_of(kim.get(WHY)[1], "/grade")
    before = state(results)
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": link.partition("/enter")[0] + "1"},
    ):
        status, _ = kim.post("/grade", {**fields, "points": "4"}, **headers)
        assert status == 403, headers
    other = form_of(signed_in(link).get(WHY)[1], "/grade")["form_token"]
    for token in ("", "x", other):
        status, _ = kim.post("/grade", {**fields, "points": "4", "form_token": token})
        assert status == 403
    assert state(results) == before
    own = {"Origin": link.partition("/enter")[0], "Sec-Fetch-Site": "same-origin"}
    assert kim.post("/grade", {**fields, "points": "4"}, **own)[0] == 200


def test_bodies_that_are_too_large_or_odd_are_refused(link: str, results: Path) -> None:
    kim = signed_in(link)
    fields, before = form_of(kim.get(WHY)[1], "/grade"), state(results)
    assert kim.post("/grade", {**fields, "comment": "x" * 3_000_000})[0] == 413
    many = {**fields, "item": [str(n) for n in range(20_000)], "points": "1"}
    assert kim.post("/grade", many)[0] in (400, 403, 413)
    cookie = "; ".join(f"{c.name}={c.value}" for c in kim._jar)
    multipart = "multipart/form-data; boundary=x"
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="../../x"'
    body = head + b"\r\n\r\n1\r\n--x--"
    status, _, text = ask(link, "POST", "/grade", body, Cookie=cookie, Content_Type=multipart)
    assert status in (400, 403, 415)
    assert "Traceback" not in text
    assert state(results) == before


def test_every_answer_has_the_strict_headers(link: str) -> None:
    cookie = cookie_of(link)
    for path in (*PAGES, "/static/desk.js", "/nothing", "/student/nobody"):
        _, headers, text = ask(link, "GET", path, Cookie=cookie)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
        if not path.startswith("/static"):
            assert not re.search(r"<script(?! src=)|\son\w+=|style=", text), path
    _, headers, _ = ask(link, "GET", link[link.index("/enter") :])
    assert "HttpOnly" in headers["set-cookie"]


def test_there_is_no_websocket(link: str) -> None:
    status, headers, _ = ask(
        link, "GET", "/", Connection="Upgrade", Upgrade="websocket",
        Sec_WebSocket_Version="13", Sec_WebSocket_Key="eHh4eHh4eHh4eHh4eHh4eA==",
    )  # fmt: skip
    assert status in (400, 403, 404)
    assert "sec-websocket-accept" not in headers


def test_text_of_graders_and_searches_is_text(link: str) -> None:
    kim, evil = signed_in(link), "<img src=x onerror=alert(1)>"
    kim.send(WHY, "/grade", points="3", comment=evil)
    pages = [WHY + "?group=0", "/student/s0", "/audit", f"/audit?q={urllib.parse.quote(evil)}"]
    pages.append(f"{WHY}?conflicts={urllib.parse.quote(evil)}")
    for path in pages:
        status, page = kim.get(path)
        assert status == 200
        assert "<img" not in page, path


def test_only_instructors_write_grades_and_read_the_log(results: Path) -> None:
    people = {"g": Person(id="gil", role=Role.GRADER), "o": Person(id="oda", role=Role.OBSERVER)}
    with a_desk(results, AccessLinks(people)) as links:
        gil = signed_in(links["gil"])
        token = form_of(gil.get(WHY)[1], "/grade")["form_token"]
        assert gil.post("/write", {"form_token": token})[0] == 403
        assert gil.get("/audit")[0] == 403
        assert 'action="/write"' not in gil.get("/")[1]
        oda = Reader(links["oda"].partition("/enter")[0])
        assert oda.get(links["oda"].partition("/enter")[1] + links["oda"].partition("/enter")[2])
        for path in FORMS:
            assert oda.post(path, {"form_token": token})[0] == 403
