"""Where pip gets the grader from, and that nothing tells anybody to install it by its name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from grader.errors import SetupError
from grader.integrations import install
from grader.integrations.github.class_files import (
    classroom50_files,
    instructor_files,
    student_files,
)
from grader.integrations.install import Source, chosen_source, own_source, source_of
from tests.helpers.classroom import ROOT, SOURCE, TEMPLATES, a_course, git, parsed, run_step
from tests.helpers.commands import ok

COMMIT, DIGEST = "0123456789" * 4, "f" * 64
BY_NAME = re.compile(
    # `pip install systems-grader`, a line of requirements that has no address, a default.
    r"pip3? install[^\n|]*\bsystems[-_]grader(?!\S* @ )"
    r"|^\s*systems-grader(\[[\w,-]+\])?\s*([=<>~!].*)?$"
    r"|default: systems-grader",
    re.M,
)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (f"https://example.org/g@{COMMIT}", f"git+https://example.org/g@{COMMIT}"),
        (f"git+https://example.org/g.git@{COMMIT}", f"git+https://example.org/g.git@{COMMIT}"),
        (f"https://example.org/a-1-py3-none-any.whl#sha256={DIGEST}", None),
    ],
)
def test_an_address_that_never_changes_is_taken(text: str, url: str | None) -> None:
    assert source_of(text).url == (url or text)


@pytest.mark.parametrize(
    "text",
    [
        "systems-grader",
        "systems-grader==0.1.0",
        "https://example.org/g",
        "https://example.org/g@main",
        f"https://example.org/g@{COMMIT[:12]}",
        f"https://me:token@example.org/g@{COMMIT}",
        f"http://example.org/g@{COMMIT}",
        "https://example.org/a.whl",
        f"https://example.org/a.whl#md5={DIGEST}",
        f"https://example.org/g@{COMMIT}\nevil",
        f"https://example.org/$(id)@{COMMIT}",
    ],
)
def test_a_name_and_an_address_that_may_change_are_refused(text: str) -> None:
    with pytest.raises(SetupError, match="does not pin") as error:
        source_of(text)
    assert "URL@COMMIT" in str(error.value.fix)


def test_a_wheel_is_named_with_its_hash_and_read_only_if_it_has_it(tmp_path: Path) -> None:
    wheel = tmp_path / "systems_grader-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    source = source_of(str(wheel))
    assert source.wheel == wheel
    assert source.wheel_bytes() == b"wheel"
    wheel.write_bytes(b"another")
    with pytest.raises(SetupError, match="does not match the given hash"):
        source.wheel_bytes()
    with pytest.raises(SetupError, match="can't read the wheel"):
        source_of(str(tmp_path / "none.whl"))


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout that the package seems to run from, whose commit its origin has."""
    monkeypatch.delenv("GRADER_SOURCE")
    work = tmp_path / "work"
    (work / "grader").mkdir(parents=True)
    (work / "grader" / "a.py").write_text("a = 1\n")
    git("init", "--quiet", "--initial-branch=main", cwd=work)
    git("add", "--all", cwd=work)
    git("commit", "--quiet", "--message=one", cwd=work)
    git("remote", "add", "origin", "git@example.org:org/grader.git", cwd=work)
    git("update-ref", "refs/remotes/origin/main", "HEAD", cwd=work)
    monkeypatch.setattr(install, "PACKAGE", work / "grader")
    return work


def test_a_checkout_knows_its_origin_and_commit(checkout: Path) -> None:
    head = git("rev-parse", "HEAD", cwd=checkout)
    found = chosen_source("")
    assert found == Source(f"git+https://example.org/org/grader.git@{head}")
    (checkout / "grader" / "a.py").write_text("a = 2\n")
    assert "not committed" in own_source().note
    git("remote", "set-url", "origin", "https://me:token@example.org/org/grader", cwd=checkout)
    assert own_source().url == f"git+https://example.org/org/grader@{head}"


def test_what_only_this_machine_has_is_refused(checkout: Path) -> None:
    git("commit", "--quiet", "--allow-empty", "--message=two", cwd=checkout)
    with pytest.raises(SetupError, match="on no branch of its 'origin'"):
        own_source()
    git("remote", "set-url", "origin", str(checkout), cwd=checkout)
    with pytest.raises(SetupError, match="no https address"):
        own_source()
    git("remote", "remove", "origin", cwd=checkout)
    with pytest.raises(SetupError, match="no remote 'origin'") as error:
        own_source()
    assert "--grader-source" in str(error.value.fix)


@pytest.mark.parametrize(
    ("noted", "url"),
    [
        (
            {
                "url": "https://me:token@example.org/g.git",
                "vcs_info": {"vcs": "git", "commit_id": COMMIT},
            },
            f"git+https://example.org/g.git@{COMMIT}",
        ),
        (
            {"url": "https://example.org/a.whl", "archive_info": {"hashes": {"sha256": DIGEST}}},
            f"https://example.org/a.whl#sha256={DIGEST}",
        ),
        (
            {"url": "https://example.org/a.whl", "archive_info": {"hash": f"sha256={DIGEST}"}},
            f"https://example.org/a.whl#sha256={DIGEST}",
        ),
        ({"url": "file:///home/me/grader", "dir_info": {}}, None),
        ({"url": "https://example.org/a.whl", "archive_info": {}}, None),
        ([], None),
        (None, None),
    ],
)
def test_an_installed_package_knows_what_pip_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: object, url: str | None
) -> None:
    made = tmp_path / "systems_grader-0.1.0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: systems-grader\nVersion: 0.1.0\n")
    if noted is not None:
        (made / "direct_url.json").write_text(json.dumps(noted))
    (tmp_path / "grader").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(install, "PACKAGE", tmp_path / "grader")
    if url is not None:
        assert own_source().url == url
        return
    with pytest.raises(SetupError, match="no source that students can install"):
        own_source()


