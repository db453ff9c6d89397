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

from grader.runtime.worker import ipc, locks, memory, process_tree, syscalls
from grader.runtime.worker.disk_quota import Space
from grader.runtime.worker.pipe_accounting import Where
from grader.runtime.worker.plan import Plan, Start
from grader.runtime.worker.seccomp_broker import Deputy

HERE = "."
"""The /proc of a guard in whose view there is none: it stands in one."""
_LOOK_SECONDS = 0.1
_SHARE = 20
"""Of its time, at most one part in so many is spent on reading the list of locks."""
_MOSTLY = 0.9
"""Of that, what must have passed between two counts, since no pause is exact."""
_REAPED = 5000
"""So many at a time: more may end meanwhile than it could ever take leave of."""


class Watch:
    """One kernel, watched from its start to its end."""

    def __init__(self, plan: Plan, start: Start, line: socket.socket, pid: int, ready: int):
        self._start = start
        self._namespace = "pid" in plan["namespaces"] and _has_proc(plan)
        self._own_files = plan["view"] is not None
        self._counts = bool(start["memory_bytes"] or start["processes"])
        self._space: Space | None = None
        if not self._own_files:
            kept = plan["fence"] is not None or start["uid"] is not None
            self._space = Space(start["root"], start["scratch_bytes"], start["uid"], kept=kept)
        self._asked = plan["asked"]
        self._deputy: Deputy | None = None
        self._next = self._next_count = self._next_locks = time.monotonic() + _LOOK_SECONDS
        self._proc = proc_of(plan)
        self._where = Where(self._proc, start["uid"], "net" in plan["namespaces"])
        self._number: int | None = None
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

    def all(self) -> None:
        """Returns when the kernel has ended, or is to."""
        while True:
            status = self._ended()
            if status is not None:
                tell_of(self._line, {"is": "ended", "status": status})
                return
            heard = self._poll.poll(self._pause())
            sources = {source for source, _ in heard}
            if self._wake in sources:
                os.read(self._wake, 512)
            if self._deputy is not None and self._deputy.listener in sources:
                self._help(self._deputy, dict(heard)[self._deputy.listener])
            if self._ready is not None and self._ready in sources and not self._made_deputy():
                self._poll.unregister(self._ready)
                self._number = process_tree.number_in(self._proc, self._pid)
                # Not sooner: whoever forks the kernel into our namespaces must see us.
                syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
                tell_ready(self._line, self._ready, self._pid)
                self._ready = None
            if self._line.fileno() in sources and not self._obeyed():
                return
            hit = self._too_much() if self._due() else None
            if self._space is not None and self._space.gone:
                return  # without a word: no fault of the kernel's, which can be run again
            if hit is not None:
                tell_of(self._line, {"is": "ended", "status": -signal.SIGKILL, "hit": hit})
                return

    def _pause(self) -> int:
        seconds = _LOOK_SECONDS if self._space is None else self._space.pause
        return int(1000 * seconds)

    def _made_deputy(self) -> bool:
        """Takes the listener of the filter, which comes before anything else does."""
        if not self._asked or self._deputy is not None or self._ready is None:
            return False
        with socket.socket(fileno=os.dup(self._ready)) as told:
            if told.recv(1, socket.MSG_PEEK) != b"?":
                return False
            _, files, _, _ = socket.recv_fds(told, 1, 1)
        self._deputy = Deputy(files[0], self._start["root"], self._asked)
        self._poll.register(self._deputy.listener, select.POLLIN)
        return True

    def _help(self, deputy: Deputy, said: int) -> None:
        if said & select.POLLIN:
            deputy.serve()
            return
        self._poll.unregister(deputy.listener)  # nobody is left who could ask
        deputy.close()
        self._deputy, self._asked = None, {}

    def _due(self) -> bool:
        """Whether it is time to look; not only in quiet moments, which a kernel could prevent."""
        now, pause = time.monotonic(), self._pause()
        if now < self._next:
            return False
        self._next = now + pause / 1000
        return True

    def _ended(self) -> int | None:
        """The status of the kernel, if it has ended; also reaps what else has."""
        with contextlib.suppress(ChildProcessError):
            for which in itertools.chain(itertools.repeat(-1, _REAPED), [self._pid]):
                pid, status = os.waitpid(which, os.WNOHANG)
                if pid == 0:
                    return None
                if pid == self._pid:
                    return os.waitstatus_to_exitcode(status)
        return None

    def _obeyed(self) -> bool:
        message, _ = ipc.hear(self._line)
        if message is None or message.get("do") != "interrupt":
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGINT)
        tell_of(self._line, {"is": "interrupted"})
        return True

    def _too_much(self) -> str | None:
        """The limit that is passed, if one is."""
        # Before it is ready nothing of the student's has run.
        if self._space is not None and self._ready is None and self._space.over(self._processes):
            return "files"
        now = time.monotonic()
        if now >= self._next_locks and self._has_many_locks():
            return "locks"
        if not self._counts or now < self._next_count:
            return None
        self._next_count = now + _MOSTLY * _LOOK_SECONDS
        start = self._start
        mine, threads = (None, 0) if self._namespace else self._kin()
        if start["processes"] and threads > start["processes"]:
            return "processes"
        scratch = (start["root"],) if self._own_files else ()
        limit = start["memory_bytes"]
        if limit is not None and memory.over(limit, self._where, pids=mine, scratch=scratch):
            return "memory"
        return None

    def _has_many_locks(self) -> bool:
        """Whether they are more than a submission may have, which no control group counts."""
        began = time.monotonic()
        device = locks.device_of(self._start["root"]) if self._own_files else None
        found = locks.over(self._numbers, self._proc, device)
        now = time.monotonic()
        self._next_locks = now + max(_MOSTLY * _LOOK_SECONDS, _SHARE * (now - began))
        return found

    def _numbers(self) -> list[int] | None:
        return None if self._namespace else self._processes()

    def _processes(self) -> list[int]:
        return self._kin()[0]

    def _kin(self) -> tuple[list[int], int]:
        """The processes of the submission and how many threads they have; the kernel among them,
        who is no child of this one where the parent forked it into our namespaces.
        """
        return process_tree.descendants(self._proc, also=self._number)


def tell_ready(line: socket.socket, ready: int, pid: int) -> None:
    """Passes on what a kernel has written when it was ready, or why it never will be.

    With the first go descriptors of the process and of this guard: their numbers here say nothing
    outside.
    """
    text = os.read(ready, 4096)
    if text[:1] == b"!":
        tell_of(line, {"is": "failed", "what": text[1:].decode("utf-8", "replace")})
    elif text:
        itself: list[int] = []
        with contextlib.suppress(OSError):  # Linux 5.3
            itself.append(os.pidfd_open(pid))
            itself.append(os.pidfd_open(os.getpid()))
        tell_of(line, {"is": "ready", "key": text[1:].decode()}, itself)
        for file in itself:
            os.close(file)
    os.close(ready)  # for which a kernel that has failed waits


def tell_of(line: socket.socket, message: dict[str, object], files: Sequence[int] = ()) -> None:
    """Says *message*, if the grader still listens."""
    with contextlib.suppress(OSError):
        ipc.say(line, message, files)


def _has_proc(plan: Plan) -> bool:
    return plan["view"] is not None and plan["view"]["proc"]


def proc_of(plan: Plan) -> str:
    """Where a guard sees the processes of its submission."""
    return HERE if "pid" in plan["namespaces"] and not _has_proc(plan) else process_tree.PROC
