"""The grader's side of a forked kernel, which it controls through the kernel's supervisor."""

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
"""For all processes of a submission to end; a second is long."""


@dataclass(slots=True, eq=False)
class ForkedKernel:
    """A forked kernel: its folder, its key, and the line to its supervisor."""

    place: Place
    inner: Place
    line: socket.socket
    wire: socket.socket
    """The wire between the kernel and the grader."""
    about: Mapping[str, Any]
    """Interpreter, platform and packages, as reported by the fork server."""
    group: Group | None = None
    status: int | None = None
    """The exit status, negative for a signal; None while it runs."""
    hit: str | None = None
    """The limit for which the supervisor ended it."""
    failed: str | None = None
    """Why it did not start."""
    ready: bool = False
    key: bytes = b""
    """The key that signs messages between kernel and grader; known once the kernel is ready."""
    interrupted: int = 0
    lost: bool = False
    """Whether the supervisor is gone without a report, which no notebook can cause."""
    _itself: list[int] = field(default_factory=list)
    """Descriptors of the process and of its supervisor, once it is ready."""
    _oom_kills: int = field(default_factory=oom_kills)
    """The machine's count of out-of-memory kills when this kernel was forked."""

    @property
    def pid(self) -> int | None:
        """The process id as the grader sees it; None before the kernel is ready."""
        return _pid_behind(self._itself[0]) if self._itself else None

    @property
    def roots(self) -> list[int]:
        """Ids of kernel and supervisor, from which all the submission's processes descend."""
        return [pid for file in self._itself if (pid := _pid_behind(file)) is not None]

    def listen(self) -> None:
        """Reads the supervisor's messages without waiting."""
        while self.status is None and not self.lost and readable(self.line, 0):
            message, files = ipc.hear(self.line)
            if message is None:
                self._lose_supervisor()
                return
            self._itself += files
            self._take(message)

    def _lose_supervisor(self) -> None:
        """Records that the supervisor is gone: the machine or its group's limit has ended it."""
        self.hit = self.group.limit_exceeded() if self.group is not None else None
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
        """The limit for which the system may have killed it; None if there is none."""
        hit = self.group.limit_exceeded() if self.group is not None else None
        return hit or (MACHINE if oom_kills() > self._oom_kills else None)

    def limit_exceeded(self) -> str | None:
        """The limit for which the kernel or one of its processes was ended; None if none."""
        found = self.group.limit_exceeded() if self.hit is None and self.group is not None else None
        return found if found in ("memory", MACHINE) else self.hit

    def interrupt(self) -> None:
        """Asks the supervisor to interrupt the kernel; `interrupted` counts completed ones."""
        with contextlib.suppress(OSError):
            ipc.say(self.line, {"do": "interrupt"})

    def signal_exit(self) -> None:
        """Signals all processes of the submission to end, without waiting."""
        with contextlib.suppress(OSError):
            self.line.shutdown(socket.SHUT_WR)

    def forget(self) -> None:
        """Closes the descriptors that a forked process has inherited from its parent."""
        self.line.close()
        self.wire.close()

    def reap(self) -> None:
        """Waits until all processes have ended, then removes the folder. Never raises."""
        # The supervisor ends with its namespace or after all processes that it adopted; this
        # closes the other end of the line, whatever else may have died before.
        end = time.monotonic() + ENDING_SECONDS
        while time.monotonic() < end and readable(self.line, end - time.monotonic()):
            message, files = ipc.hear(self.line)
            self._itself += files  # of one that became ready after we stopped listening
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


def _pid_behind(file: int) -> int | None:
    """The id of the process behind the pidfd *file*; None if it is gone or hidden."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        about = Path(f"/proc/self/fdinfo/{file}").read_text()
        pid = int(about.partition("\nPid:")[2].split()[0])
        return pid if pid > 0 else None
    return None


def readable(line: socket.socket, seconds: float) -> bool:
    """Whether *line* has something to read, now or within *seconds*."""
    poll = select.poll()
    poll.register(line, select.POLLIN)
    return bool(poll.poll(max(seconds, 0) * 1000))
