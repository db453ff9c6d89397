"""Classroom 50's bundle, run as its runner runs it: in the student's checkout, by environment."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from grader.errors import SetupError
from tests.helpers.classroom import ROOT, git
from tests.helpers.commands import ok, run

IDENTITY = {
    "CLASSROOM": "mlsys",
    "ASSIGNMENT": "midterm",
    "ASSIGNMENT_TYPE": "individual",
    "SUBMISSION_TAG": "submit/2026-11-20T10-00-00Z-abcdef0",
    "PAGES_BASE_URL": "https://org.github.io/classroom50",
    "USERNAME": "Ada",
    "OWNER": "Ada",
    "COMMIT_URL": "https://github.com/org/mlsys-midterm-ada/commit/abc",
    "RELEASE_URL": "https://github.com/org/mlsys-midterm-ada/releases/tag/x",
    "REVIEW_URL": "https://github.com/org/mlsys-midterm-ada/compare/a...b",
    "GITHUB_ACTOR": "ada",
    "GITHUB_ACTOR_ID": "7",
}
CHECKOUT = Path(os.environ.get("GRADER_CLASSROOM50", "") or "/nonexistent")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("classroom50")
    release, key = home / "release", home / "exam.key"
    ok("render", "midterm", "--student", "ada", "--out", release, "--private-key", "t")
    ok("classroom", "seal", release, "--out", home / "exam.pack", "--key-file", key)
    options = ["--host", "classroom50", "--classroom", "mlsys", "--pack", home / "exam.pack"]
    ok("classroom", "init", home / "course", "--release", release, *options)
    ok("solve", release, "--student", "ada", "--out", home / "solved.ipynb")
    return home


@pytest.fixture
def checkout(made: Path, tmp_path: Path) -> Path:
    """The student's repository as it is checked out, with everything right."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "midterm.ipynb").write_bytes((made / "solved.ipynb").read_bytes())
    git("init", "--quiet", "--initial-branch=main", cwd=folder)
    git("add", "--all", cwd=folder)
    git("commit", "--quiet", "--message=work", cwd=folder, when="2026-11-20T11:00:00+01:00")
    return folder


