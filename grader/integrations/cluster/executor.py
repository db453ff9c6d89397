"""The executor `dask`, whose tasks run on the workers of a Dask cluster.

Dask schedules the tasks. If a worker dies, Dask runs its tasks on another one. A task whose workers
die more often than `distributed.scheduler.allowed-failures` says ends in a WorkersDiedError.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, InvalidStateError
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

from grader.errors import SetupError
from grader.integrations.cluster.connections import Connection, connect, start_local
from grader.integrations.cluster.environments import (
    Worker,
    ask_workers,
    choose_workers,
    require_same,
)
from grader.runtime.executors import RemoteExecutor, WorkerFaultError, WorkerNeeds, WorkersDiedError
from grader.text.words import count_of

P = ParamSpec("P")
T = TypeVar("T")

_REACH_SECONDS = 2
"""How long a worker may take to answer this machine directly."""
_MOST_FAULTS = 2
"""How often a worker's machine may fail before the worker is left out."""
_LOOK_SECONDS = 2.0
"""Seconds between two questions to the scheduler about its workers."""
_CONTINUE = "start the cluster again and repeat the command; it continues where it stopped"


def open_dask(address: str, jobs: int) -> RemoteExecutor:
    """Returns an executor on the cluster at *address*, or else on *jobs* local workers."""
    return DaskExecutor(connect(address) if address else start_local(jobs))


@dataclass(slots=True, kw_only=True)
class _Pending:
    """A task that has not finished, and all that is needed to send it to other workers."""

    future: Future[Any]
    needs: WorkerNeeds | None
    call: Callable[[dict[str, Any]], Any]
    """Sends the task to Dask with these arguments, and returns Dask's own future."""
    where: dict[str, Any]
    """The arguments that chose its workers."""
    task: Any = None

    def can_run(self, alive: Mapping[str, Worker]) -> bool:
        """Returns whether one of the workers that were chosen is *alive*."""
        chosen = self.where.get("workers")
        resources = self.where.get("resources", {})
        return self.where.get("allow_other_workers", False) or any(
            (chosen is None or address in chosen) and resources.keys() <= worker.resources.keys()
            for address, worker in alive.items()
        )


