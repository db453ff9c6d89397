"""A kernel started as a new ipykernel process, for systems where fork is not safe."""

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
from grader.runtime.kernels.base import AskReply, Terms
from grader.runtime.kernels.client import CellClient, log, unpack
from grader.runtime.kernels.contention import MACHINE, Usage, oom_kills, usage
from grader.runtime.kernels.provisioner import ColdProvisioner
from grader.runtime.kernels.session import tidying
from grader.runtime.sandbox import Place

_LARGEST_FRAME = 64_000_000
_OPTIONS = ("--HistoryManager.enabled=False", "--IPKernelApp.quiet=True")


class Manager(AsyncKernelManager):
    """A kernel manager that needs no installed kernel spec."""

    @property
    def kernel_spec(self) -> KernelSpec:
        """A spec that sets how to interrupt the kernel."""
        # By message, because a signal would end a sandbox process around the kernel.
        return KernelSpec(argv=[], language="python", interrupt_mode="message")


class ColdKernel:
    """One kernel process, from the start of its interpreter to its end."""

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
        """Creates everything that a kernel needs before its process starts."""
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
        manager.write_connection_file()  # this also sets where the client connects
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
        """Returns once requests are answered and output arrives."""
        while True:
            self._client.kernel_info()
            if await self._client.shell_channel.socket.poll(1000):
                await self._client.shell_channel.get_msg()
                # Output published before our subscription arrives is lost.
                if await self._client.iopub_channel.socket.poll(500):
                    break
        self.about = ask.about(await self._request(ask.first_question(self._terms.seed)))

    async def interrupt(self) -> None:
        """Returns once the kernel has confirmed the interrupt."""
        self._client.control_channel.send(self._client.session.msg("interrupt_request", {}))
        await self._client.control_channel.get_msg()

    async def ask(self, names: tuple[str, ...]) -> AskReply:
        """The kernel's reply about *names*, by code executed silently."""
        return ask.said(names, await self._request(ask.question(names)))

    async def call(self, request: str) -> str | None:
        """The kernel's reply to *request*."""
        return ask.told(await self._request(ask.trial_of(request)))

    async def _request(self, code: str) -> object:
        """The content of the reply to *code*, executed silently."""
        sent = self._client.execute(
            code, silent=True, store_history=False, user_expressions=ask.EXPRESSIONS
        )
        return await self.cells.reply_to(sent, "execute_reply")

    def changed(self) -> asyncio.Future[None] | None:
        """None: the process has to be polled."""

    lost = False

    @property
    def places(self) -> tuple[Place, ...]:
        """Its one folder."""
        return (self.home,)

    @property
    def pid(self) -> int | None:
        """The process id."""
        process = self.provisioner.process
        return process.pid if process is not None else None

    def usage(self) -> Usage | None:
        """The processor time of its processes so far."""
        return usage([self.pid]) if self.pid is not None else None

    @property
    def status(self) -> int | None:
        """How the process ended; None while it runs."""
        return self.provisioner.status

    @property
    def hit(self) -> str | None:
        """MACHINE if the system killed it for lack of memory; no other limit is watched."""
        killed = sys.platform == "linux" and self.status == -signal.SIGKILL
        return MACHINE if killed and oom_kills() > self._oom_kills else None

    async def end(self) -> None:
        """Ends the kernel with all its processes and removes its folder."""
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
    """Starts the process of a new kernel."""
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
        # Makes the kernel end by itself when this process is gone; Windows needs a handle.
        variables["JPY_PARENT_PID"] = str(os.getpid())
    return variables
