"""A kernel forked from a fork server, with its own wire."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from grader.runtime.kernels.base import AskReply, Terms
from grader.runtime.kernels.channels import Channels
from grader.runtime.kernels.client import CellClient
from grader.runtime.kernels.contention import Usage, usage
from grader.runtime.kernels.fork_server import LaunchSpec
from grader.runtime.kernels.forked import ForkedKernel
from grader.runtime.kernels.pool import kernel_pool
from grader.runtime.kernels.session import tidying
from grader.runtime.sandbox import Place


class WarmKernel:
    """One forked kernel, from its fork to its end."""

    prefetches = True

    def __init__(self, forked: ForkedKernel):
        self._forked = forked
        self._channels: Channels | None = None
        self.about: Mapping[str, object] = forked.about
        self.cells = CellClient()
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(forked.line, self._hear)
        self._hear()

    def _hear(self) -> None:
        self._forked.listen()
        if self.status is not None:
            self._loop.remove_reader(self._forked.line)
        news, self._news = self._news, self._loop.create_future()
        if not news.done():
            news.set_result(None)

    async def started(self) -> None:
        """Returns once the kernel listens for requests."""
        while not self._forked.ready:
            if self._forked.failed:
                raise RuntimeError(self._forked.failed)
            await asyncio.shield(self._news)
        self._channels = Channels(self._forked.wire, self._forked.key)
        self.cells.kc = self._channels

    async def interrupt(self) -> None:
        """Returns once the supervisor has sent the signal."""
        before = self._forked.interrupted
        self._forked.interrupt()
        while self._forked.interrupted == before:
            await asyncio.shield(self._news)

    async def ask(self, names: tuple[str, ...]) -> AskReply:
        """The kernel's reply about *names*."""
        return await self.cells.ask(names)

    async def call(self, request: str) -> str | None:
        """The kernel's reply to *request*."""
        return await self.cells.call(request)

    def changed(self) -> asyncio.Future[None]:
        """A future that is done when the supervisor sends a message."""
        return self._news

    @property
    def places(self) -> tuple[Place, ...]:
        """The kernel's folder, by its path outside and by its path inside the sandbox."""
        return (self._forked.place, self._forked.inner)

    @property
    def pid(self) -> int | None:
        """The process id outside of its namespace."""
        return self._forked.pid

    def usage(self) -> Usage | None:
        """The processor time of its processes so far."""
        group = self._forked.group
        return usage(self._forked.roots, cpu_seconds=group.cpu_seconds() if group else None)

    @property
    def status(self) -> int | None:
        """How the process ended; None while it runs."""
        return 1 if self._forked.lost else self._forked.status

    @property
    def hit(self) -> str | None:
        """The limit for which the supervisor, or the system, ended one of its processes."""
        return self._forked.limit_exceeded()

    @property
    def lost(self) -> bool:
        """Whether the supervisor is gone, which no notebook can cause."""
        return self._forked.lost

    async def end(self) -> None:
        """Ends it with all its processes, and removes its folder."""
        with tidying():
            self._loop.remove_reader(self._forked.line)
        with tidying():
            if self._channels is not None:
                self._channels.close()
        with tidying():
            kernel_pool.end(self._forked)


async def start(terms: Terms) -> WarmKernel:
    """Takes a kernel from the pool. Raises NotStartedError."""
    spec = LaunchSpec(
        sandbox=terms.sandbox,
        device=terms.device,
        loopback=terms.loopback,
        seed=terms.seed,
        imports=terms.imports,
        variables=terms.variables,
    )
    forked = kernel_pool.take(spec, terms.limits, spare=terms.more_follow)
    try:
        return WarmKernel(forked)
    except BaseException:
        kernel_pool.end(forked)
        raise