def autograde(
    made: Path, checkout: Path, python: str = sys.executable, **more: str
) -> subprocess.CompletedProcess[str]:
    bundle = made / "course" / "classroom50"
    output = checkout.parent / "output"
    output.touch()
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "GRADER_"))},
        **IDENTITY,
        "CLASSROOM50_BUNDLE_DIR": str(bundle),
        "GITHUB_OUTPUT": str(output),
        **more,
    }
    return subprocess.run(
        [python, str(bundle / "autograder.py")],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def result_of(checkout: Path) -> dict[str, Any]:
    """result.json, held against the rules of the format that a test can state in a few lines."""
    data = json.loads((checkout / "result.json").read_bytes())
    assert set(data) <= {
        *("schema", "classroom", "assignment", "assignment_type", "owner", "submission"),
        *("commit", "release", "review", "datetime", "graded_at", "score", "max-score"),
        *("tests", "submitted_by"),
    }
    assert data["schema"] == "classroom50/result/v1"
    assert (data["classroom"], data["assignment"], data["owner"]) == ("mlsys", "midterm", "Ada")
    for test in [data, *data["tests"]]:
        for name in ("score", "max-score"):
            assert type(test[name]) is int
        assert 0 <= test["score"] <= test["max-score"]
    assert sum(test["score"] for test in data["tests"]) == data["score"]
    assert all(type(test["passed"]) is bool for test in data["tests"])
    return data


@pytest.mark.thorough
def test_without_a_key_the_public_checks_and_nothing_that_looks_like_a_grade(
    made: Path, checkout: Path
) -> None:
    done = autograde(made, checkout)
    assert done.returncode == 0, done.stderr
    data = result_of(checkout)
    assert data["score"] == data["max-score"] == 100 * len(data["tests"])
    assert all("public check only" in test["test-name"] for test in data["tests"])
    assert not any("verdict" in test for test in data["tests"])
    assert data["datetime"] == "2026-11-20T10:00:00Z"  # of the commit, in UTC
    body = (checkout / "release-body.md").read_text()
    assert "public checks only" in body
    assert "not the grade" in body
    # The runner looks for lines that begin so, and writes its own over any other form.
    output = (checkout.parent / "output").read_text().splitlines()
    assert output[0] == "status=success"
    assert output[1].startswith("summary=public checks only")


@pytest.mark.thorough
def test_an_answer_that_is_missing_is_a_test_that_fails(made: Path, checkout: Path) -> None:
    data = json.loads((checkout / "midterm.ipynb").read_text())
    data["cells"] = [c for c in data["cells"] if "q1_per_gpu =" not in "".join(c["source"])]
    (checkout / "midterm.ipynb").write_text(json.dumps(data))
    assert autograde(made, checkout).returncode == 0
    tests = result_of(checkout)["tests"]
    assert [t["test-name"].partition(":")[0] for t in tests if not t["passed"]] == ["q1_per_gpu"]


@pytest.mark.thorough
def test_a_file_that_is_no_notebook_is_a_result_too(made: Path, checkout: Path) -> None:
    (checkout / "midterm.ipynb").write_text("%PDF-1.7")
    assert autograde(made, checkout).returncode == 0
    assert result_of(checkout)["score"] == 0


@pytest.mark.thorough
def test_no_link_is_followed(made: Path, checkout: Path) -> None:
    """A runner of one's own may hold the files of others."""
    other = checkout.parent / "other"
    other.mkdir()
    (checkout / "midterm.ipynb").rename(other / "midterm.ipynb")
    (checkout / "midterm.ipynb").symlink_to(other / "midterm.ipynb")
    for key in ("", (made / "exam.key").read_text().strip()):
        done = autograde(made, checkout, GRADER_PACK_KEY=key)
        assert done.returncode == 2
        assert "is a symbolic link" in done.stderr
    assert not (checkout / "result.json").exists()


def test_the_folder_of_the_notebook_is_no_link_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grader.errors import SetupError
    from grader.integrations.github.autograding import require_no_links

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "exam.ipynb").write_text("{}")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "work").symlink_to(tmp_path / "other")
    monkeypatch.chdir(tmp_path / "mine")
    with pytest.raises(SetupError, match="is a symbolic link"):
        require_no_links(Path("work/exam.ipynb"))
    monkeypatch.chdir(tmp_path / "other")
    require_no_links(Path("exam.ipynb"))


def test_a_notebook_above_the_folder_is_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grader.errors import SetupError
    from grader.integrations.github.autograding import require_no_links

    (tmp_path / "mine" / "deep").mkdir(parents=True)
    (tmp_path / "mine" / "exam.ipynb").write_text("{}")
    (tmp_path / "exam.ipynb").write_text("{}")
    (tmp_path / "mine" / "link.ipynb").symlink_to("exam.ipynb")
    (tmp_path / "mine" / "away").symlink_to(tmp_path / "mine" / "deep")
    monkeypatch.chdir(tmp_path / "mine")
    for name in ("../exam.ipynb", "deep/../exam.ipynb", "./exam.ipynb", "deep/../../exam.ipynb"):
        assert Path(name).exists(), name
        require_no_links(Path(name))
    # With a link on it, `..` would lead out of what the link leads to.
    for name in ("away/../exam.ipynb", "deep/../link.ipynb", "../mine/link.ipynb"):
        with pytest.raises(SetupError, match="is a symbolic link"):
            require_no_links(Path(name))


@pytest.mark.thorough
@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("kind", ["link", "dangling link", "folder"])
def test_a_result_is_written_whatever_a_student_put_in_its_place(
    made: Path, checkout: Path, kind: str, sealed: bool
) -> None:
    aim = checkout.parent / "aim"
    aim.write_text("aim")
    for name in ("result.json", "release-body.md"):
        place = checkout / name
        if kind == "folder":
            place.mkdir()
            (place / "inside").write_text("x")
            (checkout / f"{name}.moved").write_text("taken")
        else:
            place.symlink_to(aim if kind == "link" else "/no/such/file")
    key = {"GRADER_PACK_KEY": (made / "exam.key").read_text().strip()} if sealed else {}
    done = autograde(made, checkout, **key)
    assert done.returncode == 0, done.stderr
    for name in ("result.json", "release-body.md"):
        assert (checkout / name).is_file()
        assert not (checkout / name).is_symlink()
        if kind == "folder":
            assert (checkout / f"{name}.moved-2" / "inside").read_text() == "x"
            assert f"the folder '{name}' was renamed" in done.stderr
    assert result_of(checkout)["score"] > 0
    assert aim.read_text() == "aim"


