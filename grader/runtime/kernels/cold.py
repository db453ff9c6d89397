"""A kernel started from nothing: ipykernel as everybody has it, where fork is not safe."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import uuid
from collections.abc import Mapping

import zmq
import zmq.asyncio
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager

from grader.runtime.kernels import ask, boot, scratch
from grader.runtime.kernels.base import Said, Terms
from grader.runtime.kernels.client import CellClient, log, unpack
from grader.runtime.kernels.contention import MACHINE, Usage, oom_kills, usage
from grader.runtime.kernels.provisioner import ColdProvisioner
from grader.runtime.kernels.session import tidying
from grader.runtime.sandbox import Place

_LARGEST_FRAME = 64_000_000
_OPTIONS = ("--HistoryManager.enabled=False", "--IPKernelApp.quiet=True")


class Manager(AsyncKernelManager):
    """Starts what it is told to start; no kernel spec has to be installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        """One that says how to interrupt."""
        # By message, because a signal would end a sandbox that stands around the kernel.
        return KernelSpec(argv=[], language="python", interrupt_mode="message")


class ColdKernel:
    """One process, from the start of the interpreter to its end."""

    foresees = False

    def __init__(self, terms: Terms):
        self._terms = terms
        self._oom_kills = oom_kills()
        self.home = scratch.make()
        self.about: Mapping[str, object] = {}
        try:
            self._make(self.home)
        except BaseException:
            scratch.remove(self.home)
            raise

    def _make(self, home: Place) -> None:
        """Everything a kernel needs, before its process."""
        self._context = context = zmq.asyncio.Context()
        context.linger = 0
        context.reconnect_ivl = 10
        context.maxmsgsize = _LARGEST_FRAME
        self._manager = manager = Manager(
            context=context,
            connection_file=str(home.wire / "kernel.json"),
            log=log,
            **scratch.transport(home),
        )
        manager.session.unpack = unpack
        self.provisioner = ColdProvisioner(
            kernel_id=str(uuid.uuid4()), kernel_spec=manager.kernel_spec, parent=manager
        )
        manager.provisioner = self.provisioner
        manager.write_connection_file()  # which also settles where the client connects to
        self._client = manager.client(context=context)
        self.cells = CellClient(self._client)

    async def launch(self) -> None:
        """Starts the process. Raises OSError."""
        sandbox, limits = self._terms.sandbox, self._terms.limits
        settings = {"rlimits": dict(sandbox.rlimits(limits)), "seed": self._terms.seed}
        wire = self._manager.connection_file
        command = [sys.executable, "-c", _boot_source(), json.dumps(settings), "-f", wire]
        await self._manager.start_kernel(
            cmd=sandbox.wrap([*command, *_OPTIONS], self.home),
            cwd=str(self.home.work),
            env=_environment(self._terms, self.home),
        )
        self._client.start_channels(stdin=False, hb=False)

    async def started(self) -> None:
        """Returns when requests are answered and output arrives."""
        while True:
            self._client.kernel_info()
            if await self._client.shell_channel.socket.poll(1000):
                await self._client.shell_channel.get_msg()
                # Output that is published before our subscription has arrived is lost.
                if await self._client.iopub_channel.socket.poll(500):
                    break
        self.about = ask.about(await self._request(ask.first_question(self._terms.seed)))

    async def interrupt(self) -> None:
        """Returns when the kernel says that it has interrupted what ran."""
        self._client.control_channel.send(self._client.session.msg("interrupt_request", {}))
        await self._client.control_channel.get_msg()

    async def ask(self, names: tuple[str, ...]) -> Said:
        """What the kernel says about *names*, executed silently."""
        return ask.said(names, await self._request(ask.question(names)))

    async def call(self, request: str) -> str | None:
        """What the kernel says to *request*."""
        return ask.told(await self._request(ask.trial_of(request)))

    async def _request(self, code: str) -> object:
        """The content of the reply to *code*, executed silently."""
        sent = self._client.execute(
            code, silent=True, store_history=False, user_expressions=ask.EXPRESSIONS
        )
        return await self.cells.reply_to(sent, "execute_reply")

    def changed(self) -> asyncio.Future[None] | None:
        """The process has to be looked at."""

    lost = False

    @property
    def places(self) -> tuple[Place, ...]:
        """Its one folder."""
        return (self.home,)

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        process = self.provisioner.process
        return process.pid if process is not None else None

    def usage(self) -> Usage | None:
        """What its processes have had of the processors so far."""
        return usage([self.pid]) if self.pid is not None else None

    @property
    def status(self) -> int | None:
        """How the process ended; None while it runs."""
        return self.provisioner.status

    @property
    def hit(self) -> str | None:
        """Nobody watches its limits; but the system counts what it ends for lack of memory."""
        killed = sys.platform == "linux" and self.status == -signal.SIGKILL
        return MACHINE if killed and oom_kills() > self._oom_kills else None

    async def end(self) -> None:
        """Ends it with all its processes, and removes its folder."""
        with tidying():
            await self.provisioner.kill()
        with tidying():
            self._client.stop_channels()
        with tidying():
            await self._manager.cleanup_resources()
        with tidying():
            self._context.destroy(linger=0)
        scratch.remove(self.home)


async def start(terms: Terms) -> ColdKernel:
    """A kernel whose process has been started."""
    kernel = ColdKernel(terms)
    try:
        await kernel.launch()
    except BaseException:
        await kernel.end()
        raise
    return kernel


def _boot_source() -> str:
    import inspect

    return inspect.getsource(boot)


def _environment(terms: Terms, home: Place) -> dict[str, str]:
    variables = dict(terms.sandbox.environment(home)) | dict(terms.variables)
    if terms.device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    if sys.platform != "win32":
        # By this the kernel ends by itself when this process is gone; Windows wants a handle.
        variables["JPY_PARENT_PID"] = str(os.getpid())
    return variables
