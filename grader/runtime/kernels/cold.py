"""A kernel started as a new ipykernel process, for systems where fork is not safe."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping

import zmq.asyncio
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.connect import write_connection_file

from grader.runtime.kernels import ask, scratch
from grader.runtime.kernels.base import AskReply, KernelOptions
from grader.runtime.kernels.client import CellClient, unpack_part
from grader.runtime.kernels.contention import MACHINE, Usage, count_oom_kills, read_usage
from grader.runtime.kernels.session import KernelProcess, log_errors
from grader.runtime.sandbox import ScratchFolder
from grader.runtime.worker import limits
from grader.runtime.worker.limits import seed_all, set_limits

_LARGEST_FRAME = 64_000_000
_OPTIONS = ("--HistoryManager.enabled=False", "--IPKernelApp.quiet=True")


class _ColdKernel:
    """One kernel process, from the start of its interpreter to its end."""

    is_lost = False

    def __init__(self, options: KernelOptions):
        self._options = options
        self._oom_kills = count_oom_kills()
        self._process: subprocess.Popen[bytes] | None = None
        self.home = scratch.make_folder()
        self.about: Mapping[str, object] = {}
        try:
            self._connect()
        except BaseException:
            scratch.remove_folder(self.home)
            raise

    def _connect(self) -> None:
        """Creates everything that a kernel needs before its process starts."""
        self._context = context = zmq.asyncio.Context()
        context.linger = 0
        context.reconnect_ivl = 10
        context.maxmsgsize = _LARGEST_FRAME
        key = secrets.token_hex(32).encode()
        file = str(self.home.wire / "kernel.json")
        self._connection_file, connection = write_connection_file(
            file,
            key=key,
            **scratch.transport_options(self.home),  # type: ignore[arg-type]
        )
        self._client = AsyncKernelClient(context=context)
        self._client.load_connection_info(connection)
        self._client.session.unpack = unpack_part
        self.cells = CellClient(self._client)

    def launch(self) -> None:
        """Starts the process as the leader of a session and process group. Raises OSError."""
        sandbox, options = self._options.sandbox, self._options
        settings = {"rlimits": dict(sandbox.rlimits(options.limits)), "seed": options.seed}
        command = [sys.executable, "-c", _boot_source(), json.dumps(settings)]
        self._process = subprocess.Popen(  # noqa: S603  # our own command, wrapped by the sandbox
            sandbox.wrap([*command, "-f", self._connection_file, *_OPTIONS], self.home),
            cwd=self.home.work,
            env=_environment(options, self.home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._client.start_channels(stdin=False, hb=False)

    async def wait_until_ready(self) -> None:
        """Returns once requests are answered and output arrives."""
        while True:
            self._client.kernel_info()
            if await self._client.shell_channel.socket.poll(1000):
                await self._client.shell_channel.get_msg()
                # Output published before our subscription arrives is lost.
                if await self._client.iopub_channel.socket.poll(500):
                    break
        self.about = ask.read_description(
            await self._execute_silently(ask.startup_code(self._options.seed))
        )

    async def interrupt(self) -> None:
        """Returns once the kernel has confirmed the interrupt."""
        # By message, because a signal would end a sandbox process around the kernel.
        self._client.control_channel.send(self._client.session.msg("interrupt_request", {}))
        await self._client.control_channel.get_msg()

    async def ask(self, names: tuple[str, ...]) -> AskReply:
        """Returns the kernel's reply about *names*, by code executed silently."""
        return ask.parse_values(names, await self._execute_silently(ask.question_code(names)))

    async def call(self, request: str) -> str | None:
        return ask.reply_text(await self._execute_silently(ask.call_code(request)))

    async def _execute_silently(self, code: str) -> object:
        """Returns the content of the reply to *code*, executed silently."""
        sent = self._client.execute(
            code, silent=True, store_history=False, user_expressions=ask.EXPRESSIONS
        )
        return await self.cells.reply_to(sent, "execute_reply")

    def exit_future(self) -> asyncio.Future[None] | None:
        """Returns None, since this process has to be polled."""

    @property
    def places(self) -> tuple[ScratchFolder, ...]:
        return (self.home,)

    def read_usage(self) -> Usage | None:
        return read_usage([self._process.pid]) if self._process is not None else None

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None while the process runs."""
        if self._process is None:
            return 0
        if self._process.returncode is not None or not hasattr(os, "waitid"):
            return self._process.poll()
        # Check without reaping: the dead leader keeps its process id, so that killing the group
        # by that id can't hit an unrelated one.
        dead = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if dead is None:
            return None
        return dead.si_status if dead.si_code == os.CLD_EXITED else -dead.si_status

    @property
    def exceeded_limit(self) -> str | None:
        """MACHINE if the system killed it for lack of memory; no other limit is watched."""
        killed = sys.platform == "linux" and self.status == -signal.SIGKILL
        return MACHINE if killed and count_oom_kills() > self._oom_kills else None

    async def end(self) -> None:
        """Ends the kernel with all its processes and removes its folder."""
        with log_errors():
            self._kill()
        with log_errors():
            self._client.stop_channels()
        with log_errors():
            self._context.destroy(linger=0)
        scratch.remove_folder(self.home)

    def _kill(self) -> None:
        """Kills the process group, even if the kernel itself is dead, and reaps the process."""
        process, self._process = self._process, None
        if process is None:
            return
        if hasattr(os, "killpg"):
            # macOS refuses permission for a group with only dead processes.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


async def start(options: KernelOptions) -> KernelProcess:
    """Starts the process of a new kernel."""
    kernel = _ColdKernel(options)
    try:
        kernel.launch()
    except BaseException:
        await kernel.end()
        raise
    return kernel


def _become_ipykernel() -> None:
    """Sets resource limits and seeds, then runs ipykernel; its text is a kernel's command line."""
    settings = json.loads(sys.argv[1])
    os.umask(0o077)
    set_limits(settings["rlimits"])
    seed_all(settings["seed"])
    sys.argv = ["ipykernel_launcher", *sys.argv[2:]]
    if sys.path[0] == "":  # so that a student's file can't shadow a library
        del sys.path[0]
    from ipykernel import kernelapp

    kernelapp.launch_new_instance()


def _boot_source() -> str:
    parts = (inspect.getsource(limits), "import json, os", inspect.getsource(_become_ipykernel))
    return "\n".join((*parts, "_become_ipykernel()"))


def _environment(options: KernelOptions, home: ScratchFolder) -> dict[str, str]:
    """Returns the complete environment of a kernel."""
    variables = options.environment(home)
    if sys.platform != "win32":
        # Makes the kernel end by itself when this process is gone; Windows needs a handle.
        variables["JPY_PARENT_PID"] = str(os.getpid())
    return variables
