"""Where a kernel's output goes: over one socket that all threads share, and never too much."""

from __future__ import annotations

import io
import os
import threading
import time
from collections import deque
from typing import Any

MOST_BYTES = 4_000_000
"""Published for one cell; what comes later is dropped, but for the news that the cell is done."""
MOST_PRINTED = 256_000
"""Characters at the start of what a cell prints, and as many at its end, that are sent."""

_CHUNK = 32_000
_PAUSE_SECONDS = 0.2


class Publisher:
    """A PUB socket that may be used by any thread of the process it was made in."""

    def __init__(self, socket: Any):
        self._socket = socket
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._spent = 0

    def fresh(self) -> None:
        """Another cell begins."""
        self._spent = 0

    def send_multipart(self, parts: Any, *args: Any, **kwargs: Any) -> None:
        """Sends a message, unless this is a child of the kernel's or the cell has sent enough."""
        if os.getpid() != self._pid:
            return
        self._spent += sum(map(len, parts))
        if self._spent > MOST_BYTES and not parts[0].endswith(b"status"):
            return
        with self._lock:
            self._socket.send_multipart(parts, *args, **kwargs)

    def send(self, part: Any, *args: Any, **kwargs: Any) -> None:
        """The same for a message of one part."""
        self.send_multipart([part], *args, **kwargs)


class Stream(io.TextIOBase):
    """What stands in for sys.stdout or sys.stderr."""

    encoding = "UTF-8"
    errors = "replace"

    def __init__(self, name: str, session: Any, publisher: Publisher, caught: int):
        self.name = name
        self.parent_header: Any = {}
        self._session = session
        self._publisher = publisher
        self._caught = caught if name == "stdout" else -1
        self._read = 0
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._begin()

    def _begin(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._left = MOST_PRINTED
        self._cut = 0
        self._sent = time.monotonic()

    def set_parent(self, parent: Any) -> None:
        """What is printed from now on belongs to the request *parent*."""
        with self._lock:
            self.flush()
            self.parent_header = parent.get("header", {})
            self._begin()
            self._publisher.fresh()
            if self._read:
                os.ftruncate(self._caught, 0)
                self._read = 0

    def write(self, text: str) -> int:
        """Keeps *text* for a moment, and sends what has gathered."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if os.getpid() != self._pid:  # a child's output is caught with that of C code
            os.write(1, text.encode("utf-8", "replace"))
            return len(text)
        with self._lock:
            kept = text[: self._left]
            self._left -= len(kept)
            if kept:
                self._parts.append(kept)
                self._size += len(kept)
            if len(kept) < len(text):
                self._overflow(text[len(kept) :])
            if self._size > _CHUNK or time.monotonic() - self._sent > _PAUSE_SECONDS:
                self._send()
        return len(text)

    def _overflow(self, text: str) -> None:
        if len(text) > MOST_PRINTED:
            self._cut += len(text) - MOST_PRINTED
            text = text[-MOST_PRINTED:]
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail_size - len(self._tail[0]) > MOST_PRINTED:
            dropped = len(self._tail.popleft())
            self._tail_size -= dropped
            self._cut += dropped

    def flush(self) -> None:
        """Sends all that there is."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._gather()
            self._send()

    def _gather(self) -> None:
        """Adds what the descriptors 1 and 2 got, from the last time on."""
        if self._caught < 0:
            return
        size = os.fstat(self._caught).st_size
        if size > self._read:
            skipped = max(size - self._read - MOST_PRINTED, 0)
            self._cut += skipped
            data = os.pread(self._caught, MOST_PRINTED, self._read + skipped)
            self._read = size
            self.write(data.decode("utf-8", "replace"))

    def end(self) -> None:
        """Sends also the end of what was too long."""
        with self._lock:
            self._gather()
            self._parts += self._tail
            self._tail.clear()
            self._tail_size = 0
            self._send()

    def _send(self) -> None:
        self._sent = time.monotonic()
        text = "".join(self._parts).encode("utf-8", "replace").decode()
        if not text and not self._cut:
            return
        self._parts, self._size = [], 0
        content: dict[str, object] = {"name": self.name, "text": text}
        if self._cut:
            content["cut"], self._cut = self._cut, 0
        self._session.send(
            self._publisher,
            "stream",
            content,
            parent={"header": self.parent_header},
            ident=b"stream." + self.name.encode(),
        )

    def fileno(self) -> int:
        """A descriptor that may be written to as well."""
        return 1 if self.name == "stdout" else 2

    def isatty(self) -> bool:
        """Never."""
        return False

    def writable(self) -> bool:
        """Always."""
        return True
