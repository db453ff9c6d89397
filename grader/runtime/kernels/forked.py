"""A kernel that a parent has forked, as the grader sees it: by the line to its guard."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.runtime.kernels import scratch as place
from grader.runtime.kernels.contention import MACHINE, oom_kills
from grader.runtime.sandbox import Group, Place
from grader.runtime.worker import ipc

ENDING_SECONDS = 60.0
"""For everything that came of a submission to be gone; a second is long."""


@dataclass(slots=True)
class Born:
    """A kernel that was forked: its folder, its key, and the line to its guard."""

    place: Place
    inner: Place
    line: socket.socket
    wire: socket.socket
    """Between the kernel itself and the grader."""
    about: Mapping[str, Any]
    """Interpreter, platform and packages, as its parent told."""
    group: Group | None = None
    status: int | None = None
    """How it ended, negative for a signal; None while it runs."""
    hit: str | None = None
    """The limit for which the guard ended it."""
    failed: str | None = None
    """Why it did not start."""
    ready: bool = False
    key: bytes = b""
    """Signs the messages of kernel and grader; known when the kernel is ready."""
    interrupted: int = 0
    lost: bool = False
    """The guard is gone without a word: not the kernel's doing."""
    _itself: list[int] = field(default_factory=list)
    """Descriptors of the process and of its guard, when it is ready."""
    _oom_kills: int = field(default_factory=oom_kills)
    """Of the whole machine, when this kernel was forked."""

    @property
    def pid(self) -> int | None:
        """The number of the process, as it is known here; None before it is ready."""
        return _number(self._itself[0]) if self._itself else None

    @property
    def roots(self) -> list[int]:
        """The kernel and its guard: all processes of the submission are below one of them."""
        return [pid for file in self._itself if (pid := _number(file)) is not None]

    def listen(self) -> None:
        """Takes in what the guard has said, and waits for nothing."""
        while self.status is None and not self.lost and readable(self.line, 0):
            message, files = ipc.hear(self.line)
            if message is None:
                self._gone()
                return
            self._itself += files
            self._take(message)

    def _gone(self) -> None:
        """The guard said nothing more: the machine, or the limit of its group, has ended it."""
        self.hit = self.group.hit() if self.group is not None else None
        if self.hit is None:
            self.lost = True
        else:
            self.status = -signal.SIGKILL

    def _take(self, message: dict[str, Any]) -> None:
        match message.get("is"):
            case "ready":
                self.ready, self.key = True, str(message.get("key")).encode()
            case "interrupted":
                self.interrupted += 1
            case "failed":
                self.failed, self.status = str(message.get("what")), 1
            case "ended":
                self.status = int(message.get("status", 1))
                self.hit = message.get("hit")
                if self.hit is None and self.status == -signal.SIGKILL:
                    self.hit = self._killed_for()

    def _killed_for(self) -> str | None:
        """The limit for which the system may have killed it; None if it was nobody's limit."""
        hit = self.group.hit() if self.group is not None else None
        return hit or (MACHINE if oom_kills() > self._oom_kills else None)

    def passed(self) -> str | None:
        """The limit for which it, or one of its processes, was ended."""
        found = self.group.hit() if self.hit is None and self.group is not None else None
        return found if found in ("memory", MACHINE) else self.hit

    def interrupt(self) -> None:
        """Asks the guard to interrupt what runs; `interrupted` counts when it has."""
        with contextlib.suppress(OSError):
            ipc.say(self.line, {"do": "interrupt"})

    def dismiss(self) -> None:
        """Tells everything that came of it to end, and waits for nothing."""
        with contextlib.suppress(OSError):
            self.line.shutdown(socket.SHUT_WR)

    def forget(self) -> None:
        """Closes what a forked process has got of one that is not its own."""
        self.line.close()
        self.wire.close()

    def bury(self) -> None:
        """Waits until everything has ended, and removes the folder. Never raises."""
        # The guard ends with its namespace or after everything that it adopted; then the line
        # is closed at the other end, whoever else may have died on the way.
        end = time.monotonic() + ENDING_SECONDS
        while time.monotonic() < end and readable(self.line, end - time.monotonic()):
            message, files = ipc.hear(self.line)
            self._itself += files  # of one that became ready after nobody listened any more
            if message is None:
                break
        self.line.close()
        while self._itself:
            os.close(self._itself.pop())
        self.wire.close()
        if self.group is not None:
            self.group.kill()
            self.group.remove()
        place.remove(self.place)


def _number(file: int) -> int | None:
    """The number of the process that *file* is a descriptor of; None if it is gone or hidden."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        about = Path(f"/proc/self/fdinfo/{file}").read_text()
        pid = int(about.partition("\nPid:")[2].split()[0])
        return pid if pid > 0 else None
    return None


def readable(line: socket.socket, seconds: float) -> bool:
    """Whether something can be heard on *line*, at once or within some seconds."""
    poll = select.poll()
    poll.register(line, select.POLLIN)
    return bool(poll.poll(max(seconds, 0) * 1000))