def test_a_students_files_are_no_repository_of_ours(tmp_path: Path) -> None:
    """Of a checkout without `.git`, files of a bare repository are taken for one by git."""
    from grader.integrations.github.autograding import commit_time

    git("init", "--quiet", "--bare", ".", cwd=tmp_path)
    tree = git("hash-object", "-t", "tree", "-w", "/dev/null", cwd=tmp_path)
    commit = git("commit-tree", tree, "-m", "x", cwd=tmp_path, when="2001-01-01T00:00:00Z")
    git("update-ref", "HEAD", commit, cwd=tmp_path)
    assert not commit_time(tmp_path).startswith("2001")


@pytest.mark.thorough
def test_what_is_our_fault_is_no_result(made: Path, checkout: Path) -> None:
    done = autograde(made, checkout, SUBMISSION_TAG="")
    assert done.returncode == 2
    assert "SUBMISSION_TAG" in done.stderr
    assert not (checkout / "result.json").exists()


@pytest.mark.thorough
def test_with_a_pack_and_its_key_the_hidden_tests_decide(made: Path, checkout: Path) -> None:
    from grader.errors import GraderError
    from grader.runtime.sandbox import choose_sandbox

    try:
        choose_sandbox("required")
    except GraderError as error:
        pytest.skip(f"the sandbox needs more than this machine offers: {error}")
    key = (made / "exam.key").read_text().strip()
    done = autograde(made, checkout, GRADER_PACK_KEY=key)
    assert done.returncode == 0, done.stderr
    data = result_of(checkout)
    assert data["score"] == data["max-score"] == 4800
    assert not any("public" in test["test-name"] for test in data["tests"])
    assert key not in done.stdout + done.stderr + (checkout / "result.json").read_text()
    # Another student's notebook earns what it is worth to this one, not what it was to them.
    wrong = autograde(made, checkout, GRADER_PACK_KEY=key, OWNER="eve", USERNAME="eve")
    assert wrong.returncode == 2
    assert "no student 'eve'" in wrong.stderr


@pytest.mark.thorough
def test_files_of_the_student_are_not_taken_for_modules_of_ours(made: Path, checkout: Path) -> None:
    mark = checkout.parent / "ran"
    evil = f"open({str(mark)!r}, 'w')\n"
    for name in (
        "click",
        "json",
        "importlib",
        "grader/__init__",
        "grader/__main__",
        "pip/__main__",
    ):
        path = checkout / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(evil)
    assert autograde(made, checkout).returncode == 0
    assert not mark.exists()


@pytest.mark.thorough
def test_the_bundle_which_everybody_can_read_holds_nothing_secret(made: Path) -> None:
    bundle = made / "course" / "classroom50"
    names = {path.name for path in bundle.iterdir()}
    assert names == {
        *("README.md", "autograder.py", "exam.pack", "requirements.txt", "assignment.json"),
    }
    release = json.loads((made / "release" / "release.json").read_text())
    secrets = [release["private_key"], (made / "exam.key").read_text().strip()]
    for path in bundle.iterdir():
        assert not any(one.encode() in path.read_bytes() for one in secrets)
    runtime = json.loads((bundle / "assignment.json").read_text())["runtime"]
    assert re.fullmatch(r"3\.\d+", runtime["python"])


ENTRY = {
    "type": "object",
    "required": ["slug", "name", "mode", "autograder"],
    "properties": {
        "slug": {"pattern": "^[a-z0-9][a-z0-9-]{1,38}$"},
        "name": {"type": "string", "minLength": 1},
        "template": {
            "type": "object",
            "additionalProperties": False,
            "required": ["owner", "repo", "branch"],
            "properties": {key: {"type": "string"} for key in ("owner", "repo", "branch")},
        },
        "due": {"pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
        "mode": {"enum": ["individual", "group"]},
        "submission_mode": {"enum": ["every-push", "tag"]},
        "runtime": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"python": {"pattern": "^[A-Za-z0-9._+-]{1,32}$"}, "runs-on": {}},
        },
    },
}
"""What an entry of classroom50/assignments/v1 has to be, as far as ours has it."""


