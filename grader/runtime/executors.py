"""Executors that run submissions: in this thread, in threads, in processes, or by a plug-in."""

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

# Each entry creates an executor from the text after the colon, which may be empty. An entry for
# Dask must set `pure=False`; otherwise a second run of a task returns the result of the first.
executors: Registry[Callable[[str], Executor]] = Registry("executor", "grader.executors")


def open(spec: str) -> Executor:  # noqa: A001  # read as executors.open
    """The executor for *spec*: "inline", "threads:4", "processes:2", or a plug-in's name.

    Use it in a `with` statement. Raises SetupError for an invalid spec.
    """
    name, _, argument = spec.partition(":")
    return executors.find(name)(argument)


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
        """Takes no more tasks."""
        del wait, cancel_futures
        self._open = False


@executors.add("inline")
def _inline(argument: str) -> Executor:
    _count(argument)  # accepted, but there is always one worker
    return InlineExecutor()


@executors.add("threads")
def _threads(argument: str) -> Executor:
    return ThreadPoolExecutor(_count(argument), thread_name_prefix="grader")


@executors.add("processes")
def _processes(argument: str) -> Executor:
    # Forking a process with threads and zmq sockets hangs sooner or later.
    spawn: Any = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(_count(argument), mp_context=spawn, initializer=_end_with_parent)


def _end_with_parent() -> None:
    """Makes this worker end if its parent process is killed, and end quietly on Ctrl-C."""
    signal.signal(signal.SIGINT, _end_quietly)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _end_quietly(*_: object) -> None:
    # KeyboardInterrupt would print a traceback in a worker that waits for work.
    raise SystemExit(128 + signal.SIGINT)


def _follow(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)  # the other threads would wait for work forever


def _count(argument: str) -> int:
    if not argument:
        return os.cpu_count() or 1
    if not argument.isascii() or not argument.isdigit() or not 1 <= int(argument[:6]) <= 1000:
        raise SetupError(
            f"'{argument}' is not a number of workers", fix="write a number from 1 to 1000"
        )
    return int(argument)
