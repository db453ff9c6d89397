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

from grader.runtime.worker import ipc, locks, memory, process_tree
from grader.runtime.worker.disk_quota import DiskQuota
from grader.runtime.worker.plan import KernelStart, SandboxPlan

HERE = "."
"""The /proc of a supervisor without one in its view, which is its working folder."""
_LOOK_SECONDS = 0.1
_SHARE = 20
"""Reading the list of locks takes at most one part in so many of the time."""
_REAPED = 5000
"""Reaped at a time, since children may end faster than they are reaped."""


class Watchdog:
    """Watches one kernel from its start to its end."""

    def __init__(
        self, plan: SandboxPlan, start: KernelStart, line: socket.socket, pid: int, ready: int
    ):
        self._start = start
        self._namespace = "pid" in plan["namespaces"] and _has_proc(plan)
        self._own_files = plan["view"] is not None
        self._counts = bool(start["memory_bytes"] or start["processes"])
        self._quota: DiskQuota | None = None
        if not self._own_files:
            self._quota = DiskQuota(start["root"], start["scratch_bytes"], start["uid"])
        self._next = self._next_locks = time.monotonic() + _LOOK_SECONDS
        self._proc = proc_folder(plan)
        self._line = line
        self._ready: int | None = ready
        self._pid = pid
        self._wake, poke = os.pipe()
        os.set_blocking(poke, False)
        signal.set_wakeup_fd(poke, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll = select.poll()
        for source in (line, self._wake, ready):
            self._poll.register(source, select.POLLIN)

    def run(self) -> None:
        """Returns when the kernel has ended or has to end."""
        while True:
            status = self._reap_children()
            if status is not None:
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
            hit = None
            if self._ready is None and self._is_due():  # before, no code of the student's runs
                hit = self._find_exceeded_limit()
            if self._quota is not None and self._quota.gone:
                return  # without a report: not the kernel's doing, so the notebook runs again
            if hit is not None:
                report(self._line, {"is": "ended", "status": -signal.SIGKILL, "hit": hit})
                return

    def _is_due(self) -> bool:
        """Returns whether it is time to look; also under load, or a kernel could prevent it."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + _LOOK_SECONDS
        return True

    def _reap_children(self) -> int | None:
        """Reaps exited children; returns the status of the kernel if it has ended."""
        with contextlib.suppress(ChildProcessError):
            for which in itertools.chain(itertools.repeat(-1, _REAPED), [self._pid]):
                pid, status = os.waitpid(which, os.WNOHANG)
                if pid == 0:
                    return None
                if pid == self._pid:
                    return os.waitstatus_to_exitcode(status)
        return None

    def _serve_line(self) -> bool:
        """Returns whether the grader wants the kernel to go on."""
        message, _ = ipc.receive_message(self._line)
        if message is None or message.get("do") != "interrupt":
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGINT)
        report(self._line, {"is": "interrupted"})
        return True

    def _find_exceeded_limit(self) -> str | None:
        """Returns the limit that the submission exceeds; None if none."""
        if self._quota is not None and self._quota.is_exceeded(self._list_processes):
            return "files"
        if time.monotonic() >= self._next_locks and self._has_too_many_locks():
            return "locks"
        if not self._counts:
            return None
        start = self._start
        mine, threads = (None, 0) if self._namespace else process_tree.list_descendants(self._proc)
        if start["processes"] and threads > start["processes"]:
            return "processes"
        scratch = (start["root"],) if self._own_files else ()
        limit = start["memory_bytes"]
        if limit is not None and memory.exceeds_limit(
            limit, pids=mine, scratch=scratch, root=self._proc
        ):
            return "memory"
        return None

    def _has_too_many_locks(self) -> bool:
        """Returns whether the submission has too many locks, which no control group counts."""
        began = time.monotonic()
        device = locks.device_of(self._start["root"]) if self._own_files else None
        pids = (lambda: None) if self._namespace else self._list_processes
        found = locks.exceeds_limit(pids, self._proc, device)
        now = time.monotonic()
        self._next_locks = now + max(_LOOK_SECONDS, _SHARE * (now - began))
        return found

    def _list_processes(self) -> list[int]:
        """Returns the processes of the submission."""
        return process_tree.list_descendants(self._proc)[0]


def report_ready(line: socket.socket, ready: int, pid: int) -> None:
    """Passes on the key that a kernel has written when it was ready, or why it failed.

    A ready kernel's report comes with descriptors of its process and of the supervisor, since
    their ids mean nothing outside of the namespace.
    """
    text = os.read(ready, 4096)
    if text[:1] == b"!":
        report(line, {"is": "failed", "what": text[1:].decode("utf-8", "replace")})
    elif text:
        processes: list[int] = []
        with contextlib.suppress(OSError):  # before Linux 5.3
            processes.append(os.pidfd_open(pid))
            processes.append(os.pidfd_open(os.getpid()))
        report(line, {"is": "ready", "key": text[1:].decode()}, processes)
        for file in processes:
            os.close(file)
    os.close(ready)  # a kernel that has failed waits for this


def report(line: socket.socket, message: dict[str, object], files: Sequence[int] = ()) -> None:
    """Sends *message* to the grader if it still listens."""
    with contextlib.suppress(OSError):
        ipc.send_message(line, message, files)


def _has_proc(plan: SandboxPlan) -> bool:
    return plan["view"] is not None and plan["view"]["proc"]


def proc_folder(plan: SandboxPlan) -> str:
    """Returns where a supervisor sees the processes of its submission."""
    return HERE if "pid" in plan["namespaces"] and not _has_proc(plan) else process_tree.PROC