def test_the_entry_of_the_assignment_and_where_its_repositories_are(
    made: Path, tmp_path: Path
) -> None:
    import jsonschema

    options = ["--host", "classroom50", "--classroom", "mlsys", "--owner", "org"]
    options += ["--deadline", "2026-12-01T23:59:00+01:00", "--assignment", "mid-1"]
    asked = ["--release", made / "release", *options, "--json"]
    notes = json.loads(ok("classroom", "init", tmp_path / "c", *asked).output)["notes"]
    entry = json.loads((tmp_path / "c/classroom50/assignment.json").read_text())
    jsonschema.validate(entry, ENTRY)
    assert (entry["slug"], entry["submission_mode"]) == ("mid-1", "tag")
    assert entry["due"] == "2026-12-01T22:59:00Z"
    assert entry["template"] == {"owner": "org", "repo": "mid-1-template", "branch": "main"}
    workflow = (tmp_path / "c/instructor/.github/workflows/grade.yml").read_text()
    # As Classroom 50 names them: <classroom>-<assignment>-<username>.
    assert 'URL: "https://github.com/org/mlsys-mid-1-{id}.git"' in workflow
    for said in ("submission_mode", "15 minutes", "integer points"):
        assert any(said in note for note in notes)


def test_our_limits_fit_into_the_jobs_time(made: Path) -> None:
    text = (made / "course" / "classroom50" / "autograder.py").read_text()
    limits = {
        name: int(value) for name, value in re.findall(r'^(\w*SECONDS) = "?(\d+)"?$', text, re.M)
    }
    assert set(limits) == {"SECONDS", "INSTALL_SECONDS", "NOTEBOOK_SECONDS"}
    assert limits["INSTALL_SECONDS"] + limits["NOTEBOOK_SECONDS"] < limits["SECONDS"] < 15 * 60


def test_a_run_that_takes_too_long_ends_with_a_reason_and_no_result(
    made: Path, checkout: Path, tmp_path: Path
) -> None:
    script = made / "course" / "classroom50" / "autograder.py"
    kept = script.read_text()
    try:
        script.write_text(re.sub(r"^SECONDS = \d+$", "SECONDS = 0.01", kept, flags=re.M))
        done = autograde(made, checkout)
    finally:
        script.write_text(kept)
    assert done.returncode == 1
    assert done.stderr.startswith("not graded: ")
    assert "Traceback" not in done.stderr
    assert not (checkout / "result.json").exists()


def test_a_bundle_that_is_not_downloaded_is_refused(made: Path, tmp_path: Path) -> None:
    pack = tmp_path / "exam.pack"
    pack.write_bytes((made / "exam.pack").read_bytes() + bytes(10 * 2**20))
    options = ["--host", "classroom50", "--classroom", "mlsys", "--pack", pack]
    asked = ["--release", made / "release", *options]
    error = run("classroom", "init", tmp_path / "course", *asked).exception
    assert isinstance(error, SetupError)
    assert "at most 10 MiB" in error.what
    assert not (tmp_path / "course").exists()


def test_staff_of_its_roster_take_no_exam(tmp_path: Path) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "username,first_name,last_name,email,section,github_id,role,status\n"
        "ada,Ada,Okafor,ada@uni.example,1,7,student,\n"
        "prof,Pia,Roth,,,8,teacher,\n"
        "tim,Tim,Wu,,,9,head-ta,\n"
        "bo,Bo,Lind,,,10,,\n"
    )
    done = ok("render", "midterm", "--roster", roster, "--out", tmp_path / "release")
    release = json.loads((tmp_path / "release" / "release.json").read_text())
    assert [(s["id"], s["name"]) for s in release["students"]] == [
        ("ada", "Ada Okafor"),
        ("bo", "Bo Lind"),
    ]
    assert "note: prof (teacher) gets no exam" in done.stderr
    assert "tim (head-ta)" in done.stderr


def test_only_a_sealed_pack_gets_into_it(made: Path, tmp_path: Path) -> None:
    from grader.cli import main

    release = made / "release" / "release.json"
    options = ["--host", "classroom50", "--pack", str(release)]
    with pytest.raises(SystemExit) as stop:
        main(["classroom", "init", str(tmp_path / "c"), "--release", str(release), *options])
    assert stop.value.code == 2
    assert not (tmp_path / "c" / "classroom50").exists()


