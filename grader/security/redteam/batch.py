"""One call of `grader grade` on the made-up course, in a separate process."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from grader.security.redteam.course import RedTeamCourse
from grader.security.redteam.judge import SubmissionResult, read_results

_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackSettings:
    """The settings of the suite."""

    sandbox: str = "auto"
    selection: tuple[str, ...] = ()
    """Classes or names of attacks; empty for all."""
    slow: bool = True
    """Whether to include attacks that take longer than a few seconds."""
    jobs: int = 4
    cell_seconds: float = 2.0
    notebook_seconds: float = 20.0
    memory_gb: float = 1.0
    most_seconds: float = 1800.0
    """Time limit of a batch, after which it counts as stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedBatch:
    """The outcome of the call, and its results folder."""

    out: Path
    code: int | None
    """Its exit status; None if it had to be ended."""
    errors: str
    memory: int
    """Peak memory of the grader itself in bytes; 0 if unknown."""
    results: dict[str, SubmissionResult] = field(default_factory=dict)


def grade_course(
    course: RedTeamCourse, submissions: Path, out: Path, terms: AttackSettings
) -> GradedBatch:
    """Calls the command as an instructor would, next to files that attackers try to steal."""
    command = [
        *(sys.executable, "-P", "-m", "grader", "grade", str(submissions)),
        *("--release", str(course.folder / "release" / "release.json"), "--out", str(out)),
        *("--sandbox", terms.sandbox, "--jobs", str(terms.jobs), "--json"),
        *("--cell-seconds", f"{terms.cell_seconds:g}"),
        *("--notebook-seconds", f"{terms.notebook_seconds:g}"),
        *("--memory-gb", f"{terms.memory_gb:g}"),
    ]
    environment = {
        **{name: value for name, value in os.environ.items() if name != "GRADER_BANK"},
        "HOME": str(course.home),
        "TMPDIR": str(course.scratch),
        "GRADER_ATTACK_SECRET": course.canaries["environment"],
    }
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(  # noqa: S603  # our own command
            command,
            cwd=course.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
        )
        code, memory = _wait_and_measure(process, terms.most_seconds)
        output.seek(0)
        errors = output.read().decode("utf-8", "replace")
    if code is None:
        errors += f"did not end within {terms.most_seconds:g} s"
    results = read_results(out, course) if (out / "gradebook.sqlite").exists() else {}
    return GradedBatch(out=out, code=code, errors=errors, memory=memory, results=results)


def _wait_and_measure(process: subprocess.Popen[bytes], seconds: float) -> tuple[int | None, int]:
    """Returns the exit status (None if time ran out), and the peak memory of the process in
    bytes."""
    end, memory = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        memory = max(memory, _peak_memory(process.pid))
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(_LOOK_SECONDS), memory
    process.kill()
    process.wait()
    return None, memory


def _peak_memory(pid: int) -> int:
    """Returns the peak memory of the process *pid* in bytes; 0 if it is unknown."""
    with contextlib.suppress(OSError):
        match = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(match[1]) * 1024 if match else 0
    return 0
