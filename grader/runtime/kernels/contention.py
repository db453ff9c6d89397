"""What other work on the machine does to a kernel: processor time it waits for, and memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.runtime.worker import process_tree

MOST_TIMES = 4.0
"""A time limit may grow to so many times its length by what a kernel waits for a processor."""

BUSY = "hit a time limit while the machine was busy with other work"
NO_MEMORY = "was ended when the machine ran out of memory"
MACHINE = "machine"
"""The limit that a kernel hits when the machine itself, or its container, is out of memory."""

_FIRST_LOOK_SECONDS = 0.05
_NEGLIGIBLE_SECONDS = 0.02
_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True, slots=True)
class Usage:
    """What the processes of one kernel have had of the processors so far, in seconds."""

    at: float
    """By the monotonic clock."""
    cpu: float
    """Used by all of them, including those that have ended and were waited for."""
    waits: Mapping[int, float] = field(default_factory=dict)
    """By thread: how long it could have run and no processor was free for it."""
    own_wait: float = 0.0
    """Of the thread of the grader that drives the kernel."""


def usage(
    roots: Iterable[int], proc: str = process_tree.PROC, *, cpu_seconds: float | None = None
) -> Usage | None:
    """The usage of *roots* and of all processes below them.

    *cpu_seconds* is what all of them have used, where it is known more exactly than by adding up.
    None where the system does not tell: on macOS and Windows, and on a Linux that keeps no
    scheduler statistics.
    """
    cpu, waits = 0.0, {}
    for pid in process_tree.below(roots, proc):
        cpu += _cpu(f"{proc}/{pid}/stat")
        for thread in process_tree.threads(pid, proc):
            waits[thread] = _wait(f"{proc}/{pid}/task/{thread}/schedstat")
    if not waits or all(each is None for each in waits.values()):
        return None
    known = {thread: each for thread, each in waits.items() if each is not None}
    own = _wait(f"{proc}/self/task/{threading.get_native_id()}/schedstat")
    used = cpu if cpu_seconds is None else cpu_seconds
    return Usage(time.monotonic(), used, known, own or 0.0)


def kept_waiting(before: Usage, after: Usage) -> float:
    """Seconds between the two for which other work kept the kernel from running.

    That is the longest wait of any of its threads, and the wait of the grader's own thread. A
    kernel whose processes had one processor's worth of time in total had its share: what its
    threads waited for beyond that, they waited for one another.
    """
    waits = (now - before.waits.get(thread, 0.0) for thread, now in after.waits.items())
    waited = max(waits, default=0.0) + after.own_wait - before.own_wait
    lacked = after.at - before.at - (after.cpu - before.cpu)
    return max(0.0, min(waited, lacked))


class FairClock:
    """A limit on time that other work on the machine does not use up.

    *look* gives the usage of the kernel. When the limit is reached it grows by the time for which
    the kernel was kept waiting, up to MOST_TIMES its length.
    """

    def __init__(self, seconds: float, look: Callable[[], Usage | None]):
        self.waited = 0.0
        """Seconds for which the kernel was kept waiting; known after `left` gave 0 or `stop`."""
        self.contended = False
        """Whether the limit was reached though the kernel did not have that time for itself."""
        self._look = look
        self._limit = seconds
        self._began = time.monotonic()
        self._before: Usage | None = None
        self._looked = False

    def left(self) -> float:
        """Seconds until the limit is reached, 0 when it is."""
        now = time.monotonic()
        # Most cells are over before this, and then nothing has to be read for them.
        if not self._looked and now - self._began >= _FIRST_LOOK_SECONDS:
            self._looked, self._before = True, self._look()
        left = self._began + self._limit + self.waited - now
        if left <= _NEGLIGIBLE_SECONDS:
            self.stop()
            left = self._began + self._limit + self.waited - time.monotonic()
        return left if left > _NEGLIGIBLE_SECONDS else 0.0

    def stop(self) -> None:
        """Takes the last reading, before the kernel is gone."""
        after = self._look() if self._before is not None else None
        if self._before is not None and after is not None:
            found, most = kept_waiting(self._before, after), (MOST_TIMES - 1) * self._limit
            self.waited, self.contended = min(found, most), found > most


def oom_kills() -> int:
    """Processes that the system has ended for lack of memory since it started; 0 if unknown."""
    for line in _text("/proc/vmstat").splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill" and value.strip().isdigit():
            return int(value)
    return 0


def _cpu(path: str) -> float:
    fields = _text(path).rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICK if len(fields) > 15 else 0.0


def _wait(path: str) -> float | None:
    fields = _text(path).split()
    return int(fields[1]) / 1e9 if len(fields) == 3 else None


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
