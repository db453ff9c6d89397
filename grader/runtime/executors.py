"""Where submissions are executed: here, in threads, in processes, or wherever a plug-in says."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from grader.errors import SetupError
from grader.registry import Registry

P = ParamSpec("P")
T = TypeVar("T")

# Each makes an executor from what stands after the colon, which may be empty. Whoever adds one
# for Dask must ask for `pure=False`: otherwise a second run of a task gives the first's result.
executors: Registry[Callable[[str], Executor]] = Registry("executor", "grader.executors")


def open(spec: str) -> Executor:  # noqa: A001  # read as executors.open
    """The executor for *spec*: "inline", "threads:4", "processes:2", or a plug-in's name.

    Use it in a `with` statement. Raises SetupError for a spec that makes no sense.
    """
    name, _, argument = spec.partition(":")
    return executors.find(name)(argument)


class InlineExecutor(Executor):
    """Runs every task at once, in the caller's own thread."""

    def __init__(self) -> None:
        self._open = True

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """A future that is done already. Ctrl-C is not caught in it."""
        if not self._open:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # that is what a future is for
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more tasks."""
        del wait, cancel_futures
        self._open = False


@executors.add("inline")
def _inline(argument: str) -> Executor:
    _count(argument)  # may be given, and is always one
    return InlineExecutor()


@executors.add("threads")
def _threads(argument: str) -> Executor:
    return ThreadPoolExecutor(_count(argument), thread_name_prefix="grader")


@executors.add("processes")
def _processes(argument: str) -> Executor:
    # A fork of a process that has threads and zmq sockets hangs sooner or later.
    spawn: Any = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(_count(argument), mp_context=spawn, initializer=_end_with_parent)


def _end_with_parent() -> None:
    """Makes this worker end when the process that it works for is killed, and quietly on Ctrl-C."""
    signal.signal(signal.SIGINT, _end_quietly)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _end_quietly(*_: object) -> None:
    # KeyboardInterrupt would print a traceback where a worker waits for work.
    raise SystemExit(128 + signal.SIGINT)


def _follow(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)  # the other threads wait for work that will never come


def _count(argument: str) -> int:
    if not argument:
        return os.cpu_count() or 1
    if not argument.isascii() or not argument.isdigit() or not 1 <= int(argument[:6]) <= 1000:
        raise SetupError(
            f"'{argument}' is not a number of workers", fix="write a number from 1 to 1000"
        )
    return int(argument)
