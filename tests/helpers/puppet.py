"""A kernel that says whatever a test makes it say, over a real wire; for tests of who reads it."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from grader.model import Limits
from grader.runtime.kernels import AskReply, KernelOptions
from grader.runtime.kernels.channels import Channels
from grader.runtime.kernels.client import CellClient
from grader.runtime.kernels.session import KernelSession
from grader.runtime.sandbox import ScratchFolder, choose_sandbox
from grader.runtime.worker.channel import Message, MessageReader, pack_message

KEY = b"of this kernel"
IDLE = ("status", {"execution_state": "idle"})
DONE = ("execute_reply", {"status": "ok"})

Line = tuple[str, object]
"""A kind and a content; bytes are a content that is no JSON, or some that is hard to read."""
Script = Callable[[Message], Sequence[Line]]
"""What is said to a request."""


def signed(kind: str, to: str, content: object) -> bytes:
    """A message as it is sent."""
    if not isinstance(content, bytes):
        return pack_message(KEY, kind, to, content)
    head = json.dumps({"kind": kind, "to": to}).encode()
    tag = hmac.digest(KEY, head + content, "sha256")
    return struct.pack("!II", len(head), len(content)) + tag + head + content


def answer(request: Message) -> list[Line]:
    """What an honest kernel without a single name says."""
    return [DONE, IDLE] if request.kind == "execute" else [("said", {"said": "e30="})]


class Puppet:
    """A kernel as a session knows it."""

    about: Mapping[str, Any] = {}
    places: tuple[ScratchFolder, ...] = ()
    status = exceeded_limit = None
    is_lost = False

    def __init__(self, script: Script):
        self._script = script
        self.cells = CellClient()

    async def wait_until_ready(self) -> None:
        ours, theirs = socket.socketpair()
        self._channels = self.cells.kc = Channels(ours, KEY)
        threading.Thread(target=self._serve, args=(theirs,), daemon=True).start()

    def _serve(self, wire: socket.socket) -> None:
        unpacking = MessageReader(KEY)
        with wire, contextlib.suppress(OSError):
            while data := wire.recv(100_000):
                unpacking.add(data)
                for request in unpacking.iter_messages():
                    for kind, content in self._script(request):
                        wire.sendall(signed(kind, request.to, content))

    async def interrupt(self) -> None:
        pass

    async def ask(self, names: tuple[str, ...]) -> AskReply:
        return await self.cells.ask(names)

    async def call(self, request: str) -> str | None:
        return await self.cells.call(request)

    def exit_future(self) -> asyncio.Future[None] | None:
        return None

    def read_usage(self) -> None:
        return None

    async def end(self) -> None:
        self._channels.close()


@contextlib.contextmanager
def puppet(script: Script) -> Iterator[KernelSession]:
    """A session with a kernel that says what *script* gives."""

    async def start(_: KernelOptions) -> Puppet:
        return Puppet(script)

    options = KernelOptions(limits=Limits(), sandbox=choose_sandbox("off").sandbox)
    session = KernelSession(options, start)
    try:
        yield session
    finally:
        session.close()
