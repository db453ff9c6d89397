"""What goes wrong with one submission of a batch costs nobody else anything, and is no zero."""

from __future__ import annotations

import hashlib
import sys
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.errors import SetupError
from grader.grading import batch
from grader.grading.batch import execute_all
from grader.grading.settings import Settings
from grader.model import Evidence, Job, Limits, Outcome, Submission
from grader.runtime import executors
from grader.runtime.execute import execute as execute_job
from tests.helpers.notebooks import a_notebook


def handed_in(folder: Path, *names: str) -> list[Submission]:
    made = []
    for name in names:
        data = a_notebook(f"q1_x = '{name}'")
        (folder / f"{name}.ipynb").write_bytes(data)
        made.append(
            Submission(
                student=name,
                path=str(folder / f"{name}.ipynb"),
                sha256=hashlib.sha256(data).hexdigest(),
            )
        )
    return made


def settings(executor: str = "inline") -> Settings:
    jobs = None if executor == "inline" else 2
    return Settings(limits=Limits(cell_seconds=20), sandbox="off", executor=executor, jobs=jobs)


def outcomes(
    todo: list[Submission], how: Settings | None = None
) -> dict[str, tuple[Outcome, str | None]]:
    found = execute_all(todo, ("q1_x",), how or settings())
    return {one.student: (evidence.outcome, evidence.note) for one, evidence in found}


FINE = (Outcome.FINISHED, None)
Failing = Callable[[Callable[[str], object]], None]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    """Puts a bug of ours before the execution: a function of the student that may raise."""

    def put(fault: Callable[[str], object]) -> None:
        def execute(job: Job, data: bytes, **more: Any) -> Evidence:
            fault(job.submission.student)
            return execute_job(job, data, **more)

        monkeypatch.setattr(batch, "execute", execute)

    return put


def test_a_fault_of_ours_that_passes_is_not_noticed(tmp_path: Path, failing: Failing) -> None:
    tried: list[str] = []

    def once(student: str) -> None:
        tried.append(student)
        if tried.count("bob") == 1 and student == "bob":
            raise MemoryError

    failing(once)
    assert outcomes(handed_in(tmp_path, "ada", "bob")) == {"ada": FINE, "bob": FINE}
    assert tried == ["ada", "bob", "bob"]


@pytest.mark.parametrize("error", [ZeroDivisionError("/our/path"), CancelledError(), SystemExit(3)])
def test_a_fault_of_ours_that_stays_leaves_one_notebook_open(
    tmp_path: Path, failing: Failing, error: BaseException
) -> None:
    def always(student: str) -> None:
        if student == "bob":
            raise error

    failing(always)
    said = f"we could not run this notebook ({type(error).__name__}); no points are deducted"
    for executor in ("threads", "inline") if isinstance(error, Exception) else ("threads",):
        found = outcomes(handed_in(tmp_path, "ada", "bob", "cyd"), settings(executor))
        assert found == {"ada": FINE, "bob": (Outcome.REFUSED, said), "cyd": FINE}


@pytest.mark.parametrize("executor", ["threads", "inline"])
def test_what_other_work_disturbed_is_run_once_more_with_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: str
) -> None:
    running: list[str] = []
    lock = threading.Lock()
    runs: list[tuple[str, str, int]] = []

    def execute(job: Job, data: bytes, **more: Any) -> Evidence:
        student = job.submission.student
        with lock:
            running.append(student)
            runs.append((student, job.rerun, len(running)))
        found = execute_job(job, data, **more)
        with lock:
            running.remove(student)
        why = dict.fromkeys(("q1_x", "q2_y"), "code cell 1 hit a time limit")
        if student == "ada":
            return found
        return replace(found, environment={**found.environment, "disturbed": why})

    monkeypatch.setattr(batch, "execute", execute)
    found = list(
        execute_all(handed_in(tmp_path, "bob", "ada", "cyd"), ("q1_x",), settings(executor))
    )
    assert [one.student for one, _ in found] == ["ada", "bob", "cyd"]
    notes = {one.student: evidence.note for one, evidence in found}
    said = "this is a second run, alone: in the first, code cell 1 hit a time limit"
    assert notes == {"ada": None, "bob": said, "cyd": said}
    # Each once, although the second run was disturbed too, and after all others had ended.
    assert sorted(runs[:3])[0][0] == "ada"
    assert runs[3:] == [(name, "code cell 1 hit a time limit", 1) for name in ("bob", "cyd")]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SetupError("no such sandbox")])
def test_what_is_true_of_the_whole_batch_ends_it(
    tmp_path: Path, failing: Failing, error: BaseException | type[BaseException]
) -> None:
    def always(student: str) -> None:
        raise error

    failing(always)
    with pytest.raises(error if isinstance(error, type) else type(error)):
        outcomes(handed_in(tmp_path, "ada", "bob"), settings("threads"))


def test_a_file_that_changed_or_went_since_it_was_collected_is_no_zero(tmp_path: Path) -> None:
    todo = handed_in(tmp_path, "ada", "bob", "cyd")
    (tmp_path / "ada.ipynb").write_bytes(a_notebook("q1_x = 2"))
    (tmp_path / "bob.ipynb").unlink()
    start = "we could not run this notebook: the notebook"
    assert outcomes(todo) == {
        "ada": (
            Outcome.REFUSED,
            f"{start} has changed since it was collected; no points are deducted",
        ),
        "bob": (
            Outcome.REFUSED,
            f"{start} can no longer be read: no such file or directory; no points are deducted",
        ),
        "cyd": FINE,
    }


