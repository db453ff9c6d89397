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

from grader.runtime.kernels import scratch
from grader.runtime.kernels.contention import MACHINE, count_oom_kills
from grader.runtime.sandbox import ControlGroup, ScratchFolder
from grader.runtime.worker import ipc

ENDING_SECONDS = 60.0
"""For all processes of a submission to end; a second is long."""


@dataclass(slots=True, eq=False)
class ForkedKernel:
    """A forked kernel: its folder, its key, and the line to its supervisor."""

    place: ScratchFolder
    inner: ScratchFolder
    line: socket.socket
    wire: socket.socket
    """The wire between the kernel and the grader."""
    about: Mapping[str, Any]
    """Interpreter, platform, and packages, as reported by the fork server."""
    group: ControlGroup | None = None
    status: int | None = None
    """The exit status, negative for a signal; None while it runs."""
    exceeded_limit: str | None = None
    """The limit for which the supervisor ended it."""
    failure: str | None = None
    """Why it did not start, or why its supervisor failed later."""
    ready: bool = False
    key: bytes = b""
    """The key that signs messages between kernel and grader; known once the kernel is ready."""
    interrupt_count: int = 0
    is_lost: bool = False
    """Whether the supervisor died or failed while the kernel ran, which is no notebook's fault."""
    _pidfds: list[int] = field(default_factory=list)
    """Descriptors of the process and of its supervisor, once it is ready."""
    _oom_kills: int = field(default_factory=count_oom_kills)
    """The machine's count of out-of-memory kills when this kernel was forked."""

    @property
    def roots(self) -> list[int]:
        """Ids of kernel and supervisor, from which all the submission's processes descend."""
        return [pid for file in self._pidfds if (pid := _read_pid(file)) is not None]

    def read_messages(self) -> None:
        """Reads the supervisor's messages without waiting."""
        while self.status is None and not self.is_lost and is_readable(self.line, 0):
            message, files = ipc.receive_message(self.line)
            if message is None:
                self._record_lost_supervisor()
                return
            self._pidfds += files
            self._handle_message(message)

    def _record_lost_supervisor(self) -> None:
        """Records that the supervisor is gone: by a failure, the machine, or its group's limit."""
        self.exceeded_limit = self.group.find_exceeded_limit() if self.group is not None else None
        if self.exceeded_limit is None:
            self.is_lost = True
        else:
            self.status = -signal.SIGKILL

    def _handle_message(self, message: dict[str, Any]) -> None:
        """Updates the state of this kernel by a message of the supervisor."""
        match message.get("is"):
            case "ready":
                self.ready, self.key = True, str(message.get("key")).encode()
            case "interrupted":
                self.interrupt_count += 1
            case "failed":
                self.failure = str(message.get("what"))
                if self.ready:
                    self._record_lost_supervisor()
                else:
                    self.status = 1
            case "ended":
                self.status = int(message.get("status", 1))
                self.exceeded_limit = message.get("hit")
                if self.exceeded_limit is None:
                    self.exceeded_limit = self._find_reason()

    def _find_reason(self) -> str | None:
        """Returns the limit for which the system may have killed the kernel, or for which a library
        such as OpenMP may have given up; None if none."""
        hit = self.group.find_exceeded_limit() if self.group is not None else None
        if self.status != -signal.SIGKILL:
            return hit if hit == "processes" else None
        return hit or (MACHINE if count_oom_kills() > self._oom_kills else None)

    def find_exceeded_limit(self) -> str | None:
        """Returns the limit for which one of the kernel's processes was ended; None if none was."""
        if self.exceeded_limit is None and self.group is not None:
            limit = self.group.find_exceeded_limit()
            return limit if limit in ("memory", MACHINE) else None
        return self.exceeded_limit

    def interrupt(self) -> None:
        """Asks the supervisor to interrupt the kernel, after which `interrupt_count` grows."""
        with contextlib.suppress(OSError):
            ipc.send_message(self.line, {"do": "interrupt"})

    def signal_exit(self) -> None:
        """Signals all processes of the submission to end, without waiting."""
        with contextlib.suppress(OSError):
            self.line.shutdown(socket.SHUT_WR)

    def close_inherited(self) -> None:
        """Closes the sockets of the kernel that this process inherited from its parent."""
        self.line.close()
        self.wire.close()

    def reap(self) -> None:
        """Waits until all processes have ended, then removes the folder. Never raises."""
        # The supervisor ends with its namespace or after all processes that it adopted; this
        # closes the other end of the line, whatever else may have died before.
        end = time.monotonic() + ENDING_SECONDS
        while time.monotonic() < end and is_readable(self.line, end - time.monotonic()):
            message, files = ipc.receive_message(self.line)
            self._pidfds += files  # of one that became ready after we stopped listening
            if message is None:
                break
        self.line.close()
        while self._pidfds:
            os.close(self._pidfds.pop())
        self.wire.close()
        if self.group is not None:
            self.group.kill()
            self.group.remove()
        scratch.remove_folder(self.place)


def _read_pid(file: int) -> int | None:
    """Returns the id of the process behind the pidfd *file*; None if it is gone or hidden."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        about = Path(f"/proc/self/fdinfo/{file}").read_text()
        pid = int(about.partition("\nPid:")[2].split()[0])
        return pid if pid > 0 else None
    return None


def is_readable(line: socket.socket, seconds: float) -> bool:
    """Returns whether *line* has something to read, now or within *seconds*."""
    poll = select.poll()
    poll.register(line, select.POLLIN)
    return bool(poll.poll(max(seconds, 0) * 1000))
