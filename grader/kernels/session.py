"""A kernel in its sandbox, driven by nbclient, with our own wall clock around everything."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import uuid
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import zmq
import zmq.asyncio
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase

from grader.kernels import ask, boot, leftovers, place
from grader.kernels.base import NotStartedError, Ran, Said, StoppedError, Terms
from grader.kernels.client import CellClient, log, one_line, unpack
from grader.kernels.provisioner import ColdProvisioner
from grader.model import Outcome
from grader.sandbox import Place

START_SECONDS = 60.0
GRACE_SECONDS = 1.5
"""For an interrupted cell to stop; then its kernel is killed."""

_LOOK_SECONDS = 0.05
_LARGEST_FRAME = 64_000_000
_OPTIONS = ("--HistoryManager.enabled=False", "--IPKernelApp.quiet=True")

T = TypeVar("T")


class _Manager(AsyncKernelManager):
    """Starts what it is told to start; no kernel spec has to be installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        # By message, because a signal would end a sandbox that stands around the kernel.
        return KernelSpec(argv=[], language="python", interrupt_mode="message")


@dataclass(frozen=True, slots=True)
class _Kernel:
    """Everything that lives as long as one kernel process."""

    place: Place
    context: zmq.asyncio.Context
    manager: _Manager
    provisioner: KernelProvisionerBase
    client: Any
    cells: CellClient


