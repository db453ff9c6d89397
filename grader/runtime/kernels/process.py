"""What a session needs of one kernel process, however it was started."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from grader.runtime.kernels.base import AskReply
from grader.runtime.kernels.client import CellClient
from grader.runtime.kernels.contention import Usage
from grader.runtime.sandbox import ScratchFolder

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