def generated() -> dict[str, str]:
    """Every file that is written for a class, and every page and workflow of the project."""
    course = a_course()
    made = {
        **{f"student/{n}": d for n, d in student_files(course, TEMPLATES).items()},
        **{f"instructor/{n}": d for n, d in instructor_files(course, TEMPLATES).items()},
        **{f"classroom50/{n}": d for n, d in classroom50_files(course, "org", TEMPLATES).items()},
    }
    texts = {name: data.decode() for name, data in made.items()}
    tracked = git("ls-files", cwd=ROOT).splitlines()
    ends = (".py", ".md", ".yml", ".yaml", ".j2", ".toml", ".txt", ".json")
    for name in tracked:
        if name.endswith(ends) and not name.startswith(("tests/", "CHANGELOG")):
            texts[name] = (ROOT / name).read_text(encoding="utf-8")
    return texts


@pytest.mark.thorough
def test_nothing_installs_the_grader_by_its_name() -> None:
    texts = generated()
    assert {"student/requirements.txt", "classroom50/autograder.py", "README.md"} <= set(texts)
    found = {name: BY_NAME.findall(text) for name, text in texts.items() if BY_NAME.search(text)}
    assert found == {}
    for name in ("student", "instructor", "classroom50"):
        assert f"@ {SOURCE.url}\n" in texts[f"{name}/requirements.txt"]
    assert texts["classroom50/requirements.txt"].startswith("systems-grader[classroom] @ ")


@pytest.mark.parametrize(
    "text",
    [
        "pip install systems-grader",
        "python -m pip install -q 'systems-grader[torch]'",
        "systems-grader==0.1.0\n",
        "        default: systems-grader\n",
    ],
)
def test_the_search_finds_a_name(text: str) -> None:
    assert BY_NAME.search(text)


def test_the_workflows_that_hand_out_name_the_same_source(tmp_path: Path) -> None:
    release, made = tmp_path / "release", tmp_path / "made"
    ok("render", "midterm", "--student", "ada", "--out", release)
    ok("classroom", "init", made, "--release", release)
    workflow = (made / "instructor/.github/workflows/handout.yml").read_text()
    url = chosen_source("").url
    assert f"--grader-source {url}" in workflow
    # What was not asked for is found anew by the next run, which may be of a newer version.
    assert "grader_source" not in (made / "instructor/classroom.json").read_text()


def test_a_class_is_refused_where_nobody_knows_the_source(
    tmp_path: Path, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.helpers.commands import fails

    git("remote", "remove", "origin", cwd=checkout)
    release, made = tmp_path / "release", tmp_path / "made"
    ok("render", "midterm", "--student", "ada", "--out", release)
    assert "--grader-source" in fails(capsys, "classroom", "init", made, "--release", release)
    wheel = tmp_path / "systems_grader-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a", "b")
    here = ("classroom", "init", made, "--release", release, "--grader-source", wheel)
    assert "is only on this machine" in fails(capsys, *here)
    assert not made.exists()
    # The zip of Gradescope's autograder takes it along.
    out = tmp_path / "a.zip"
    ok("classroom", "gradescope", release, "--out", out, "--grader-source", wheel)
    with zipfile.ZipFile(out) as made_zip:
        assert made_zip.read("requirements.txt").decode() == f"./wheels/{wheel.name}\n"
        assert made_zip.read(f"wheels/{wheel.name}") == wheel.read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="the runners have bash")
@pytest.mark.parametrize(
    ("source", "code"),
    [
        (f"git+https://example.org/g@{COMMIT}", 0),
        (f"https://example.org/a.whl#sha256={DIGEST}", 0),
        ("systems-grader", 2),
        ("", 2),
        ("git+https://example.org/g@main", 2),
        ("https://example.org/a.whl", 2),
    ],
)
def test_the_reusable_workflow_installs_what_is_pinned_alone(
    tmp_path: Path, source: str, code: int
) -> None:
    workflow = parsed((ROOT / ".github/workflows/grade.yml").read_text(encoding="utf-8"))
    step = next(s for s in workflow["jobs"]["grade"]["steps"] if s["name"] == "Install")
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.defpath}"}
    done = run_step(step, tmp_path, {**path, "inputs_grader_source": source})
    assert done.returncode == code, done.stderr
    assert (f"systems-grader[classroom] @ {source}" in done.stdout) is (code == 0)
    declared = workflow["on"]["workflow_call"]["inputs"]["grader_source"]
    assert declared["required"]
    assert "default" not in declared


def test_an_earlier_class_that_named_a_package_is_still_read(tmp_path: Path) -> None:
    from grader.integrations.github.options import load_previous

    options = {"install": "systems-grader==0.1.0", "owner": "org"}
    data = {"schema": "systems-grader/classroom/v1", "options": options, "template_notebooks": []}
    (tmp_path / "classroom.json").write_text(json.dumps(data))
    assert load_previous(tmp_path)[0].owner == "org"
    assert load_previous(tmp_path)[0].grader_source == ""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="paths of files as addresses")
def test_pip_refuses_a_wheel_with_another_hash(tmp_path: Path) -> None:
    wheel = tmp_path / "systems_grader-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"one")
    wanted = source_of(str(wheel)).requirement()
    wheel.write_bytes(b"two")
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(tmp_path / "to")]
    done = subprocess.run([*pip, wanted], capture_output=True, text=True)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