class KernelSession:
    """A Session over jupyter_client; how the process comes about is the provisioner's business."""

    def __init__(
        self, terms: Terms, provisioner: type[KernelProvisionerBase] = ColdProvisioner
    ) -> None:
        self._terms = terms
        self._provisioner = provisioner
        self._kernel: _Kernel | None = None
        self._about: Mapping[str, object] = {}
        # A loop of its own for every session, so that threads never share one.
        self._runner = asyncio.Runner(loop_factory=asyncio.SelectorEventLoop)
        try:
            self._runner.run(self._start())
        except BaseException:
            self.close()
            raise

    @property
    def about(self) -> Mapping[str, object]:
        """What the kernel told about itself before any student's code."""
        return self._about

    def run(self, source: str, *, seconds: float, keep: int) -> Ran:
        """How one cell went; see `Session.run`."""
        return self._runner.run(self._run(source, seconds, keep))

    def ask(self, names: tuple[str, ...], *, seconds: float) -> Said:
        """What the kernel says about *names*; see `Session.ask`."""
        return self._runner.run(self._ask(names, seconds))

    def restart(self) -> None:
        """Puts a fresh kernel in the place of this one."""
        self._runner.run(self._end())
        self._runner.run(self._start())

    def close(self) -> None:
        """Ends the kernel with all its processes, and removes its folder."""
        try:
            self._runner.run(self._end())
        finally:
            self._runner.close()

    # -- starting and ending

    async def _start(self) -> None:
        try:
            home = place.make()
            try:
                self._kernel = self._made(home)
            except BaseException:
                place.remove(home)
                raise
            await self._launch(self._kernel)
        except (OSError, RuntimeError, ValueError, zmq.ZMQError) as error:
            await self._end()
            raise NotStartedError(_plain(error)) from error

    def _made(self, home: Place) -> _Kernel:
        """Everything a kernel needs, before its process."""
        context = zmq.asyncio.Context()
        context.linger = 0
        context.reconnect_ivl = 10
        context.maxmsgsize = _LARGEST_FRAME
        manager = _Manager(
            context=context,
            connection_file=str(home.wire / "kernel.json"),
            log=log,
            **place.transport(home),
        )
        manager.session.unpack = unpack
        provisioner = self._provisioner(
            kernel_id=str(uuid.uuid4()), kernel_spec=manager.kernel_spec, parent=manager
        )
        manager.provisioner = provisioner
        manager.write_connection_file()  # which also settles where the client connects to
        client = manager.client(context=context)
        cells = CellClient(manager, client)
        return _Kernel(home, context, manager, provisioner, client, cells)

    async def _launch(self, kernel: _Kernel) -> None:
        sandbox, limits = self._terms.sandbox, self._terms.limits
        settings = {"rlimits": dict(sandbox.rlimits(limits)), "seed": self._terms.seed}
        wire = kernel.manager.connection_file
        command = [sys.executable, "-c", _boot_source(), json.dumps(settings), "-f", wire]
        await kernel.manager.start_kernel(
            cmd=sandbox.wrap([*command, *_OPTIONS], kernel.place),
            cwd=str(kernel.place.work),
            env=_environment(self._terms, kernel.place),
        )
        kernel.client.start_channels(stdin=False, hb=False)
        await self._within(self._ready(kernel), START_SECONDS)
        reply = await self._within(self._request(ask.first_question(self._terms.seed)), 10)
        self._about = ask.about(reply)

    async def _within(self, coroutine: Coroutine[Any, Any, T], seconds: float) -> T:
        """What *coroutine* gives. Raises RuntimeError when the kernel dies or time runs out."""
        task = asyncio.create_task(coroutine)
        if await self._settled(task, seconds):
            return task.result()
        status = await self._status()
        task.cancel()
        if status is None:
            raise RuntimeError(f"the kernel did not answer within {seconds:g} s")
        raise RuntimeError(f"the kernel ended at once ({_words(status)})")

    async def _ready(self, kernel: _Kernel) -> None:
        """Returns when requests are answered and output arrives."""
        while True:
            kernel.client.kernel_info()
            if await kernel.client.shell_channel.socket.poll(1000):
                await kernel.client.shell_channel.get_msg()
                # Output that is published before our subscription has arrived is lost.
                if await kernel.client.iopub_channel.socket.poll(500):
                    return

    async def _end(self) -> None:
        kernel, self._kernel = self._kernel, None
        if kernel is None:
            return
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()  # nbclient's, which would wait for ever
        await asyncio.gather(*left, return_exceptions=True)
        with _tidying():
            await kernel.provisioner.kill()
        with _tidying():
            leftovers.end(kernel.place)
        with _tidying():
            kernel.client.stop_channels()
        with _tidying():
            await kernel.manager.cleanup_resources()
        with _tidying():
            kernel.context.destroy(linger=0)
        place.remove(kernel.place)

    # -- asking and running

    def _living(self) -> _Kernel:
        if self._kernel is None:
            raise RuntimeError("the kernel has ended; restart it first")
        return self._kernel

    async def _status(self) -> int | None:
        """The exit status of the kernel; None while it runs."""
        return await self._kernel.provisioner.poll() if self._kernel else 0

    async def _settled(self, task: asyncio.Task[Any], seconds: float) -> bool:
        """Whether *task* is done; False as soon as time is up or the kernel is dead."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not task.done():
            left = end - loop.time()
            if left <= 0:
                return False
            await asyncio.wait({task}, timeout=min(left, _LOOK_SECONDS))
            if self._terms.stop():
                raise StoppedError
            if not task.done() and await self._status() is not None:
                # Its last words may still be on the way.
                await asyncio.wait({task}, timeout=_LOOK_SECONDS)
                return task.done()
        return True

    async def _run(self, source: str, seconds: float, keep: int) -> Ran:
        kernel = self._living()
        loop = asyncio.get_running_loop()
        began = loop.time()
        task = asyncio.create_task(kernel.cells.run(source, keep))
        done = await self._settled(task, seconds)
        late = not done and await self._status() is None
        if late:
            done = await self._interrupted(task)
        took = loop.time() - began
        if late:
            outcome, error = Outcome.TIMEOUT, None
        elif done:
            outcome, error = _ended(task, kernel.cells)
        else:
            outcome, error = _died(await self._status())
        alive = done and task.exception() is None and await self._status() is None
        output, line = kernel.cells.transcript.text(), kernel.cells.line
        if not alive:
            await self._end()
        return Ran(
            outcome=outcome,
            seconds=round(took, 3),
            alive=alive,
            error=error and place.hidden(error, kernel.place),
            line=None if late else line,
            output=place.hidden(output, kernel.place),
        )

    async def _interrupted(self, task: asyncio.Task[Any]) -> bool:
        """Whether *task* stopped when it was interrupted, within the grace."""
        client = self._living().client
        client.control_channel.send(client.session.msg("interrupt_request", {}))

        async def stopped() -> None:
            # Without waiting for the reply the interrupt could hit the next cell.
            await client.control_channel.get_msg()
            await asyncio.wait({task})

        return await self._settled(asyncio.create_task(stopped()), GRACE_SECONDS)

    async def _request(self, code: str) -> object:
        """The content of the reply to *code*, executed silently."""
        client = self._living().client
        sent = client.execute(
            code, silent=True, store_history=False, user_expressions=ask.EXPRESSIONS
        )
        while True:
            message = await client.shell_channel.get_msg()
            if message["parent_header"].get("msg_id") == sent:
                return message["content"]

    async def _ask(self, names: tuple[str, ...], seconds: float) -> Said:
        if self._kernel is None:
            return Said(alive=False)
        task = asyncio.create_task(self._request(ask.question(names)))
        done = await self._settled(task, seconds)
        if not done and await self._status() is None:
            done = await self._interrupted(task)
        if done and task.exception() is None:
            return ask.said(names, task.result())
        await self._end()
        return Said(garbled=frozenset(names), alive=False)


@contextlib.contextmanager
def _tidying() -> Iterator[None]:
    """Goes on, whatever happens inside: what a notebook gave is never lost to tidying up."""
    try:
        yield
    except Exception:  # noqa: BLE001  # anything a library may raise
        log.exception("tidying up after a kernel failed")


def _plain(error: Exception) -> str:
    """What went wrong, without the path that an error of the system ends in."""
    text = error.strerror if isinstance(error, OSError) else None
    return one_line(text or str(error)) or type(error).__name__


def _boot_source() -> str:
    import inspect

    return inspect.getsource(boot)


def _ended(task: asyncio.Task[Any], cells: CellClient) -> tuple[Outcome, str | None]:
    """The outcome of a cell that came to an end, and what it raised."""
    if task.exception() is not None:
        return Outcome.CRASHED, "made the kernel send messages that can't be read"
    error = cells.error
    name, _, value = (error or "").partition(":")
    if name.endswith("MemoryError") or "can't allocate memory" in value:
        return Outcome.OUT_OF_MEMORY, error
    return Outcome.FINISHED, error


def _died(status: int | None) -> tuple[Outcome, str]:
    """The outcome of a cell in which the kernel ended with *status*, and what the cell did."""
    words = _words(status)
    if words == "SIGKILL":
        return Outcome.OUT_OF_MEMORY, "ended the kernel, most likely for lack of memory (SIGKILL)"
    if words == "SIGXCPU":
        return Outcome.TIMEOUT, "used up the CPU time of the notebook"
    return Outcome.CRASHED, f"ended the kernel ({words})"


def _words(status: int | None) -> str:
    if status is None or status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def _environment(terms: Terms, place: Place) -> dict[str, str]:
    variables = dict(terms.sandbox.environment(place))
    if terms.device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    return variables
