"""The wire to one kernel, as nbclient wants it: channels, without a task or a thread."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import select
import socket
from collections import deque
from typing import Any

from grader.inside.wire import BrokenWireError, Message, Unpacking, packed

_WAITING = 200
"""Messages that wait in each channel; behind them the kernel waits."""
_AT_ONCE = 262_144
"""Bytes that are taken in at a time, so that every clock gets its turn."""
_PAUSE_SECONDS = 0.002

_REPLIES = ("execute_reply", "said")


class Channel:
    """Messages of one kind, in order."""

    def __init__(self) -> None:
        self._messages: deque[dict[str, Any]] = deque()
        self._awaited: asyncio.Future[None] | None = None
        self._broken: Exception | None = None

    def put(self, message: dict[str, Any]) -> None:
        """Adds a message, and wakes who waits for one."""
        self._messages.append(message)
        self._wake()

    def fail(self, error: Exception) -> None:
        """After what has arrived, nothing more will that can be read."""
        self._broken = error
        self._wake()

    def _wake(self) -> None:
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_result(None)

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:
        """The next message; the caller has a clock of its own. Raises what it failed with."""
        del timeout
        while not self._messages:
            if self._broken is not None:
                raise self._broken
            self._awaited = asyncio.get_running_loop().create_future()
            await self._awaited
        return self._messages.popleft()

    def take(self, kind: str, to: str) -> dict[str, Any] | None:
        """The first message, if it is of that kind and answers that request."""
        if self._messages:
            first = self._messages[0]
            if first["msg_type"] == kind and first["parent_header"]["msg_id"] == to:
                return self._messages.popleft()
        return None

    def __len__(self) -> int:
        return len(self._messages)


class Channels:
    """Requests to a kernel, its replies and its output. Made and used in one loop."""

    def __init__(self, wire: socket.socket, key: bytes):
        self.shell_channel = Channel()
        self.iopub_channel = Channel()
        self.asked: tuple[str, ...] = ()
        """What the kernel is to look at after the next cell."""
        self._wire = wire
        self._key = key
        self._unpacking = Unpacking(key)
        self._numbers = itertools.count(1)
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._open = True
        wire.setblocking(False)
        self._loop.add_reader(wire, self._receive)

    def _receive(self) -> None:
        """Takes in what has arrived, a little at a time."""
        if not self._open:
            return
        if max(len(self.shell_channel), len(self.iopub_channel)) > _WAITING:
            self._loop.remove_reader(self._wire)
            self._loop.call_later(_PAUSE_SECONDS, self._again)
            return
        try:
            data = self._wire.recv(_AT_ONCE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._wire)  # how it ended, its guard says
            return
        self._unpacking.add(data)
        try:
            for message in self._unpacking.messages():
                self._put(message)
        except BrokenWireError as error:
            self._loop.remove_reader(self._wire)
            for channel in (self.shell_channel, self.iopub_channel):
                channel.fail(error)

    def glance(self, seconds: float) -> None:
        """Takes in what is there or comes within some seconds, without the loop."""
        if self._open and not len(self.shell_channel):
            poll = select.poll()
            poll.register(self._wire, select.POLLIN)
            if poll.poll(seconds * 1000):
                self._receive()

    def _again(self) -> None:
        if self._open:
            self._loop.add_reader(self._wire, self._receive)

    def _put(self, message: Message) -> None:
        content: dict[str, Any] | None = message.content
        if content is None:  # a stand-in that fits every place
            content = {"cut": message.size, "status": "error", "ename": "Error"}
            content["evalue"] = "(too long)"
        channel = self.shell_channel if message.kind in _REPLIES else self.iopub_channel
        channel.put(
            {
                "msg_type": message.kind,
                "header": {"msg_type": message.kind},
                "parent_header": {"msg_id": message.to},
                "content": content,
            }
        )

    def execute(self, code: str, **options: Any) -> str:
        """Sends a cell, and the names to look at when it is done; returns the request's number."""
        asked, self.asked = self.asked, ()
        cell = {"code": code, "silent": options.get("silent", False), "asked": list(asked)}
        return self._say("execute", cell)

    def ask(self, names: tuple[str, ...]) -> str:
        """Sends the names to look at now; returns the request's number."""
        return self._say("ask", {"asked": list(names)})

    def call(self, request: str) -> str:
        """Sends what is to be done with a student's function; returns the request's number."""
        return self._say("call", {"call": request})

    def _say(self, kind: str, content: dict[str, Any]) -> str:
        number = str(next(self._numbers))
        waiting = bool(self._unsent)
        self._unsent += packed(self._key, kind, number, content)
        if not waiting:
            self._send()
            if self._unsent and self._open:
                self._loop.add_writer(self._wire, self._send)
        return number

    def _send(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._wire.send(self._unsent)]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._unsent.clear()  # the kernel is gone, as its guard will say
        with contextlib.suppress(OSError, ValueError):
            self._loop.remove_writer(self._wire)

    def close(self) -> None:
        """Closes the wire."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._wire)
            self._loop.remove_writer(self._wire)
            self._wire.close()
