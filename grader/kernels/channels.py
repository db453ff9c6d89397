"""The sockets of one kernel, as nbclient wants them, without a task or a thread of their own."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import cache
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.session import Session

LARGEST_FRAME = 16_000_000
"""Bytes; what sends a larger one is cut off."""

_WAITING = 200
"""Messages that wait in each socket; behind them the kernel waits, or drops what it prints."""


_AT_ONCE = 100
_PAUSE_SECONDS = 0.002


class Channel:
    """Messages of one socket, in order."""

    def __init__(self) -> None:
        self._messages: deque[dict[str, Any]] = deque()
        self._awaited: asyncio.Future[None] | None = None

    def put(self, message: dict[str, Any]) -> None:
        """Adds a message, and wakes who waits for one."""
        self._messages.append(message)
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_result(None)

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:
        """The next message; the caller has a clock of its own."""
        del timeout
        while not self._messages:
            self._awaited = asyncio.get_running_loop().create_future()
            await self._awaited
        return self._messages.popleft()

    def __len__(self) -> int:
        return len(self._messages)


class Channels:
    """Requests to a kernel, its replies and its output. Made and used in one loop."""

    def __init__(self, wire: Path, key: bytes, unpack: Any):
        self.session = Session(key=key, unpack=unpack)
        self.shell_channel = Channel()
        self.iopub_channel = Channel()
        self.asked: tuple[str, ...] = ()
        self.call: str | None = None
        """What is to be done with a student's function after the next cell."""
        self._loop = asyncio.get_running_loop()
        self._sockets: list[tuple[Any, Channel]] = []
        try:
            self._connect(zmq.DEALER, wire / "k-1", self.shell_channel)
            self._connect(zmq.SUB, wire / "k-2", self.iopub_channel)
        except BaseException:
            self.close()
            raise

    def _connect(self, kind: int, path: Path, channel: Channel) -> None:
        socket: Any = _context().socket(kind)
        self._sockets.append((socket, channel))
        if kind == zmq.SUB:
            socket.subscribe(b"")
        socket.connect(f"ipc://{path}")
        self._loop.add_reader(socket.fd, self._receive)
        # The descriptor tells of a change only; what had arrived before is looked for once.
        self._loop.call_soon(self._receive)

    def _receive(self) -> None:
        """Takes in what has arrived, a little at a time, so that every clock gets its turn."""
        left = _AT_ONCE
        for socket, channel in self._sockets:
            while not socket.closed and socket.getsockopt(zmq.EVENTS) & zmq.POLLIN:
                if left == 0 or len(channel) > _WAITING:
                    self._loop.call_later(_PAUSE_SECONDS, self._receive)
                    break
                left -= 1
                parts = socket.recv_multipart(zmq.NOBLOCK)
                message = self._message(parts)
                if message is not None:
                    channel.put(message)

    def _message(self, parts: list[bytes]) -> dict[str, Any] | None:
        try:
            _, rest = self.session.feed_identities(parts)
            return self.session.deserialize(rest)
        except Exception:  # noqa: BLE001  # forged, garbled or said before: as if never said
            return None

    def execute(self, code: str, **options: Any) -> str:
        """Sends a cell, and the names to ask for when it is done; returns the request's id.

        Raises zmq.Again when the kernel takes no messages any more.
        """
        content: dict[str, Any] = {
            "code": code,
            "silent": options.get("silent", False),
            "store_history": options.get("store_history", True),
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": options.get("stop_on_error", False),
        }
        if self.asked:
            content["asked"], self.asked = list(self.asked), ()
        if self.call is not None:
            content["call"], self.call = self.call, None
        message = self.session.msg("execute_request", content)
        self.session.send(self._sockets[0][0], message)
        # Sending may have used up the news of something that has arrived.
        self._loop.call_soon(self._receive)
        return str(message["header"]["msg_id"])

    def close(self) -> None:
        """Closes both sockets."""
        for socket, _ in self._sockets:
            self._loop.remove_reader(socket.fd)
            socket.close(linger=0)
        self._sockets.clear()


@cache
def _context() -> zmq.Context[zmq.Socket[bytes]]:
    """One for all kernels of this process: each costs two threads."""
    context = zmq.Context()
    context.linger = 0
    # Never once more: by then something else may lie where the kernel's socket was.
    context.reconnect_ivl = -1
    context.maxmsgsize = LARGEST_FRAME
    context.rcvhwm = _WAITING
    context.sndtimeo = 0  # a kernel that has closed its sockets must not hold anybody up
    return context
