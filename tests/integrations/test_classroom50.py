"""Classroom 50's result.json, checked as its runner and its collector check it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt

from grader.errors import SetupError
from grader.integrations.github.classroom50 import (
    BODY,
    RESULT,
    read_identity,
    result_files,
    runner_outputs,
)
from grader.model.exported import Result
from tests.helpers.classroom import CLASSROOM50_ENVIRONMENT
from tests.helpers.export import (
    a_hostile_result,
    a_mixed_result,
    a_problem,
    a_result,
    an_empty_result,
    an_open_result,
    hostile,
)
from tests.helpers.report import a_part

WHOSE = read_identity(CLASSROOM50_ENVIRONMENT)

_text = {"type": "string", "minLength": 1}
_points = {"type": "integer", "minimum": 0}
_instant = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$"}
# By the published description of classroom50/result/v1; its own schema is tried further down.
SHAPE = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        "schema", "classroom", "assignment", "assignment_type", "owner", "submission", "commit",
        "release", "review", "datetime", "score", "max-score", "tests",
    ],
    "properties": {
        "schema": {"const": "classroom50/result/v1"},
        **dict.fromkeys(("classroom", "assignment", "owner", "commit", "release", "review"), _text),
        "assignment_type": {"enum": ["individual", "group"]},
        "submission": {"type": "string", "pattern": "^submit/"},
        "datetime": _instant,
        "graded_at": _instant,
        "score": _points,
        "max-score": _points,
        "submitted_by": {
            "type": "object",
            "additionalProperties": False,
            "required": ["username"],
            "properties": {"username": _text, "id": {"type": ["integer", "null"]}},
        },
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["test-name", "passed", "score", "max-score"],
                "properties": {
                    "test-name": _text,
                    "passed": {"type": "boolean"},
                    "score": _points,
                    "max-score": _points,
                },
            },
        },
    },
}  # fmt: skip


def made(result: Result, **options: Any) -> dict[str, Any]:
    """The document, after everything that a collector would refuse it for."""
    data = result_files(result, WHOSE, **options).files[RESULT]
    assert not data.startswith(b"\xef\xbb\xbf")
    document: dict[str, Any] = json.loads(data.decode("ascii"), object_pairs_hook=_once)
    Draft202012Validator(SHAPE).validate(document)
    assert document["score"] <= document["max-score"]
    assert all(test["score"] <= test["max-score"] for test in document["tests"])
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), "a key is there twice"
    return dict(pairs)


def test_the_files_of_a_result(golden) -> None:
    files = result_files(a_mixed_result(), WHOSE, graded_at="2026-11-05T00:00:00Z").files
    golden("classroom50-result.json", files[RESULT].decode())
    golden("classroom50-release-body.md", files[BODY].decode())


def test_points_are_integers_at_a_scale_and_exact_beside_them() -> None:
    document = made(a_mixed_result())
    assert (document["score"], document["max-score"]) == (425, 800)
    assert [test["points"] for test in document["tests"]] == [2.0, 0.5, 1.75, 0.0]
    assert [test["passed"] for test in document["tests"]] == [True, False, False, False]


def test_a_scale_that_would_drop_points_is_refused() -> None:
    with pytest.raises(SetupError, match="q1_fits") as error:
        result_files(a_mixed_result(), WHOSE, scale=1)
    assert "--scale 100" in str(error.value.fix)


def test_whole_points_need_no_scale() -> None:
    result = a_result(a_problem(1, a_part("q1_size")))
    assert made(result, scale=1)["score"] == 2
    assert result_files(result, WHOSE, scale=1).notes == ()


def test_thirds_are_rounded_and_said() -> None:
    result = a_result(a_problem(1, a_part("q1_size", points=0.666667)))
    assert made(result)["score"] == 67
    assert any("rounded" in note for note in result_files(result, WHOSE).notes)


def test_open_parts_are_refused_or_left_out_with_their_maximum() -> None:
    with pytest.raises(SetupError, match="still open"):
        result_files(an_open_result(), WHOSE)
    document = made(an_open_result(), leave_out=True)
    assert (document["score"], document["max-score"], len(document["tests"])) == (200, 200, 1)
    exported = result_files(an_open_result(), WHOSE, leave_out=True)
    assert "q1_why" in exported.notes[0]
    assert "open of 2" in exported.files[BODY].decode()


def test_who_handed_in_nothing_has_no_result() -> None:
    with pytest.raises(SetupError, match="no submission"):
        result_files(an_empty_result(), WHOSE)


def test_the_time_is_of_the_submission_and_stays_when_it_is_graded_again() -> None:
    first = made(a_mixed_result(), graded_at="2026-11-03T08:00:00+00:00")
    again = made(a_mixed_result(), graded_at="2026-12-24T08:00:00+02:00")
    assert first["datetime"] == again["datetime"] == "2026-11-02T09:00:00Z"
    assert again["graded_at"] == "2026-12-24T06:00:00Z"
    assert datetime.fromisoformat(first["datetime"]) == datetime.fromisoformat(
        str(a_mixed_result().submitted_at)
    )
    assert made(a_mixed_result(), submitted_at="2026-11-01T23:00:00")["datetime"] == (
        "2026-11-01T23:00:00Z"
    )


def test_an_unknown_time_is_asked_for() -> None:
    result = Result(feedback=a_mixed_result().feedback)
    with pytest.raises(SetupError, match="not known") as error:
        result_files(result, WHOSE)
    assert "--submitted-at" in str(error.value.fix)


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_time_that_no_calendar_has_in_utc_is_asked_for_as_well(when: str) -> None:
    with pytest.raises(SetupError, match="is not known"):
        made(a_mixed_result(), submitted_at=when, leave_out=True)


def test_the_runner_s_variables_say_whose_it_is() -> None:
    document = made(a_mixed_result())
    assert (document["classroom"], document["owner"]) == ("mlsys", "ada")
    assert document["submitted_by"] == {"username": "ada", "id": 42}
    # Older runners set fewer.
    older = {k: v for k, v in CLASSROOM50_ENVIRONMENT.items() if k not in {"OWNER", "REVIEW_URL"}}
    whose = read_identity({**older, "ASSIGNMENT_TYPE": "", "GITHUB_ACTOR_ID": "x"})
    assert (whose.owner, whose.review, whose.assignment_type) == ("ada", whose.commit, "individual")
    assert whose.pusher is None


def test_missing_variables_are_named() -> None:
    with pytest.raises(SetupError, match="CLASSROOM, RELEASE_URL"):
        read_identity({**CLASSROOM50_ENVIRONMENT, "CLASSROOM": " ", "RELEASE_URL": ""})
    with pytest.raises(SetupError, match="v1"):
        read_identity({**CLASSROOM50_ENVIRONMENT, "SUBMISSION_TAG": "v1"})


def test_status_and_summary() -> None:
    assert runner_outputs(a_mixed_result()) == {
        "status": "failure",
        "summary": "425/800 (full points for 1 of 4 parts)",
    }
    assert runner_outputs(a_result(a_problem(1, a_part("q1_size"))))["status"] == "success"


@pytest.mark.thorough
@given(hostile)
@example("| x |")
@example("<!--")
def test_what_students_write_stays_in_its_cell(text: str) -> None:
    result = a_hostile_result(text)
    made(result)
    body = result_files(result, WHOSE).files[BODY].decode()
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(body)
    rows = re.findall(r"<tr>(.*?)</tr>", rendered, re.DOTALL)
    assert len(rows) == 3
    assert all(len(re.findall(r"<t[dh]", row)) == 5 for row in rows)
    tags = set(re.findall(r"<(\w+)", rendered))
    assert tags <= {"h2", "p", "table", "thead", "tbody", "tr", "th", "td"}


# The real schema and runner are not ours to keep here: name a checkout to try them.
CHECKOUT = Path(os.environ.get("GRADER_CLASSROOM50", "") or "/nonexistent")
real = pytest.mark.skipif(
    not CHECKOUT.is_dir(), reason="GRADER_CLASSROOM50 names no checkout of foundation50/classroom50"
)
RESULTS = {
    "mixed": (a_mixed_result(), {}),
    "partial": (an_open_result(), {"partial": True}),
    "regraded": (a_mixed_result(), {"graded_at": "2026-12-24T08:00:00Z"}),
    "hostile": (a_hostile_result("::error::x\n\x1b<b>\u2028|"), {}),
}


@real
@pytest.mark.parametrize("name", RESULTS)
def test_the_real_schema_holds(name: str) -> None:
    result, options = RESULTS[name]
    schema = json.loads((CHECKOUT / "schemas/result-v1.schema.json").read_text(encoding="utf-8"))
    document = json.loads(result_files(result, WHOSE, **options).files[RESULT])  # type: ignore[arg-type]
    Draft202012Validator(schema).validate(document)


@real
@pytest.mark.parametrize("name", RESULTS)
def test_the_real_runner_takes_it(name: str) -> None:
    path = CHECKOUT / "cli/gh-teacher/skeleton/dotgithub/scripts/runner.py"
    spec = importlib.util.spec_from_file_location("classroom50_runner", path)
    assert spec
    assert spec.loader
    runner = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = runner
    spec.loader.exec_module(runner)
    result, options = RESULTS[name]
    document = json.loads(result_files(result, WHOSE, **options).files[RESULT])  # type: ignore[arg-type]
    said = runner.validate_result(
        document, classroom="mlsys", assignment="midterm", owner="ada", expected_type="individual"
    )
    assert said is None


ORG, REPOSITORY = "org", "mlsys-midterm-ada"


@contextmanager
def github(pages: dict[str, Any]) -> Iterator[str]:
    """The address of a server that answers as GitHub does: JSON by path, 404 for any other."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            body = page if isinstance(page, bytes) else json.dumps(page).encode()
            self.send_response(404 if page is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def collected(home: Path, handed_in: dict[str, bytes]) -> tuple[str, dict[str, Any]]:
    """What Classroom 50's collector says, and its gradebook, of a result.json for each tag.

    Ada's repository has a release for each, the last one first; Bob has no repository.
    """
    bot = {"login": "github-actions[bot]"}
    url = f"/repos/{ORG}/{REPOSITORY}/releases"
    pages: dict[str, Any] = {
        f"/orgs/{ORG}/teams/classroom50-mlsys/members": [{"login": "ada"}, {"login": "bob"}],
        f"/orgs/{ORG}/repos": [{"name": REPOSITORY, "private": True, "default_branch": "main"}],
        url: [],
    }
    releases: list[object] = []
    for number, (tag, data) in enumerate(handed_in.items()):
        # The collector puts the address that it was given in place of this host.
        where = f"https://api.git.example{url}/assets/{number}"
        pages[f"{url}/assets/{number}"] = data
        assets = [{"name": RESULT, "url": where, "uploader": bot}]
        releases.insert(0, {"tag_name": tag, "author": bot, "draft": False, "assets": assets})
    pages[url] = releases
    with github(pages) as address:
        done = subprocess.run(
            [
                sys.executable,
                "-I",
                str(CHECKOUT / "cli/gh-teacher/skeleton/dotgithub/scripts/collect_scores.py"),
            ],
            env={
                "GITHUB_WORKSPACE": str(home),
                "GITHUB_REPOSITORY_OWNER": ORG,
                "GH_API_URL": address,
                "CLASSROOM50_SERVICE_TOKEN": "none",
                "NO_PROXY": "*",
            },
            capture_output=True,
            text=True,
            timeout=60,
        )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said, json.loads((home / "mlsys" / "scores.json").read_text(encoding="utf-8"))


@real
def test_the_real_collector_enters_it_in_the_gradebook(tmp_path: Path) -> None:
    due = "2026-11-02T12:00:00+02:00"  # an hour after they were handed in
    config = {"schema": "classroom50/classroom/v1", "short_name": "mlsys"}
    assignment = {"slug": "midterm", "mode": "individual", "due": due}
    (tmp_path / "mlsys").mkdir()
    for name, content in {
        "classroom.json": config,
        "assignments.json": {"schema": "classroom50/assignments/v1", "assignments": [assignment]},
    }.items():
        (tmp_path / "mlsys" / name).write_text(json.dumps(content), encoding="utf-8")

    def handed_in(tag: str, result: Result, **options: Any) -> bytes:
        owner = options.pop("owner", "ada")
        whose = read_identity({**CLASSROOM50_ENVIRONMENT, "SUBMISSION_TAG": tag, "OWNER": owner})
        return result_files(result, whose, **options).files[RESULT]

    files = {
        f"submit/{name}": handed_in(f"submit/{name}", result, **options)  # type: ignore[arg-type]
        for name, (result, options) in RESULTS.items()
    }
    files["submit/late"] = handed_in(
        "submit/late", a_mixed_result(), submitted_at="2026-11-02T12:00:01+02:00"
    )
    of_another = {"submit/eve": handed_in("submit/eve", a_mixed_result(), owner="eve")}

    said, scores = collected(tmp_path, {**files, **of_another})
    assert "mlsys/midterm: 1/2 submitted" in said
    assert said.count("skipping that submission") == 1
    assert "owner = 'eve', want 'ada'" in said
    schema = json.loads((CHECKOUT / "schemas/scores-v1.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(scores)
    (entry,) = scores["assignments"]["midterm"]["entries"]
    assert entry["owner"] == "ada"
    # Every field of every result is kept, but for the assignment, by which they are filed.
    expected = []
    for tag, data in reversed(files.items()):
        document = json.loads(data)
        del document["assignment"]
        expected.append({**document, "late": tag == "submit/late"})
    assert entry["submissions"] == expected

    # Collected once more nothing changes; graded once more the same submission does.
    said, again = collected(tmp_path, files)
    assert "mlsys: 0 updated submission(s)" in said
    assert again["assignments"]["midterm"]["entries"] == [entry]
    full = a_result(a_problem(1, a_part("q1_size")))
    files["submit/late"] = handed_in(
        "submit/late",
        full,
        submitted_at="2026-11-02T12:00:01+02:00",
        graded_at="2026-12-24T08:00:00Z",
    )
    said, again = collected(tmp_path, files)
    assert "mlsys: 1 updated submission(s)" in said
    (entry,) = again["assignments"]["midterm"]["entries"]
    first = entry["submissions"][0]
    assert (first["score"], first["max-score"], first["late"]) == (200, 200, True)
    assert first["graded_at"] == "2026-12-24T08:00:00Z"
    assert entry["submissions"][1:] == expected[1:]
