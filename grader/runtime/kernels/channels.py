"""Channels to one kernel, in the form that nbclient expects, without tasks or threads."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections import deque
from typing import Any

from grader.runtime.worker.channel import (
    LONGEST,
    BrokenWireError,
    Message,
    MessageReader,
    pack_message,
)

_WAITING = 200
"""Limit on queued output messages; beyond it the kernel has to wait."""
_WAITING_BYTES = 1_000_000
"""Limit on queued output in bytes; the last message may exceed it."""
_LONGEST_OUTPUT = 4_000_000
"""Limit on one output message in bytes: our kernels send no more for a whole cell."""
_LONGEST_REPLY = 1_000_000
"""Limit in bytes on a message about the end of a cell, which holds at most an error."""
_AT_ONCE = 262_144
"""Bytes read at a time, so that every clock gets its turn."""
_PAUSE_SECONDS = 0.002

_REPLIES = {"execute_reply": _LONGEST_REPLY, "said": LONGEST}
_UNWANTED = -1


class Channel:
    """Messages of one kind, in order."""

    def __init__(self) -> None:
        self._messages: deque[tuple[dict[str, Any], int]] = deque()
        self._bytes = 0
        self._awaited: asyncio.Future[None] | None = None
        self._broken: Exception | None = None

    def put(self, message: dict[str, Any], size: int) -> None:
        """Adds a message of *size* bytes, and wakes the waiting reader."""
        self._messages.append((message, size))
        self._bytes += size
        self._wake()

    def clear(self) -> None:
        """Drops all queued messages."""
        self._messages.clear()
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the queue has reached its limit."""
        return len(self._messages) > _WAITING or self._bytes > _WAITING_BYTES

    def fail(self, error: Exception) -> None:
        """Makes readers raise *error* once the queued messages are read."""
        self._broken = error
        self._wake()

    def _wake(self) -> None:
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_result(None)

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:
        """Returns the next message, without a timeout. Raises the error passed to `fail`."""
        del timeout
        while not self._messages:
            if self._broken is not None:
                raise self._broken
            self._awaited = asyncio.get_running_loop().create_future()
            await self._awaited
        message, size = self._messages.popleft()
        self._bytes -= size
        return message


class Channels:
    """Requests to a kernel, its replies and its output. Create and use it in one event loop."""

    def __init__(self, wire: socket.socket, key: bytes):
        self.shell_channel = Channel()
        self.iopub_channel = Channel()
        self._wire = wire
        self._key = key
        self._unpacking = MessageReader(key, room=self._longest_accepted)
        self._sent = ""
        """The last request; replies to earlier ones are ignored."""
        self._due = ""
        """The kind of the reply to the last request; empty once it has arrived."""
        self._shows = False
        """Whether the last request is a cell that still runs, so that output is wanted."""
        self._numbers = itertools.count(1)
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._open = True
        wire.setblocking(False)
        self._loop.add_reader(wire, self._receive)

    def _receive(self) -> None:
        """Reads what has arrived, a little at a time."""
        if not self._open:
            return
        if self.iopub_channel.is_full:
            self._loop.remove_reader(self._wire)
            self._loop.call_later(_PAUSE_SECONDS, self._resume_reading)
            return
        try:
            data = self._wire.recv(_AT_ONCE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._wire)  # its supervisor reports how it ended
            return
        self._unpacking.add(data)
        try:
            for message in self._unpacking.iter_messages():
                self._deliver(message)
        except BrokenWireError as error:
            self._loop.remove_reader(self._wire)
            for channel in (self.shell_channel, self.iopub_channel):
                channel.fail(error)

    def _resume_reading(self) -> None:
        if self._open:
            self._loop.add_reader(self._wire, self._receive)

    def _longest_accepted(self, kind: str, to: str) -> int:
        """Returns the limit in bytes on the content of a message; negative if none is expected.

        Unexpected messages must not delay expected ones, nor take memory.
        """
        if to != self._sent:
            return _UNWANTED
        if kind in _REPLIES:
            return _REPLIES[kind] if kind == self._due else _UNWANTED
        return _LONGEST_OUTPUT if self._shows else _UNWANTED

    def _deliver(self, message: Message) -> None:
        """Puts *message*, unless it is no longer expected, into the channel that nbclient reads."""
        if self._longest_accepted(message.kind, message.to) < 0:  # since its head arrived
            return
        content: dict[str, Any] | None = message.content
        if content is None:  # a stand-in that fits every place
            content = {"cut": message.size, "status": "error", "ename": "Error"}
            content["evalue"] = "(too long)"
        channel = self.iopub_channel
        if message.kind in _REPLIES:
            self._due = ""
            channel = self.shell_channel
        elif message.kind == "status" and content.get("execution_state") == "idle":
            self._shows = False
        channel.put(
            {
                "msg_type": message.kind,
                "header": {"msg_type": message.kind},
                "parent_header": {"msg_id": message.to},
                "content": content,
            },
            0 if message.content is None else message.size,
        )

    def execute(self, code: str, **options: Any) -> str:
        """Sends a cell; returns the request's number."""
        cell = {"code": code, "silent": options.get("silent", False)}
        return self._send_request("execute", cell, "execute_reply")

    def ask(self, names: tuple[str, ...]) -> str:
        """Sends the names to report now; returns the request's number."""
        return self._send_request("ask", {"asked": list(names)}, "said")

    def call(self, request: str) -> str:
        """Sends a request about a student's function; returns the request's number."""
        return self._send_request("call", {"call": request}, "said")

    def _send_request(self, kind: str, content: dict[str, Any], reply: str) -> str:
        """Sends a request that expects a *reply* of this kind, and returns its number."""
        number = str(next(self._numbers))
        self._sent = number
        self._due = reply
        self.shell_channel.clear()
        self.iopub_channel.clear()
        self._shows = kind == "execute"
        was_waiting = bool(self._unsent)
        self._unsent += pack_message(self._key, kind, number, content)
        if not was_waiting:
            self._send_pending()
            if self._unsent and self._open:
                self._loop.add_writer(self._wire, self._send_pending)
        return number

    def _send_pending(self) -> None:
        """Writes as much of the unsent requests as the wire takes without waiting."""
        try:
            while self._unsent:
                del self._unsent[: self._wire.send(self._unsent)]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._unsent.clear()  # the kernel has ended, as its supervisor will report
        with contextlib.suppress(OSError, ValueError):
            self._loop.remove_writer(self._wire)

    def close(self) -> None:
        """Closes the wire to the kernel, and stops waiting for it."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._wire)
            self._loop.remove_writer(self._wire)
            self._wire.close()
