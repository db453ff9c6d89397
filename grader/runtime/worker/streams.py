"""Sends a kernel's output over one wire that all threads share, up to a limit."""

from __future__ import annotations

import io
import os
import select
import threading
import time
from collections.abc import Iterable
from typing import Any

from jupyter_client.session import Session, extract_header

from grader.runtime.worker.channel import pack_message

MOST_BYTES = 4_000_000
"""Limit in bytes for one cell; of further output, only a part and its length are sent."""
RESERVE = 1_000_000
"""Reserved for output that decides marks (values and stderr), and for the end of a stream."""
MOST_PRINTED = 128_000
"""Characters that are sent of the start of what a cell prints, of its end, and of one value."""

_CHUNK = 32_000
_PAUSE_SECONDS = 0.2
# Looked up once: a notebook may replace these functions, and its own calls alone count then.
_now, _process_id = time.monotonic, os.getpid


class Publisher:
    """The kernel's end of the wire, which any thread of its process may write to."""

    def __init__(self, wire: int, key: bytes):
        self._wire = wire
        self._key = key
        self._lock = threading.RLock()
        self._pid = _process_id()
        self._main = threading.main_thread()
        self._spent = 0
        self._dropped = 0
        """Bytes that were dropped and have not been reported."""
        self._unsent = bytearray()
        self._sending = self._interrupt = False

    def start_cell(self) -> None:
        """Resets the counters for a new cell."""
        self._spent = self._dropped = 0

    def send_message(self, kind: str, to: str, content: object, *, last: bool = False) -> None:
        """Sends a message, unless this is a child process of the kernel.

        Beyond the cell's limit, only the length of the message is sent, or added to that of later
        output. The end of a stream (*last*) and output that decides marks may use the reserve.
        """
        if _process_id() != self._pid:
            return
        message = pack_message(self._key, kind, to, content)
        name = content.get("name") if isinstance(content, dict) else None
        decides_marks = last or kind in ("status", "execute_result") or name == "stderr"
        room = MOST_BYTES + (RESERVE if decides_marks else 0) - self._spent
        if len(message) > room:
            size = len(message)
            message = pack_message(self._key, kind, to, {"name": name, "cut": size})
            if len(message) > room:
                self._dropped += size
                return
        self._spent += len(message)
        self._send(message)

    def send_replies(self, to: str, answers: Iterable[tuple[str, object]]) -> None:
        """Sends the replies to a request, all at once."""
        if _process_id() != self._pid:
            return
        messages = list(answers)
        if self._dropped:
            messages.insert(0, ("stream", {"name": "stdout", "cut": self._dropped}))
            self._dropped = 0
        packed = (pack_message(self._key, kind, to, content) for kind, content in messages)
        self._send(b"".join(packed))

    def _send(self, message: bytes) -> None:
        """Writes *message* whole, even if the main thread is interrupted meanwhile."""
        main = threading.current_thread() is self._main
        with self._lock:
            # An interrupt between two pieces would lose the rest of a message.
            self._sending = main or self._sending
            try:
                self._unsent += message
                while self._unsent:
                    try:
                        del self._unsent[: os.write(self._wire, self._unsent)]
                    except BlockingIOError:
                        select.select([], [self._wire], [])
            except OSError:
                self._unsent.clear()  # the grader is gone; the supervisor ends this process
            finally:
                if main:
                    self._sending = False
        if self._interrupt and main:
            self._interrupt = False
            raise KeyboardInterrupt

    def handle_interrupt(self, *_: object) -> None:
        """Handles SIGINT: raises KeyboardInterrupt, if needed after the current message is sent."""
        if self._sending:
            self._interrupt = True
        else:
            raise KeyboardInterrupt

    def close(self) -> None:
        """Closes the wire; nothing can be sent afterward."""
        wire, self._wire = self._wire, -1
        if wire >= 0:
            os.close(wire)

    def fileno(self) -> int:
        """Returns the descriptor of the wire."""
        return self._wire


