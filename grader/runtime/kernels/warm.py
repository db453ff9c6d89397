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
from grader.runtime.kernels.pool import nursery
from grader.runtime.kernels.session import tidying
from grader.runtime.sandbox import Place


class WarmKernel:
    """One forked kernel, from its fork to its end."""

    foresees = True

    def __init__(self, born: ForkedKernel):
        self._born = born
        self._channels: Channels | None = None
        self.about: Mapping[str, object] = born.about
        self.cells = CellClient()
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(born.line, self._hear)
        self._hear()

    def _hear(self) -> None:
        self._born.listen()
        if self.status is not None:
            self._loop.remove_reader(self._born.line)
        news, self._news = self._news, self._loop.create_future()
        if not news.done():
            news.set_result(None)

    async def started(self) -> None:
        """Returns once the kernel listens for requests."""
        while not self._born.ready:
            if self._born.failed:
                raise RuntimeError(self._born.failed)
            await asyncio.shield(self._news)
        self._channels = Channels(self._born.wire, self._born.key)
        self.cells.kc = self._channels

    async def interrupt(self) -> None:
        """Returns once the supervisor has sent the signal."""
        before = self._born.interrupted
        self._born.interrupt()
        while self._born.interrupted == before:
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
        return (self._born.place, self._born.inner)

    @property
    def pid(self) -> int | None:
        """The process id outside of its namespace."""
        return self._born.pid

    def usage(self) -> Usage | None:
        """The processor time of its processes so far."""
        group = self._born.group
        return usage(self._born.roots, cpu_seconds=group.cpu_seconds() if group else None)

    @property
    def status(self) -> int | None:
        """How the process ended; None while it runs."""
        return 1 if self._born.lost else self._born.status

    @property
    def hit(self) -> str | None:
        """The limit for which the supervisor, or the system, ended one of its processes."""
        return self._born.passed()

    @property
    def lost(self) -> bool:
        """Whether the supervisor is gone, which no notebook can cause."""
        return self._born.lost

    async def end(self) -> None:
        """Ends it with all its processes, and removes its folder."""
        with tidying():
            self._loop.remove_reader(self._born.line)
        with tidying():
            if self._channels is not None:
                self._channels.close()
        with tidying():
            nursery.end(self._born)


async def start(terms: Terms, *, ahead: bool = True) -> WarmKernel:
    """Takes a kernel from the pool. Raises NotStartedError."""
    way = LaunchSpec(
        sandbox=terms.sandbox,
        device=terms.device,
        limits=terms.limits,
        loopback=terms.loopback,
        seed=terms.seed,
        imports=terms.imports,
        variables=terms.variables,
    )
    born = nursery.take(way, ahead=ahead)
    try:
        return WarmKernel(born)
    except BaseException:
        nursery.end(born)
        raise
