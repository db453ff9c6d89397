"""The supervisor's main loop: serves the grader's line, and checks the kernel's resource use."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import signal
import socket
import time
from collections.abc import Sequence

from grader.runtime.worker import ipc, memory, process_tree
from grader.runtime.worker.disk_quota import DiskQuota
from grader.runtime.worker.plan import KernelStart, SandboxPlan

_LOOK_SECONDS = 0.1
_REAPED = 5000
"""Reaped at a time, since children may end faster than they are reaped."""


class Watchdog:
    """Watches one kernel from its start to its end."""

    def __init__(
        self, plan: SandboxPlan, start: KernelStart, line: socket.socket, pid: int, ready: int
    ):
        self._start = start
        self._scratch = [start["root"]] if plan["view"] is not None else []
        """The scratch directory if it is in memory."""
        self._quota: DiskQuota | None = None
        if plan["view"] is None:
            self._quota = DiskQuota(start["root"], start["scratch_bytes"], start["uid"])
        self._next = time.monotonic() + _LOOK_SECONDS
        self._line = line
        self._ready: int | None = ready
        self._pid = pid
        self._wake = make_child_alarm()
        self._poll = select.poll()
        for source in (line, self._wake, ready):
            self._poll.register(source, select.POLLIN)

    def run(self) -> None:
        """Runs until the kernel has ended or has to end."""
        while True:
            status = self._reap_children()
            if status is not None:
                if self._ready is not None:  # it may have failed at startup
                    report_ready(self._line, self._ready, self._pid)
                report(self._line, {"is": "ended", "status": status})
                return
            sources = {source for source, _ in self._poll.poll(int(1000 * _LOOK_SECONDS))}
            if self._wake in sources:
                os.read(self._wake, 512)
            if self._ready is not None and self._ready in sources:
                self._poll.unregister(self._ready)
                report_ready(self._line, self._ready, self._pid)
                self._ready = None
            if self._line.fileno() in sources and not self._serve_line():
                return
            hit = self._find_exceeded_limit()
            if self._quota is not None and self._quota.gone:
                return  # without a report: not the kernel's doing, so the notebook runs again
            if hit is not None:
                report(self._line, {"is": "ended", "status": -signal.SIGKILL, "hit": hit})
                return

    def _reap_children(self) -> int | None:
        """Reaps exited children; returns the status of the kernel if it has ended."""
        with contextlib.suppress(ChildProcessError):
            for waited_pid in itertools.chain(itertools.repeat(-1, _REAPED), [self._pid]):
                pid, status = os.waitpid(waited_pid, os.WNOHANG)
                if pid == 0:
                    return None
                if pid == self._pid:
                    return os.waitstatus_to_exitcode(status)
        return None

    def _serve_line(self) -> bool:
        """Handles a message of the grader; returns False if the kernel is to end."""
        message, _ = ipc.receive_message(self._line)
        if message is None or message.get("do") != "interrupt":
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGINT)
        report(self._line, {"is": "interrupted"})
        return True

    def _find_exceeded_limit(self) -> str | None:
        """Returns the limit that the submission exceeds; None if none, or if it is not yet time.

        Also under load, or a kernel could prevent it. Not before any code of the student's runs.
        """
        now = time.monotonic()
        if self._ready is not None or now < self._next:
            return None
        self._next = now + _LOOK_SECONDS
        start = self._start
        pids = process_tree.list_descendants()
        if self._quota is not None and self._quota.check_exceeded(pids):
            return "files"
        if memory.exceeds_lock_limit(pids):
            return "locks"
        allowed = start["processes"]
        if allowed and sum(len(process_tree.list_threads(pid)) for pid in pids) > allowed:
            return "processes"
        limit = start["memory_bytes"]
        if limit is not None and memory.exceeds_limit(limit, pids, self._scratch):
            return "memory"
        return None


def make_child_alarm() -> int:
    """Returns a descriptor that becomes readable whenever a child of this process ends."""
    wake, poke = os.pipe()
    os.set_blocking(poke, False)
    signal.set_wakeup_fd(poke, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return wake


def report_ready(line: socket.socket, ready: int, pid: int) -> None:
    """Passes on the key that a kernel has written when it was ready, or why it failed.

    A ready kernel's report comes with descriptors of its process and of the supervisor, since
    their ids mean nothing outside of the namespace.
    """
    text = os.read(ready, 4096)
    os.close(ready)
    if text[:1] == b"!":
        report(line, {"is": "failed", "what": text[1:].decode("utf-8", "replace")})
    elif text:
        processes: list[int] = []
        with contextlib.suppress(OSError):  # the kernel may have ended since
            processes += [os.pidfd_open(pid), os.pidfd_open(os.getpid())]
        report(line, {"is": "ready", "key": text[1:].decode()}, processes)
        for file in processes:
            os.close(file)


def report(line: socket.socket, message: dict[str, object], files: Sequence[int] = ()) -> None:
    """Sends *message* to the grader if it still listens."""
    with contextlib.suppress(OSError):
        ipc.send_message(line, message, files)
