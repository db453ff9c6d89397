"""A kernel session driven by nbclient, with a wall-clock limit on every step."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import zmq

from grader.model import Outcome
from grader.runtime.kernels.base import (
    AskReply,
    CallResult,
    CellResult,
    KernelOptions,
    LostError,
    NotStartedError,
    StoppedError,
)
from grader.runtime.kernels.causes import (
    describe_end,
    describe_error,
    describe_status,
    hide_folders,
)
from grader.runtime.kernels.client import CellClient, log
from grader.runtime.kernels.contention import BUSY, MACHINE, NO_MEMORY, FairClock, Usage
from grader.runtime.sandbox import ScratchFolder

START_SECONDS = 60.0
GRACE_SECONDS = 1.5
"""For an interrupted cell to stop before its kernel is killed."""

_LOOK_SECONDS = 0.05

T = TypeVar("T")

Names = tuple[str, ...]


class KernelProcess(Protocol):
    """One kernel process, started cold or forked, and its communication."""

    cells: CellClient
    about: Mapping[str, object]

    @property
    def places(self) -> tuple[ScratchFolder, ...]:
        """The kernel's folder, once for each path that leads to it."""

    async def wait_until_ready(self) -> None:
        """Returns once requests are answered and output arrives; may never return."""

    async def interrupt(self) -> None:
        """Returns once the running code was interrupted; may never return."""

    async def ask(self, names: Names) -> AskReply:
        """Returns the kernel's reply about *names*; may never return."""

    async def call(self, request: str) -> str | None:
        """Returns the reply of `wire.calls.answer_request` to *request*; None if it is not text."""

    def exit_future(self) -> asyncio.Future[None] | None:
        """Returns a future that is done when the process may have ended; None to poll `status`."""

    def read_usage(self) -> Usage | None:
        """Returns the processor time of the kernel's processes so far; None if unknown."""

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None while the process runs."""

    @property
    def exceeded_limit(self) -> str | None:
        """The limit for which the kernel was ended; None if none."""

    @property
    def is_lost(self) -> bool:
        """Whether the kernel was lost through no fault of the notebook."""

    async def end(self) -> None:
        """Ends the kernel with all its processes, and removes its folder."""


class KernelSession:
    """A Session whose kernels *start* makes."""

    def __init__(
        self,
        options: KernelOptions,
        start: Callable[[KernelOptions], Coroutine[Any, Any, KernelProcess]],
    ) -> None:
        self._options = options
        self._create_kernel = start
        self._kernel: KernelProcess | None = None
        self._about: Mapping[str, object] = {}
        # One event loop per session, so that threads never share one.
        self._loop = asyncio.SelectorEventLoop()
        try:
            self._await(self._start_kernel())
        except BaseException:
            self.close()
            raise

    @property
    def about(self) -> Mapping[str, object]:
        """The kernel's environment, as reported before any student's code ran."""
        return self._about

    def run(self, source: str, *, seconds: float, keep: int) -> CellResult:
        """Runs one cell; see `Session.run`."""
        return self._await(self._run_cell(source, seconds, keep))

    def ask(self, names: Names, *, seconds: float) -> AskReply:
        """Returns the kernel's reply about *names*; see `Session.ask`."""
        return self._await(self._read_names(names, seconds))

    def call(self, request: str, *, seconds: float) -> CallResult:
        """Makes one call of a student's function; see `Session.call`."""
        return self._await(self._make_call(request, seconds))

    def restart(self) -> None:
        """Replaces the kernel with a new one."""
        self._await(self._end_kernel())
        self._await(self._start_kernel())

    def close(self) -> None:
        """Ends the kernel with all its processes, and removes its folder."""
        try:
            self._await(self._end_kernel())
        finally:
            self._loop.close()

    def _await(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(coroutine)

    # -- starting and ending

    async def _start_kernel(self) -> None:
        """Starts a kernel and waits until it is ready. Raises NotStartedError."""
        try:
            self._kernel = kernel = await self._create_kernel(self._options)
            await self._wait_for(kernel.wait_until_ready(), START_SECONDS)
            self._about = kernel.about
        except (NotStartedError, OSError, RuntimeError, ValueError, zmq.ZMQError) as error:
            log.warning("a kernel did not start", exc_info=True)
            await self._end_kernel()
            raise NotStartedError(describe_error(error)) from error

    async def _wait_for(self, coroutine: Coroutine[Any, Any, T], seconds: float) -> T:
        """Returns the result of *coroutine*. Raises RuntimeError if the kernel dies or is late."""
        task = asyncio.create_task(coroutine)
        if await self._wait_until_done(task, self._start_clock(seconds)):
            return task.result()
        status = self._read_status()
        task.cancel()
        if status is None:
            raise RuntimeError(f"the kernel did not answer within {seconds:g} s")
        raise RuntimeError(f"the kernel exited at startup ({describe_status(status)})")

    async def _end_kernel(self) -> None:
        """Ends the kernel, if there is one, and all that still waits for it."""
        kernel, self._kernel = self._kernel, None
        if kernel is None:
            return
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()  # nbclient's task would never end
        await asyncio.gather(*tasks, return_exceptions=True)
        await kernel.end()

    # -- asking and running

    def _require_kernel(self) -> KernelProcess:
        """Returns the kernel. Raises RuntimeError if it has ended."""
        if self._kernel is None:
            raise RuntimeError("the kernel has ended; restart it first")
        return self._kernel

    def _read_status(self) -> int | None:
        """Returns the exit status of the kernel; None while it runs."""
        return self._kernel.status if self._kernel else 0

    def _start_clock(self, seconds: float) -> FairClock:
        """Returns a limit on time for the kernel as it is now."""
        kernel = self._kernel
        return FairClock(seconds, kernel.read_usage if kernel is not None else lambda: None)

    async def _wait_until_done(self, task: asyncio.Task[Any], clock: FairClock) -> bool:
        """Returns whether *task* is done; False as soon as time is up or the kernel is dead."""
        while not task.done():
            left = clock.seconds_left()
            if left <= 0:
                # What has arrived while this thread waited for a processor is in time.
                await asyncio.wait({task}, timeout=_LOOK_SECONDS)
                return task.done()
            exited = self._kernel.exit_future() if self._kernel else None
            awaited = {task, exited} if exited is not None else {task}
            await asyncio.wait(
                awaited, timeout=min(left, _LOOK_SECONDS), return_when=asyncio.FIRST_COMPLETED
            )
            if self._options.stop():
                raise StoppedError
            if not task.done() and self._read_status() is not None:
                # Its last messages may still be on the way.
                await asyncio.wait({task}, timeout=_LOOK_SECONDS)
                return task.done()
        return True

    async def _carry_out(self, coroutine: Coroutine[Any, Any, T], seconds: float) -> _Step[T]:
        """Returns what became of *coroutine*, which is interrupted after *seconds*.

        Raises LostError, and ends the kernel, if it was lost meanwhile.
        """
        kernel = self._require_kernel()
        began = time.monotonic()
        task = asyncio.create_task(coroutine)
        clock = FairClock(seconds, kernel.read_usage)
        done = await self._wait_until_done(task, clock)
        clock.stop()
        took = time.monotonic() - began
        late = not done and self._read_status() is None
        if late:
            done = await self._interrupt(task)
        step = _Step(kernel, task, clock, took, late=late, done=done)
        if not step.is_answered and kernel.is_lost:
            await self._end_kernel()
            raise LostError("the kernel was ended from outside")
        return step

    async def _run_cell(self, source: str, seconds: float, keep: int) -> CellResult:
        """Returns the result of one cell, and ends the kernel if it is no longer usable."""
        kernel = self._require_kernel()
        began = time.monotonic()
        step = await self._carry_out(kernel.cells.run(source, keep), seconds)
        took = time.monotonic() - began
        if step.late and kernel.exceeded_limit in ("memory", MACHINE):
            # For example, a process pool that waits forever for a worker that was killed.
            outcome, error = describe_end(None, kernel.exceeded_limit)
        elif step.late:
            outcome, error = Outcome.TIMEOUT, None
        elif step.done:
            outcome, error = _find_cell_outcome(step.task, kernel.cells)
        else:
            outcome, error = describe_end(self._read_status(), kernel.exceeded_limit)
        alive = step.is_answered and self._read_status() is None
        disturbance = step.describe_disturbance(failed=not alive or error is not None)
        output, line = kernel.cells.transcript.text(), kernel.cells.line
        if not alive:
            await self._end_kernel()
        return CellResult(
            outcome=outcome,
            seconds=round(took, 3),
            alive=alive,
            error=error and hide_folders(error, kernel.places),
            line=None if step.late else line,
            output=hide_folders(output, kernel.places),
            wait_seconds=round(step.clock.waited, 3),
            disturbance=disturbance,
            visible_outputs=kernel.cells.shown_outputs,
        )

    async def _interrupt(self, task: asyncio.Task[Any]) -> bool:
        """Interrupts *task*, and returns whether it ended within the grace period."""
        kernel = self._require_kernel()

        async def interrupt_and_wait() -> None:
            # Without waiting for the reply, the interrupt could hit the next cell.
            await kernel.interrupt()
            await asyncio.wait({task})

        return await self._wait_until_done(
            asyncio.create_task(interrupt_and_wait()), self._start_clock(GRACE_SECONDS)
        )

    async def _read_names(self, names: Names, seconds: float) -> AskReply:
        """Returns the reply about *names*; without a reply, also ends the kernel."""
        kernel = self._kernel
        if kernel is None:
            return AskReply(alive=False)
        step = await self._carry_out(kernel.ask(names), seconds)
        if step.is_answered:
            return step.task.result()
        disturbance = step.describe_disturbance(failed=True)
        await self._end_kernel()
        return AskReply(
            garbled_names=frozenset(names), alive=False, late=step.late, disturbance=disturbance
        )

    async def _make_call(self, request: str, seconds: float) -> CallResult:
        """Returns the result of one call; without a reply, also ends the kernel."""
        kernel = self._require_kernel()
        step = await self._carry_out(kernel.call(request), seconds)
        alive = step.is_answered
        result = CallResult(
            reply=step.task.result() if alive else None,
            seconds=step.seconds,
            late=step.late,
            alive=alive,
            wait_seconds=step.clock.waited,
            disturbance=step.describe_disturbance(failed=not alive),
        )
        if alive:
            return result
        outcome, error = Outcome.TIMEOUT, None
        if step.done:
            outcome, error = Outcome.CRASHED, "made the kernel send messages that can't be read"
        elif not step.late or kernel.exceeded_limit is not None:
            outcome, error = describe_end(self._read_status(), kernel.exceeded_limit)
        await self._end_kernel()
        return replace(result, error=error, outcome=outcome)


@dataclass(frozen=True, slots=True)
class _Step(Generic[T]):
    """What became of a request to a kernel."""

    kernel: KernelProcess
    task: asyncio.Task[T]
    clock: FairClock
    seconds: float
    """Until it was done, or its time was up."""
    late: bool
    """Whether its time was up, so that it was interrupted."""
    done: bool
    """Whether it ended, if need be after the interrupt."""

    @property
    def is_answered(self) -> bool:
        """Whether it ended with a reply that can be read."""
        return self.done and self.task.exception() is None

    def describe_disturbance(self, *, failed: bool) -> str:
        """Returns how the machine interfered, if it is late or *failed*; empty if it did not."""
        if (self.late or failed) and self.kernel.exceeded_limit == MACHINE:
            return NO_MEMORY
        return BUSY if self.late and self.clock.contended else ""


@contextlib.contextmanager
def log_errors() -> Iterator[None]:
    """Logs any exception raised inside: a failed cleanup must not lose a notebook's results."""
    try:
        yield
    except Exception:  # noqa: BLE001  # anything a library may raise
        log.exception("cleaning up after a kernel failed")


def _find_cell_outcome(task: asyncio.Task[Any], cells: CellClient) -> tuple[Outcome, str | None]:
    """Returns the outcome of a finished cell, and its exception if it raised one."""
    if task.exception() is not None:
        return Outcome.CRASHED, "made the kernel send messages that can't be read"
    error = cells.error
    name, _, value = (error or "").partition(":")
    if name.endswith("MemoryError") or "allocate memory" in value:
        return Outcome.OUT_OF_MEMORY, error
    return Outcome.FINISHED, error
