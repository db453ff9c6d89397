"""Grading on the workers of a Dask cluster: the same marks, whatever dies."""

from __future__ import annotations

import os
import pickle
import platform
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.errors import GraderError, SetupError
from grader.grading import batch
from grader.grading.batch import execute_all
from grader.integrations.cluster import environments
from grader.integrations.cluster.environments import Worker
from grader.runtime import executors
from tests.helpers.cluster import (
    Cluster,
    a_cluster,
    answers,
    dask,
    end,
    handed_in,
    right,
    settings,
    workers_of,
)
from tests.helpers.commands import ok, run
from tests.helpers.kernels import until

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(os.name != "posix", reason="kills processes"),
]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with a_cluster(tmp_path) as found:
        yield found


def test_workers_without_our_disk_give_the_same_answers(tmp_path: Path) -> None:
    todo = handed_in(tmp_path, 5)
    found = dict(execute_all(todo, ("q1_x",), settings("dask", 2)))
    assert {s.student: e.answers["q1_x"].raw for s, e in found.items()} == right(todo)
    assert {e.environment["host"] for e in found.values()} == {platform.node()}


def test_a_worker_that_is_killed_costs_nobody_a_mark(tmp_path: Path, cluster: Cluster) -> None:
    todo = handed_in(tmp_path, 6, "import time; time.sleep(0.5)")
    running = execute_all(todo, ("q1_x",), settings(cluster.spec))
    found = dict([next(running)])
    end(cluster.workers[0])
    for submission, evidence in running:
        assert submission not in found
        found[submission] = evidence
    assert {s.student: e.answers["q1_x"].raw for s, e in found.items()} == right(todo)


def test_a_task_that_kills_its_workers_is_given_up_and_the_others_finish(cluster: Cluster) -> None:
    with executors.open(cluster.spec) as pool:
        poisoned: Future[Any] = pool.submit(os._exit, 1)
        others = [pool.submit(pow, n, 2) for n in range(10)]
        assert isinstance(poisoned.exception(timeout=120), GraderError)
        # Whatever a dying worker held may be blamed as well; a batch then runs it once more, alone.
        for n, other in enumerate(others):
            done = pool.submit(pow, n, 2) if other.exception(timeout=120) else other
            assert done.result(timeout=120) == n * n


def test_without_its_scheduler_a_run_says_how_to_go_on(tmp_path: Path, cluster: Cluster) -> None:
    todo = handed_in(tmp_path, 6, "import time; time.sleep(0.5)")
    running = execute_all(todo, ("q1_x",), settings(cluster.spec))
    next(running)
    end(cluster.scheduler)
    with pytest.raises(SetupError, match="scheduler was lost") as error:
        for _ in running:
            pass
    assert "continues where it stopped" in str(error.value.fix)


def test_a_scheduler_file_names_the_cluster(tmp_path: Path, cluster: Cluster) -> None:
    assert cluster.address
    todo = handed_in(tmp_path, 1)
    assert answers(todo, settings(f"dask:{tmp_path / 'scheduler.json'}")) == right(todo)


def test_a_python_file_starts_a_cluster_that_ends_with_the_run(tmp_path: Path) -> None:
    todo, file = handed_in(tmp_path, 2), tmp_path / "cluster.py"
    file.write_text(
        "from distributed.deploy.subprocess import SubprocessCluster\n"
        "cluster = SubprocessCluster(n_workers=1, threads_per_worker=2)\n"
    )
    assert answers(todo, settings(f"dask:{file}")) == right(todo)
    assert "ok" in ok("doctor", "--executor", f"dask:{file}").output
    children = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert not [line for line in children.stdout.splitlines() if str(tmp_path) in line]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1 / 0", "can't start a cluster: ZeroDivisionError"),
        ("x = 1", "defines no variable `cluster`"),
        (None, "there is no such file"),
    ],
)
def test_a_file_that_starts_no_cluster_is_named(
    tmp_path: Path, text: str | None, complaint: str
) -> None:
    file = tmp_path / "cluster.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SetupError, match=complaint) as error:
        executors.open(f"dask:{file}")
    assert error.value.where == str(file)


def test_where_no_scheduler_answers_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.integrations.cluster.connections._CONNECT_SECONDS", 1)
    begin = time.monotonic()
    with pytest.raises(
        SetupError, match=r"no Dask workers can be reached at 'tcp://127\.0\.0\.1:9'"
    ):
        executors.open("dask:tcp://127.0.0.1:9")
    assert time.monotonic() - begin < 60  # it ends at all, on a machine however busy