@pytest.mark.skipif(
    not CHECKOUT.is_dir(), reason="GRADER_CLASSROOM50 names no checkout of foundation50/classroom50"
)
def test_the_real_runner_runs_it(
    made: Path, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runner of Classroom 50 fetches the bundle from a server here and executes it."""
    pages = tmp_path / "pages"
    (pages / "mlsys" / "autograders").mkdir(parents=True)
    with tarfile.open(pages / "mlsys" / "autograders" / "midterm.tar.gz", "w:gz") as bundle:
        bundle.add(made / "course" / "classroom50", arcname="midterm")
    path = CHECKOUT / "cli/gh-teacher/skeleton/dotgithub/scripts/runner.py"
    spec = importlib.util.spec_from_file_location("classroom50_runner", path)
    assert spec
    assert spec.loader
    real = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, real)
    spec.loader.exec_module(real)
    output = tmp_path / "output"
    output.touch()
    handler = partial(SimpleHTTPRequestHandler, directory=str(pages))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = {
            **IDENTITY,
            "PAGES_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}",
            "GITHUB_REPOSITORY": "org/mlsys-midterm-ada",
            "GITHUB_SHA": git("rev-parse", "HEAD", cwd=checkout),
            "GITHUB_OUTPUT": str(output),
            "RUNNER_TEMP": str(tmp_path / "runner"),
            "MODE": "individual",
        }
        for name, value in here.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(checkout)
        monkeypatch.setattr(sys, "argv", ["runner.py"])
        assert real.main() == 0
        server.shutdown()
    assert "status=success" in output.read_text()
    data = json.loads((checkout / "result.json").read_text())
    assert data["owner"] == "ada"
    assert data["score"] == data["max-score"] > 0


@pytest.mark.parametrize(
    ("option", "name"),
    [("--classroom", "CLASSROOM"), ("--assignment", "Mid_Term"), ("--assignment", "a" * 40)],
)
def test_a_name_that_classroom_50_stops_at_is_refused_before_it_is_given_out(
    made: Path, tmp_path: Path, option: str, name: str
) -> None:
    names = {"--classroom": "mlsys", "--assignment": "midterm", option: name}
    asked = ["--release", made / "release", "--host", "classroom50", *sum(names.items(), ())]
    error = run("classroom", "init", tmp_path / "course", *asked).exception
    assert isinstance(error, SetupError)
    assert f"{option} '{name}' is not a valid name in Classroom 50" in str(error)
    assert not (tmp_path / "course").exists()


def test_names_that_are_too_long_together_are_refused(made: Path, tmp_path: Path) -> None:
    names = ["--classroom", "c" * 30, "--assignment", "a" * 30]
    asked = ["--release", made / "release", "--host", "classroom50", *names]
    error = run("classroom", "init", tmp_path / "course", *asked).exception
    assert "more than 59 characters" in str(error)


@pytest.mark.slow
def test_what_the_bundle_installs_opens_a_sealed_pack(
    made: Path, checkout: Path, tmp_path: Path
) -> None:
    """A wheel of this checkout in a new environment, by the bundle's own requirements."""
    from grader.errors import GraderError
    from grader.integrations.install import source_of
    from grader.runtime.sandbox import choose_sandbox

    try:
        choose_sandbox("required")
    except GraderError as error:
        pytest.skip(f"the sandbox needs more than this machine offers: {error}")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", f"--wheel-dir={tmp_path}", str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    course = tmp_path / "course"
    asked = ["--release", made / "release", "--host", "classroom50", "--classroom", "mlsys"]
    asked += ["--pack", made / "exam.pack", "--grader-source", source_of(str(wheel)).url]
    ok("classroom", "init", course, *asked)
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    key = (made / "exam.key").read_text().strip()
    python = str(venv / "bin" / "python")
    for _ in range(2):  # the second time it is installed already
        done = autograde(tmp_path, checkout, GRADER_PACK_KEY=key, python=python)
        assert done.returncode == 0, done.stderr
        data = result_of(checkout)
        assert data["score"] == data["max-score"] == 4800
