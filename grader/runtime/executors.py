"""Executors that run submissions: in this thread, in threads, in processes, or by a plug-in."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from grader.errors import GraderError, SetupError
from grader.registry import Registry

P = ParamSpec("P")
T = TypeVar("T")

# Each entry creates an executor from the text after the colon, which may be empty, and a number of
# workers. An executor must not cache: a second run of a task must not return the result of the
# first.
executors: Registry[Callable[[str, int], Executor]] = Registry("executor", "grader.executors")

_LOCAL = ("inline", "threads", "processes")
_COUNTED = ("threads", "processes")
"""Executors for which the text after the colon is the number of workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerNeeds:
    """What a task asks of the worker that runs it."""

    sandbox: str = "auto"
    """The mode of the sandbox, which must work on the worker."""
    gpu: bool = False
    """Whether the worker must have a GPU for the task alone."""
    quiet: bool = False
    """Whether nothing else may run on the worker meanwhile, because the task measures time."""
    packages: tuple[str, ...] = ()
    """Optional packages that the task uses. If no worker has them, it runs without them."""


class WorkersDiedError(GraderError):
    """Every worker that ran a task died, as often as the executor tries it."""


class WorkerFaultError(GraderError):
    """The machine of a worker can't run the task, for example because its disk is full."""


class RemoteExecutor(Executor, ABC):
    """An executor whose workers may be on other machines, and share no disk with this one."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many tasks can run at once now; workers come and go."""

    def describe(self) -> str:
        """Returns a few words about the workers, for people who wait."""
        return ""

    @abstractmethod
    def submit_for(
        self, needs: WorkerNeeds, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Returns the future of `fn(*args, **kwargs)` on a worker that meets *needs*.

        Raises SetupError if no worker can.
        """


@dataclass(frozen=True, slots=True)
class ExecutorSpec:
    """An executor and its number of workers."""

    name: str
    argument: str
    jobs: int

    @property
    def is_local(self) -> bool:
        """Whether notebooks run on this machine."""
        return self.name in _LOCAL

    def open(self, jobs: int | None = None) -> Executor:
        """Returns a new executor, with fewer workers if *jobs* is smaller.

        Use it in a `with` statement. Raises SetupError.
        """
        return executors.find(self.name)(self.argument, min(self.jobs, jobs or self.jobs))


def parse(text: str, jobs: int | None = None) -> ExecutorSpec:
    """Returns the executor for `--executor` *text* and `--jobs` *jobs*.

    *text* is "inline", "threads", "threads:4", "processes:2", or NAME:ARGUMENT of a plug-in. The
    default number of workers is the number of CPUs. Raises SetupError if *text* is invalid or
    contradicts *jobs*.
    """
    name, _, argument = text.partition(":")
    executors.find(name)
    if name == "inline":
        fixed_count: int | None = 1
    elif name in _COUNTED and argument:
        fixed_count = _read_worker_count(argument)
    else:
        fixed_count = None
    if fixed_count is not None and jobs not in (None, fixed_count):
        raise SetupError(
            f"--executor {text} and --jobs {jobs} contradict each other",
            fix=f"leave out one of them, or use --executor threads --jobs {jobs}",
        )
    return ExecutorSpec(name, argument, fixed_count or jobs or os.cpu_count() or 1)


def open(text: str, jobs: int | None = None) -> Executor:  # noqa: A001  # read as executors.open
    """Returns a new executor; see `parse`. Use it in a `with` statement. Raises SetupError."""
    return parse(text, jobs).open()


class InlineExecutor(Executor):
    """Runs every task immediately, in the caller's thread."""

    def __init__(self) -> None:
        self._open = True

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Runs *fn* and returns a finished future. Does not catch KeyboardInterrupt."""
        if not self._open:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # stored in the future
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accepts no more tasks. There is nothing to wait for: `submit` runs each task at once."""
        del wait, cancel_futures
        self._open = False


executors.add("inline")(lambda _argument, _jobs: InlineExecutor())
executors.add("threads")(lambda _argument, jobs: ThreadPoolExecutor(jobs, "grader"))


@executors.add("processes")
def _open_processes(_argument: str, jobs: int) -> Executor:
    # Forking a process with threads and zmq sockets hangs sooner or later.
    spawn: Any = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_end_with_parent)


def _end_with_parent() -> None:
    """Makes this worker exit when its parent process has ended, and end quietly on Ctrl-C."""
    signal.signal(signal.SIGINT, _end_quietly)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after_parent, args=(parent,), daemon=True).start()


def _end_quietly(*_: object) -> None:
    # KeyboardInterrupt would print a traceback in a worker that waits for work.
    raise SystemExit(128 + signal.SIGINT)


def _exit_after_parent(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)  # the other threads would wait for work forever


def _read_worker_count(text: str) -> int:
    """Returns the number in *text*. Raises SetupError unless it is from 1 to 1000."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 1000:
        raise SetupError(
            f"'{text}' is not a number of workers", fix="write a number from 1 to 1000"
        )
    return int(text)
