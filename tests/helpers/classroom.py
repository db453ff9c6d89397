"""Workflows and their steps, and real repositories on this disk, for tests of classes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from grader.integrations.github.class_files import instructor_files, student_files
from grader.integrations.github.options import ClassroomCourse
from grader.integrations.install import Source

ROOT = Path(__file__).parents[2]
TEMPLATES = (ROOT / "templates",)
SOURCE = Source(f"git+https://example.org/teaching/grader@{'0123456789' * 4}")


def a_course(**changes: Any) -> ClassroomCourse:
    """A course with everything in it."""
    fields: dict[str, Any] = {
        "title": "Midterm: memory & time",
        "notebook": "midterm.ipynb",
        "url": "https://github.com/org/midterm-{id}.git",
        "source": SOURCE,
        "deadline": "2026-12-01T23:59:00+01:00",
        "schedule": "5 23 * * *",
        "torch": True,
        "cuda": True,
        **changes,
    }
    return ClassroomCourse(**fields)


def workflow_texts() -> Iterator[tuple[str, str]]:
    """Every workflow of the project and of its templates: name and text."""
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        yield f"project/{path.name}", path.read_text(encoding="utf-8")
    plain = {"cuda": False, "torch": False, "schedule": "", "deadline": ""}
    for kind, course in (("full", a_course()), ("plain", a_course(**plain))):
        made = {
            **{f"student/{n}": d for n, d in student_files(course, TEMPLATES).items()},
            **{f"instructor/{n}": d for n, d in instructor_files(course, TEMPLATES).items()},
        }
        for name, data in made.items():
            if "/workflows/" in name:
                yield f"{kind}/{name}", data.decode()


def parsed(text: str) -> dict[str, Any]:
    """A workflow as data; YAML 1.1 takes the key `on` for a truth value."""
    data = yaml.safe_load(text)
    data["on"] = data.pop(True, data.get("on"))
    return data


def steps_of(workflow: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every step with the name of its job."""
    for name, job in workflow["jobs"].items():
        for step in job.get("steps", ()):
            yield name, step


def git(*arguments: str, cwd: Path, when: str = "2026-01-01T00:00:00Z", **extra: str) -> str:
    """What git prints; commits are Ada's, at *when*."""
    who = {
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.edu",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.edu",
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_DATE": when,
        "GIT_CONFIG_GLOBAL": os.devnull,
        **extra,
    }
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, env={**os.environ, **who}, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


class Remote:
    """A bare repository as a server has it, and a clone to push from."""

    def __init__(self, folder: Path, name: str, *, filters: bool = True):
        self.bare = folder / "server" / f"{name}.git"
        self.work = folder / "work" / name
        self.bare.mkdir(parents=True)
        self.work.mkdir(parents=True)
        git("init", "--quiet", "--bare", "--initial-branch=main", cwd=self.bare)
        if filters:  # as GitHub's servers do
            git("config", "uploadpack.allowFilter", "true", cwd=self.bare)
            git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=self.bare)
        git("init", "--quiet", "--initial-branch=main", cwd=self.work)

    @property
    def url(self) -> str:
        return self.bare.as_uri()

    def write(self, files: Mapping[str, bytes | str]) -> None:
        for name, data in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode() if isinstance(data, str) else data)

    def push(self, files: Mapping[str, bytes | str] | None = None, when: str = "") -> str:
        """Commits everything and pushes it; the commit's name."""
        self.write(files or {})
        stamp = {"when": when} if when else {}
        git("add", "--all", "--force", cwd=self.work, **stamp)
        git("commit", "--quiet", "--allow-empty", "--message=work", cwd=self.work, **stamp)
        git("push", "--quiet", self.url, "HEAD:main", cwd=self.work)
        return git("rev-parse", "HEAD", cwd=self.work)


def run_step(
    step: Mapping[str, Any], cwd: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """One `run:` step as a runner does it: bash with -e and pipefail, and its `env:` filled in."""
    own = {k: _filled(str(v), environment) for k, v in step.get("env", {}).items()}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=cwd,
        env={**environment, **own},
        capture_output=True,
        text=True,
        timeout=600,
    )


_EXPRESSION = re.compile(r"\$\{\{\s*(vars|secrets|inputs)\.(\w+)[^}]*\}\}")


def _filled(text: str, environment: Mapping[str, str]) -> str:
    """Variables, secrets and inputs from the environment of the test, as vars_NAME and so on."""
    return _EXPRESSION.sub(lambda m: environment.get(f"{m[1]}_{m[2]}", ""), text)


def runner(folder: Path, workspace: Path, **more: str) -> dict[str, str]:
    """The environment of a step on a runner."""
    temporary = folder / "runner"
    temporary.mkdir(exist_ok=True)
    files = {
        f"GITHUB_{name}": str(temporary / name.lower())
        for name in ("OUTPUT", "STEP_SUMMARY", "ENV", "PATH", "STATE")
    }
    for path in files.values():
        Path(path).touch()
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}",
        "HOME": str(folder / "home"),
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(workspace),
        "RUNNER_TEMP": str(temporary),
        "RUNNER_OS": "Linux",
        **files,
        **more,
    }


CLASSROOM50_ENVIRONMENT = {
    "CLASSROOM": "mlsys",
    "ASSIGNMENT": "midterm",
    "ASSIGNMENT_TYPE": "individual",
    "USERNAME": "ada",
    "OWNER": "ada",
    "SUBMISSION_TAG": "submit/20261102T090000Z-abc1234",
    "COMMIT_URL": "https://git.example/mlsys-midterm-ada/commit/abc1234",
    "RELEASE_URL": "https://git.example/mlsys-midterm-ada/releases/tag/submit",
    "REVIEW_URL": "https://git.example/mlsys-midterm-ada/compare/a...b",
    "GITHUB_ACTOR": "ada",
    "GITHUB_ACTOR_ID": "42",
}