class DaskExecutor(RemoteExecutor):
    """Runs tasks on a Dask cluster, never from a cache; at the end, closes what it opened."""

    def __init__(self, connection: Connection):
        self._client = connection.client
        self._connection = connection
        self._open = True
        self._threads: dict[str, int] = {}
        self._next_look = 0.0
        self._sandbox = ""
        self._known: dict[str, Worker] = {}
        self._pending: dict[str, _Pending] = {}
        self._faults: Counter[str] = Counter()
        self._waits_for = ""
        self._dashboard = connection.dashboard

    @property
    def workers(self) -> int:
        """The number of tasks that the cluster can run at once now; at least 1."""
        if time.monotonic() >= self._next_look:
            self._update_workers()
            self._next_look = time.monotonic() + _LOOK_SECONDS
        return max(1, sum(self._threads.values()))

    def describe(self) -> str:
        """Returns the number of workers, or what the run waits for, and the dashboard's address."""
        workers, threads = len(self._threads), sum(self._threads.values())
        text = f"{count_of(workers, 'worker')}, {count_of(threads, 'thread')}"
        if not workers:
            text = "waiting for workers"
        for worker in self._known.values():
            if worker.error:
                text += f"; left out: {worker.address} ({worker.error})"
        if workers and self._waits_for:
            text += f"; waiting: {self._waits_for}"
        return f"{text}; dashboard: {self._dashboard}" if self._dashboard else text

    def _update_workers(self) -> None:
        """Asks the scheduler which workers there are, and new workers what they offer."""
        try:
            self._threads = dict(self._client.nthreads())
            new = [thread for thread in self._threads if thread not in self._known]
            if self._sandbox and new:
                answers = ask_workers(self._client, self._sandbox, new)
                self._known = self._known | {worker.address: worker for worker in answers}
                self._choose_route(new[0])
        except OSError as error:
            raise _lost_scheduler_error() from error
        self._known = {a: w for a, w in self._known.items() if a in self._threads}
        self._move_stranded_tasks()

    def _choose_route(self, worker: str) -> None:
        """Lets results come straight from workers only if this machine can reach *worker*."""
        open_channel = importlib.import_module("distributed.comm").connect

        async def can_reach() -> bool:
            try:
                channel = await open_channel(
                    worker, timeout=_REACH_SECONDS, **self._client.connection_args
                )
            except (OSError, TimeoutError):
                return False
            channel.abort()
            return True

        self._client.direct_to_workers = self._client.sync(can_reach)

    def _move_stranded_tasks(self) -> None:
        """Sends tasks whose workers are all gone to others that meet their needs, if any."""
        self._waits_for = ""
        for key, pending in list(self._pending.items()):
            if not pending.where or pending.needs is None or pending.can_run(self._known):
                continue
            try:
                where = choose_workers(self._known.values(), pending.needs)
            except SetupError as error:
                self._waits_for = error.what
                continue
            if self._known:
                self._send(key, pending, where)

    def submit_for(
        self, needs: WorkerNeeds, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        """Returns the future of the call on a worker that meets *needs*. Raises SetupError if none
        can."""
        if not self._sandbox:
            self._sandbox = needs.sandbox
            self._connection.wait_for_worker()
            self._update_workers()
            require_same(self._known.values(), sandbox=needs.sandbox)
        where = choose_workers(self._known.values(), needs)
        return self._submit(needs, where, fn, *args, **kwargs)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Returns the future of the call on any worker. Raises RuntimeError if closed."""
        return self._submit(None, {}, fn, *args, **kwargs)

    def _submit(
        self,
        needs: WorkerNeeds | None,
        where: dict[str, Any],
        fn: Callable[..., T],
        /,
        *args: Any,
        **kwargs: Any,
    ) -> Future[T]:
        """Sends the call to a worker that *where* allows, and returns its future."""
        if not self._open:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if self._client.status != "running":
            raise _lost_scheduler_error()

        def call(chosen: dict[str, Any]) -> Any:
            key = f"grader-{uuid.uuid4().hex}"
            return self._client.submit(
                _run_on_worker, fn, *args, **kwargs, **chosen, key=key, pure=False
            )

        pending = _Pending(future=Future(), needs=needs, call=call, where=where)
        self._send(uuid.uuid4().hex, pending, where)
        return pending.future

    def _send(self, key: str, pending: _Pending, where: dict[str, Any]) -> None:
        """Sends a task to the workers *where*, in place of those that it was sent to before."""
        before, pending.where = pending.task, where
        pending.task = sent = pending.call(where)
        self._pending[key] = pending
        if before is not None:
            before.cancel()
        # On Dask's event loop, where results that are ready at the same time come together. Dask's
        # own callbacks would fetch them one after another.
        asyncio.run_coroutine_threadsafe(self._receive(key, sent), self._client.loop.asyncio_loop)

    async def _receive(self, key: str, task: Any) -> None:
        """Waits for a Dask *task*, and moves its result or error into the future of the caller."""
        result: Any = None
        error: Exception | None = None
        try:
            result = await self._client.gather(task, asynchronous=True)
        except (CancelledError, asyncio.CancelledError, OSError):
            error = _lost_scheduler_error()
        except Exception as raised:  # noqa: BLE001  # raised by the task
            error = raised
            if type(raised).__name__ == "KilledWorker":
                error = WorkersDiedError("every worker that ran this notebook died")
        pending = self._pending.get(key)
        if pending is not None and pending.task is task:  # not sent to other workers meanwhile
            self._settle(key, pending, result, error)

    def _settle(self, key: str, pending: _Pending, result: Any, error: Exception | None) -> None:
        """Ends a task with its result or error, or sends it to another worker."""
        del self._pending[key]
        if isinstance(error, WorkerFaultError) and pending.needs is not None:
            self._leave_out(str(error.where), error.what)
            pending.task = None  # it has ended
            try:
                self._send(key, pending, choose_workers(self._known.values(), pending.needs))
                return
            except SetupError:
                error = SetupError(
                    f"no worker is left that can run notebooks; the last one said: {error.what}",
                    where=error.where,
                    fix=f"{error.fix or 'repair its machine'}; then {_CONTINUE}",
                )
        with contextlib.suppress(InvalidStateError):  # it was cancelled meanwhile
            if error is None:
                pending.future.set_result(result)
            else:
                pending.future.set_exception(error)

    def _leave_out(self, address: str, why: str) -> None:
        """Sends no more tasks to the worker at *address* if its machine has failed before."""
        self._faults[address] += 1
        worker = self._known.get(address)
        if worker is not None and self._faults[address] >= _MOST_FAULTS:
            self._known[address] = replace(worker, error=why)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more tasks. Dask drops tasks that have not finished."""
        del wait, cancel_futures
        if self._open:
            self._open = False
            self._connection.close()


def _run_on_worker(fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Runs a task on a worker; an error of its machine says where it is."""
    try:
        return fn(*args, **kwargs)
    except WorkerFaultError as error:
        address = importlib.import_module("distributed").get_worker().address
        raise WorkerFaultError(error.what, where=address, fix=error.fix) from None


def _lost_scheduler_error() -> SetupError:
    return SetupError("the connection to the Dask scheduler was lost", fix=_CONTINUE)
