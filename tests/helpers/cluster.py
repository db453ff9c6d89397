"""Dask clusters of this machine, whose parts are processes that tests can kill."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.grading.batch import execute_all
from grader.grading.settings import Settings
from grader.model import Limits, Outcome, Submission
from tests.helpers.commands import run
from tests.helpers.kernels import until
from tests.helpers.notebooks import a_notebook


@dataclass
class Cluster:
    """A scheduler and its workers, as processes of their own."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]

    @property
    def spec(self) -> str:
        return f"dask:{self.address}"


def dask(
    stack: ExitStack,
    folder: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    inside: Sequence[str] = (),
) -> subprocess.Popen[bytes]:
    """Starts a command of Dask, which ends with *stack*."""
    with (folder / f"{arguments[0]}.log").open("ab") as log:
        process = subprocess.Popen(
            [*inside, sys.executable, "-m", "dask", *arguments],
            stdout=log,
            stderr=log,
            cwd=folder,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
    stack.callback(process.wait)
    stack.callback(end, process)
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    """Kills a process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def handed_in(folder: Path, count: int, source: str = "") -> list[Submission]:
    made = []
    for number in range(count):
        data = a_notebook(f"{source}\nq1_x = {number}")
        path = folder / f"s{number}.ipynb"
        path.write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        made.append(Submission(student=path.stem, path=str(path), sha256=digest))
    return made


def settings(spec: str, jobs: int | None = None) -> Settings:
    return Settings(limits=Limits(cell_seconds=60), sandbox="off", executor=spec, jobs=jobs)


def answers(todo: list[Submission], how: Settings) -> dict[str, Any]:
    found = [(one.student, each) for one, each in execute_all(todo, ("q1_x",), how)]
    assert len(found) == len({student for student, _ in found}), "filed more than once"
    return {s: e.answers["q1_x"].raw if e.outcome is Outcome.FINISHED else e.note for s, e in found}


def right(todo: list[Submission]) -> dict[str, Any]:
    return {one.student: {"t": "int", "v": one.student[1:]} for one in todo}


@contextlib.contextmanager
def a_cluster(
    folder: Path,
    *options: str,
    workers: int = 2,
    threads: int = 1,
    dashboard: bool = False,
    **env: str,
) -> Iterator[Cluster]:
    """A scheduler with workers, in *folder*; *options* are those of the scheduler."""
    with ExitStack() as stack:
        file = folder / "scheduler.json"
        quiet = [] if dashboard else ["--no-dashboard"]
        scheduler = dask(
            stack, folder, "scheduler", "--scheduler-file", str(file),
            "--host", "127.0.0.1", "--port", "0", *quiet, *options, env=env,
        )  # fmt: skip
        assert until(lambda: file.exists() and file.stat().st_size > 0, 60)
        address = json.loads(file.read_text())["address"]
        found = [
            dask(
                stack, folder, "worker", address, "--nthreads", str(threads), "--no-dashboard",
                env=env,
            )
            for _ in range(workers)
        ]  # fmt: skip
        yield Cluster(address, scheduler, found)


def workers_of(cluster: Cluster) -> list[dict[str, Any]]:
    """What the command says of each worker."""
    found: list[dict[str, Any]] = json.loads(
        run("doctor", "--executor", cluster.spec, "--json").output
    )["workers"]
    return found
