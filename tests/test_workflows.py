"""The project's workflows and those that it writes: shape, pins, rights, and actionlint."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.export.classroom import instructor_files
from tests.builders_classroom import TEMPLATES, a_course, parsed, steps_of, workflow_texts

WORKFLOWS = list(workflow_texts())
NAMES = [name for name, _ in WORKFLOWS]
_PINNED = re.compile(r"uses: ([\w./-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+$")


def test_there_are_workflows_to_look_at() -> None:
    assert {"project/ci.yml", "project/grade.yml"} <= set(NAMES)
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
        assert not writes or (name == "keep" and writes == {"contents"}), name
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


def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    beside = Path(sys.executable).parent / "actionlint"
    tool = str(beside) if beside.exists() else shutil.which("actionlint")
    if tool is None:
        pytest.skip("actionlint is not installed; CI runs it")
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
