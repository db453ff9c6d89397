"""The executor `dask`, whose tasks run on the workers of a Dask cluster.

Dask schedules the tasks. If a worker dies, Dask runs its tasks on another one; a task whose workers
died three times (`distributed.scheduler.allowed-failures`) ends in an error of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from grader.errors import GraderError, SetupError
from grader.integrations.cluster.environments import (
    Worker,
    ask_workers,
    choose_workers,
    require_same,
)
from grader.runtime.executors import RemoteExecutor, WorkerNeeds

P = ParamSpec("P")
T = TypeVar("T")

_CONNECT_SECONDS = 30
_LOOK_SECONDS = 2.0
"""Seconds between two questions to the scheduler about its workers."""
_CONTINUE = "start the cluster again and repeat the command; it continues where it stopped"


def open_dask(address: str, jobs: int) -> RemoteExecutor:
    """Returns an executor on the cluster at *address*, or on *jobs* new local worker processes.

    *address* is that of a scheduler, such as `tcp://host:8786`, or the path of a scheduler file; it
    is empty for local workers. Raises SetupError if Dask is missing, or no scheduler or worker can
    be reached.
    """
    dask = _import_dask()
    if not address:
        cluster = dask.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.ERROR,
        )
        return DaskExecutor(dask.Client(cluster), cluster)
    return DaskExecutor(_connect(dask, address))


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """A cluster's workers, and the address of its dashboard, which may be empty."""

    workers: tuple[Worker, ...]
    dashboard: str


def survey_workers(address: str, *, sandbox: str) -> Survey:
    """Returns what every worker of the cluster at *address* offers. Raises SetupError if it can't
    be reached."""
    client = _connect(_import_dask(), address)
    try:
        has_dashboard = "dashboard" in client.scheduler_info().get("services", {})
        dashboard = client.dashboard_link if has_dashboard else ""
        return Survey(workers=tuple(ask_workers(client, sandbox)), dashboard=dashboard)
    finally:
        client.close()


def _import_dask() -> Any:
    try:
        dask = importlib.import_module("distributed")  # without types
    except ImportError as error:
        raise SetupError("Dask is not installed", fix="run `pip install distributed`") from error
    # Dask logs each lost connection with a traceback; our errors say what to do.
    for name in list(logging.root.manager.loggerDict):  # some have a level of their own
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    return dask


def _connect(dask: Any, address: str) -> Any:
    """Returns a client of the scheduler at *address*, which has at least one worker."""
    try:
        if Path(address).is_file():
            client = dask.Client(scheduler_file=address, timeout=_CONNECT_SECONDS)
        else:
            client = dask.Client(address, timeout=_CONNECT_SECONDS)
        # Workers may still be starting.
        client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
    except (OSError, ValueError, TimeoutError) as error:
        raise SetupError(
            f"no Dask workers can be reached at '{address}': {str(error).splitlines()[0]}",
            fix="give the address of a scheduler that has workers, such as dask:tcp://host:8786, "
            "or the path of a scheduler file",
        ) from error
    return client


class DaskExecutor(RemoteExecutor):
    """Runs tasks on a Dask cluster. It closes its connection, and a cluster of its own, at the end.

    Results are never cached: each task has a key of its own.
    """

    def __init__(self, client: Any, cluster: Any = None):
        self._client = client
        self._cluster = cluster
        self._open = True
        self._workers, self._next_look = 1, 0.0
        self._sandbox = ""
        self._known: dict[str, Worker] = {}

    @property
    def workers(self) -> int:
        """The number of tasks that the cluster can run at once now; at least 1.

        Raises SetupError if the scheduler can't be reached any more.
        """
        if time.monotonic() >= self._next_look:
            self._workers = max(1, sum(self._look().values()))
            self._next_look = time.monotonic() + _LOOK_SECONDS
        return self._workers

    def _look(self) -> dict[str, int]:
        """Returns the number of threads of each worker, by address.

        Asks workers that have joined what they offer; those that don't fit get no tasks.
        """
        try:
            threads: dict[str, int] = self._client.nthreads()
            new = [one for one in threads if one not in self._known]
            if self._sandbox and new:
                self._known |= {w.address: w for w in ask_workers(self._client, self._sandbox, new)}
        except OSError as error:
            raise _lost_scheduler() from error
        self._known = {a: w for a, w in self._known.items() if a in threads}
        return threads

    def submit_for(
        self, needs: WorkerNeeds, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Returns the future of `fn(*args, **kwargs)` on a worker that meets *needs*.

        Raises SetupError if no worker can, or, before the first task, if the workers can't execute
        notebooks as this machine would; and the errors of `submit`.
        """
        if not self._sandbox:
            self._sandbox = needs.sandbox
            self._look()
            require_same(self._known.values(), sandbox=needs.sandbox)
        where = choose_workers(self._known.values(), needs)
        return self._submit(where, fn, *args, **kwargs)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Returns the future of `fn(*args, **kwargs)` on a worker. Raises RuntimeError if closed.

        The future raises GraderError if the worker died three times, and SetupError if the
        scheduler can't be reached any more.
        """
        return self._submit({}, fn, *args, **kwargs)

    def _submit(
        self, where: dict[str, Any], fn: Callable[..., T], /, *args: Any, **kwargs: Any
    ) -> Future[T]:
        if not self._open:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if self._client.status != "running":
            raise _lost_scheduler()
        future: Future[T] = Future()
        task = self._client.submit(
            fn, *args, **kwargs, **where, key=f"grader-{uuid.uuid4().hex}", pure=False
        )
        task.add_done_callback(lambda done: _settle(future, done))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more tasks. Dask drops tasks that have not finished."""
        del wait, cancel_futures
        if self._open:
            self._open = False
            self._client.close()
            if self._cluster is not None:
                self._cluster.close()


def _settle(future: Future[Any], task: Any) -> None:
    """Moves the result or the error of a finished Dask *task* into *future*."""
    with contextlib.suppress(InvalidStateError):  # it was cancelled meanwhile
        try:
            future.set_result(task.result())
        except (CancelledError, OSError):
            future.set_exception(_lost_scheduler())
        except Exception as error:  # noqa: BLE001  # raised by the task
            future.set_exception(_error_of_death(error) or error)


def _error_of_death(error: Exception) -> GraderError | None:
    if type(error).__name__ == "KilledWorker":
        return GraderError("every worker that ran this notebook died")
    return None


def _lost_scheduler() -> SetupError:
    return SetupError("the connection to the Dask scheduler was lost", fix=_CONTINUE)