class WireSession(Session):
    """Sends what libraries display over the wire, however they address it."""

    def send(
        self,
        stream: Any,
        msg_or_type: Any,
        content: Any = None,
        parent: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Sends the text of a Jupyter message; the grader reads neither pictures nor widgets."""
        if not isinstance(stream, Publisher):
            return super().send(stream, msg_or_type, content, parent, *args, **kwargs)
        if isinstance(msg_or_type, dict):
            message = msg_or_type
        else:
            about = extract_header(parent) if parent else {}
            message = {"msg_type": msg_or_type, "parent_header": about, "content": content}
        to = str((message.get("parent_header") or {}).get("msg_id", ""))
        if message["msg_type"] == "error":
            stream.send_message("error", to, message["content"])
        elif message["msg_type"] in ("display_data", "execute_result"):
            text = message["content"]["data"].get("text/plain")
            if isinstance(text, str):
                sent: dict[str, Any] = {"data": {"text/plain": text[:MOST_PRINTED]}}
                cut = {"cut": len(text) - MOST_PRINTED} if len(text) > MOST_PRINTED else {}
                stream.send_message(message["msg_type"], to, sent | cut)
        return message


class Stream(io.TextIOBase):
    """Sends in messages what the code prints; replaces sys.stdout or sys.stderr."""

    encoding = "UTF-8"
    errors = "replace"

    def __init__(self, name: str, publisher: Publisher, caught: int):
        self.name = name
        self.parent_header: Any = {}
        self._publisher = publisher
        self._caught = caught if name == "stdout" else -1
        self._read = 0
        self._lock = threading.RLock()
        self._pid = _process_id()
        self._reset()

    def _reset(self) -> None:
        """Starts with empty buffers and a full allowance for another request."""
        self._parts: list[str] = []
        self._size = 0
        self._tail: list[str] = []
        self._tail_size = 0
        self._left = MOST_PRINTED
        self._cut = 0
        self._sent = _now()

    def set_parent(self, parent: Any) -> None:
        """Assigns further output to the request *parent*."""
        with self._lock:
            self.flush()
            self.parent_header = parent.get("header", {})
            self._reset()
            self._publisher.start_cell()
            if self._read:
                os.ftruncate(self._caught, 0)
                self._read = 0

    def write(self, text: str) -> int:
        """Buffers *text*, and sends the buffer if it is large or old."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if _process_id() != self._pid:  # a child's output is caught with that of C code
            os.write(1, text.encode("utf-8", "replace"))
            return len(text)
        with self._lock:
            kept = text[: self._left]
            self._left -= len(kept)
            if kept:
                self._parts.append(kept)
                self._size += len(kept)
            if len(kept) < len(text):
                self._keep_tail(text[len(kept) :])
            if self._size > _CHUNK or _now() - self._sent > _PAUSE_SECONDS:
                self._send()
        return len(text)

    def _keep_tail(self, text: str) -> None:
        """Appends *text*, which exceeds the allowance, to the end that is sent last."""
        self._tail.append(text)
        self._tail_size += len(text)
        if self._tail_size > 2 * MOST_PRINTED:
            self._cut_tail()

    def _cut_tail(self) -> None:
        """Shortens the kept end to MOST_PRINTED characters, and counts the rest as cut."""
        kept = "".join(self._tail)[-MOST_PRINTED:]
        self._cut += self._tail_size - len(kept)
        self._tail, self._tail_size = [kept], len(kept)

    def flush(self) -> None:
        """Sends the text that was printed since the last message."""
        if _process_id() != self._pid:
            return
        with self._lock:
            self._collect_c_output()
            if self._parts:  # a count alone is not sent, or flushing would use up the limit
                self._send()

    def _collect_c_output(self) -> None:
        """Adds what was written to the descriptors 1 and 2 since the last time."""
        if self._caught < 0:
            return
        size = os.fstat(self._caught).st_size
        if size > self._read:
            skipped = max(size - self._read - MOST_PRINTED, 0)
            self._cut += skipped
            data = os.pread(self._caught, MOST_PRINTED, self._read + skipped)
            self._read = size
            self.write(data.decode("utf-8", "replace"))

    def send_rest(self) -> None:
        """Sends the rest, including the end of output that was too long."""
        with self._lock:
            self._collect_c_output()
            self._cut_tail()
            self._parts += self._tail
            self._tail, self._tail_size = [], 0
            self._send(last=True)

    def _send(self, *, last: bool = False) -> None:
        """Sends the collected text, and how much of the output was cut."""
        self._sent = _now()
        text = "".join(self._parts)
        if not text and not self._cut:
            return
        self._parts, self._size = [], 0
        content: dict[str, object] = {"name": self.name, "text": text}
        if self._cut:
            content["cut"], self._cut = self._cut, 0
        to = self.parent_header.get("msg_id", "")
        self._publisher.send_message("stream", str(to), content, last=last)

    def fileno(self) -> int:
        """Returns a descriptor whose output is also collected."""
        return 1 if self.name == "stdout" else 2

    def writable(self) -> bool:
        """Returns True, as streams for writing do."""
        return True
