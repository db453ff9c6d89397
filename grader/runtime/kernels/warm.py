"""A kernel forked from a fork server, with its own wire."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from grader.runtime.kernels.base import AskReply, KernelOptions
from grader.runtime.kernels.channels import Channels
from grader.runtime.kernels.client import CellClient
from grader.runtime.kernels.contention import Usage, read_usage
from grader.runtime.kernels.forked import ForkedKernel
from grader.runtime.kernels.pool import kernel_pool
from grader.runtime.kernels.session import KernelProcess, log_errors
from grader.runtime.sandbox import ScratchFolder


class _WarmKernel:
    """One forked kernel, from its fork to its end."""

    def __init__(self, forked: ForkedKernel):
        self._forked = forked
        self._channels: Channels | None = None
        self.about: Mapping[str, object] = forked.about
        self.cells = CellClient()
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(forked.line, self._read_messages)
        self._read_messages()

    def _read_messages(self) -> None:
        """Handles the supervisor's new messages, and wakes all who wait for one."""
        self._forked.read_messages()
        if self.status is not None:
            self._loop.remove_reader(self._forked.line)
        news, self._news = self._news, self._loop.create_future()
        if not news.done():
            news.set_result(None)

    async def wait_until_ready(self) -> None:
        while not self._forked.ready:
            if self._forked.failure:
                raise RuntimeError(self._forked.failure)
            await asyncio.shield(self._news)
        self._channels = Channels(self._forked.wire, self._forked.key)
        self.cells.kc = self._channels

    async def interrupt(self) -> None:
        """Returns once the supervisor has sent the signal."""
        before = self._forked.interrupt_count
        self._forked.interrupt()
        while self._forked.interrupt_count == before:
            await asyncio.shield(self._news)

    async def ask(self, names: tuple[str, ...]) -> AskReply:
        return await self.cells.ask(names)

    async def call(self, request: str) -> str | None:
        return await self.cells.call(request)

    def exit_future(self) -> asyncio.Future[None]:
        """Returns a future that is done when the supervisor sends a message."""
        return self._news

    @property
    def places(self) -> tuple[ScratchFolder, ...]:
        """The kernel's folder, by its path outside and by its path inside the sandbox."""
        return (self._forked.place, self._forked.inner)

    def read_usage(self) -> Usage | None:
        group = self._forked.group
        return read_usage(self._forked.roots, cpu_seconds=group.cpu_seconds() if group else None)

    @property
    def status(self) -> int | None:
        return 1 if self._forked.is_lost else self._forked.status

    @property
    def exceeded_limit(self) -> str | None:
        """The limit for which the supervisor or the system ended one of the kernel's processes."""
        return self._forked.find_exceeded_limit()

    @property
    def is_lost(self) -> bool:
        return self._forked.is_lost

    async def end(self) -> None:
        """Ends the kernel with all its processes, and removes its folder."""
        with log_errors():
            self._loop.remove_reader(self._forked.line)
        with log_errors():
            if self._channels is not None:
                self._channels.close()
        with log_errors():
            kernel_pool.end(self._forked)


async def start(options: KernelOptions) -> KernelProcess:
    """Takes a kernel from the pool. Raises NotStartedError."""
    forked = kernel_pool.take(options.launch_spec, options.limits, spare=options.more_follow)
    try:
        return _WarmKernel(forked)
    except BaseException:
        kernel_pool.end(forked)
        raise