def test_more_workers_than_the_machine_can_start_are_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(ThreadPoolExecutor):
        def submit(self, *args: object, **more: Any) -> Future[object]:  # type: ignore[override]
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(executors.executors, "_registered", {"full": lambda *_: Full(1)})
    with pytest.raises(SetupError, match="can't start another worker") as caught:
        outcomes(handed_in(tmp_path, "ada"), settings("full"))
    assert caught.value.fix
    assert "--jobs" in caught.value.fix


def test_workers_that_die_without_end_are_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dead(ThreadPoolExecutor):
        def submit(self, *args: object, **more: Any) -> Future[object]:  # type: ignore[override]
            raise BrokenExecutor

    opened: list[Executor] = []

    def dead(*_: object) -> Executor:
        opened.append(Dead(1))
        return opened[-1]

    monkeypatch.setattr(executors.executors, "_registered", {"dead": dead})
    todo = handed_in(tmp_path, *(f"s{n}" for n in range(30)))
    with pytest.raises(SetupError, match="worker processes died in a row"):
        outcomes(todo, settings("dead"))
    assert len(opened) == batch.MAX_DEAD
    # A few of them, as the last ones of a class may be, are each left open.
    said = (Outcome.REFUSED, "every worker that ran this notebook died; no points are deducted")
    assert outcomes(todo[:3], settings("dead")) == {f"s{n}": said for n in range(3)}


@pytest.mark.parametrize(
    ("disturbed", "wanted"),
    [
        ("nobody", [("bob", ""), ("ada", "")]),
        ("ada", [("bob", ""), ("ada", ""), ("ada", "slow")]),
    ],
)
def test_who_was_in_a_pool_that_broke_is_run_alone_and_costs_nobody_anything(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    disturbed: str,
    wanted: list[tuple[str, str]],
) -> None:
    class Fragile(ThreadPoolExecutor):
        """Loses its first submission, and takes no second one."""

        def submit(self, *args: Any, **more: Any) -> Future[Any]:
            if self is not opened[0]:
                return super().submit(*args, **more)
            if submitted:
                raise BrokenExecutor
            lost: Future[Any] = Future()
            lost.set_exception(BrokenExecutor())
            submitted.append(lost)
            return lost

    submitted: list[object] = []
    opened: list[Fragile] = []
    runs: list[tuple[str, str]] = []

    def fragile(*_: object) -> Executor:
        opened.append(Fragile(1))
        return opened[-1]

    def execute(job: Job, data: bytes, **more: Any) -> Evidence:
        runs.append((job.submission.student, job.rerun))
        found = execute_job(job, data, **more)
        if job.submission.student != disturbed:
            return found
        return replace(found, environment={**found.environment, "disturbed": {"q1_x": "slow"}})

    monkeypatch.setattr(executors.executors, "_registered", {"fragile": fragile})
    monkeypatch.setattr(batch, "execute", execute)
    found = outcomes(handed_in(tmp_path, "ada", "bob"), settings("fragile"))
    assert {found[name][0] for name in ("ada", "bob")} == {Outcome.FINISHED}
    assert runs == wanted


def test_a_stop_ends_the_batch_and_what_runs_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, tried = threading.Event(), []

    def execute(job: Job, data: bytes, *, stop: Callable[[], bool], **_: object) -> Evidence:
        tried.append(job.submission.student)
        began.set()
        while not stop():
            time.sleep(0.01)
        raise OSError("the kernel is gone")

    monkeypatch.setattr(batch, "execute", execute)
    todo = handed_in(tmp_path, "ada")
    with pytest.raises(KeyboardInterrupt):
        list(execute_all(todo, ("q1_x",), settings("threads"), stopped=began.is_set))
    assert tried == ["ada"]


def test_scoring_is_prepared_while_a_notebook_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = threading.Event()

    def execute(job: Job, data: bytes, **more: Any) -> Evidence:
        assert prepared.wait(20)
        return execute_job(job, data, **more)

    monkeypatch.setattr(batch, "execute", execute)
    students = []

    def prepare(student: str) -> None:
        students.append(student)
        prepared.set()

    todo = handed_in(tmp_path, "ada")
    ((_, evidence),) = execute_all(todo, ("q1_x",), settings("threads"), prepare=prepare)
    assert students == ["ada"]
    assert evidence.outcome is Outcome.FINISHED


# Kills the worker process above it: what no sandbox would let a notebook do.
MURDER = """
import os, signal
pid = os.getpid()
while pid > 1:
    with open(f"/proc/{pid}/stat") as file:
        pid = int(file.read().rpartition(")")[2].split()[1])
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        if b"spawn_main" in file.read():
            os.kill(pid, signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_who_kills_its_worker_costs_nobody_else_anything(tmp_path: Path) -> None:
    todo = handed_in(tmp_path, "ada", "bob", "cyd", "dan", "eve", "fay")
    for name in ("bob", "cyd"):
        data = a_notebook(MURDER, "q1_x = 1")
        (tmp_path / f"{name}.ipynb").write_bytes(data)
        place = next(n for n, one in enumerate(todo) if one.student == name)
        todo[place] = replace(todo[place], sha256=hashlib.sha256(data).hexdigest())
    said = (Outcome.REFUSED, "the process that ran this notebook died; no points are deducted")
    assert outcomes(todo, settings("processes")) == {
        **dict.fromkeys(("ada", "dan", "eve", "fay"), FINE),
        "bob": said,
        "cyd": said,
    }