def test_workers_with_other_versions_are_named(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = environments.describe_environment()
    monkeypatch.setattr(environments, "wanted_environment", lambda: {**here, "numpy": "0.9"})
    with pytest.raises(SetupError, match=r"tcp://.*: numpy .* instead of 0\.9"):
        answers(handed_in(tmp_path, 1), settings(cluster.spec))
    listed = run("doctor", "--executor", cluster.spec)
    assert listed.return_value == 1
    assert "instead of 0.9" in listed.output


def test_the_doctor_lists_every_worker(cluster: Cluster) -> None:
    assert until(lambda: len(workers_of(cluster)) == 2, 60)
    assert [one["differences"] for one in workers_of(cluster)] == [[], []]
    assert {one["threads"] for one in workers_of(cluster)} == {1}
    table = ok("doctor", "--executor", cluster.spec).output
    assert table.count("tcp://127.0.0.1") == 2


def test_parts_for_a_gpu_go_to_the_worker_that_has_one(tmp_path: Path, cluster: Cluster) -> None:
    todo = handed_in(tmp_path, 1)
    for_gpu = replace(settings(cluster.spec), device="cuda")
    with pytest.raises(SetupError, match="no worker declares a GPU"):
        answers(todo, for_gpu)
    with ExitStack() as stack:
        special(stack, tmp_path, cluster, "GPU=1")
        with executors.open(cluster.spec) as pool:
            assert isinstance(pool, executors.RemoteExecutor)
            on_gpu = {pool.submit_for(GPU, host_of, n).result() for n in range(4)}
            usual = {pool.submit_for(USUAL, host_of, n).result() for n in range(8)}
        assert len(on_gpu) == 1
        assert not on_gpu & usual


def test_measurements_go_to_a_quiet_worker_if_there_is_one(
    tmp_path: Path, cluster: Cluster
) -> None:
    with ExitStack() as stack, executors.open(cluster.spec) as pool:
        assert isinstance(pool, executors.RemoteExecutor)
        anywhere = pool.submit_for(MEASURED, host_of, 0).result()
        special(stack, tmp_path, cluster, "QUIET=1")
        time.sleep(3)
        assert pool.workers == 3
        quiet = {pool.submit_for(MEASURED, host_of, n).result() for n in range(4)}
    assert len(quiet) == 1
    assert anywhere not in quiet


def test_a_worker_without_the_sandbox_gets_no_work() -> None:
    fit = Worker(address="tcp://fit", versions=environments.describe_environment())
    less = replace(fit, address="tcp://less", sandbox_error="no namespaces")
    needs = executors.WorkerNeeds(sandbox="required")
    environments.require_same([fit, less], sandbox="required")
    assert environments.choose_workers([fit, less], needs) == {"workers": ["tcp://fit"]}
    with pytest.raises(SetupError, match="no worker has what --sandbox required asks for"):
        environments.require_same([less], sandbox="required")


GPU = executors.WorkerNeeds(sandbox="off", gpu=True)
MEASURED = executors.WorkerNeeds(sandbox="off", quiet=True)
USUAL = executors.WorkerNeeds(sandbox="off")


def host_of(_: int) -> int:
    return os.getpid()


def special(stack: ExitStack, folder: Path, cluster: Cluster, declares: str) -> None:
    """Starts another worker, and waits for it."""
    dask(
        stack, folder, "worker", cluster.address, "--nthreads", "1", "--no-dashboard",
        "--resources", declares,
    )  # fmt: skip
    assert until(lambda: len(workers_of(cluster)) == 3, 60)


def test_a_job_holds_the_notebook_and_no_other_submission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bytes] = []

    class Recording(executors.RemoteExecutor, executors.InlineExecutor):
        workers = 1

        def submit_for(self, _needs: Any, fn: Any, /, *args: Any, **more: Any) -> Future[Any]:
            sent.append(pickle.dumps((args, more)))
            return self.submit(fn, *args, **more)

    monkeypatch.setattr(executors.executors, "_registered", {"record": lambda *_: Recording()})
    monkeypatch.setattr(batch, "load_submission", lambda one: Path(one.path).read_bytes())
    todo = handed_in(tmp_path, 2, "# MARK OF {}")
    assert answers(todo, settings("record", 1)) == right(todo)
    texts = [Path(one.path).read_bytes() for one in todo]
    assert [text in data for data in sent for text in texts] == [True, False, False, True]
