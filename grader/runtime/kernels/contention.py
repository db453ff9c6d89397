"""Measures how other work on the machine slows a kernel or takes its memory, and allows for it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from grader.runtime.worker import process_tree

BUSY = "hit a time limit while the machine was busy with other work"
NO_MEMORY = "was killed because the machine ran out of memory"
MACHINE = "machine"
"""Stands for the limit that a kernel hits when the machine or its container is out of memory."""

MOST_TIMES = 4.0
"""Time limits grow by the time a kernel waits for a processor, to at most this multiple."""
_FIRST_LOOK_SECONDS = 0.05
_NEGLIGIBLE_SECONDS = 0.02
_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True, slots=True)
class Usage:
    """The processor use and waiting times of one kernel's processes so far, in seconds."""

    at: float
    """When it was read, by the monotonic clock."""
    cpu: float
    """Processor time of all processes, including those that have ended and were reaped."""
    waits: Mapping[int, float] = field(default_factory=dict)
    """By thread: how long it was runnable while no processor was free."""
    own_wait: float = 0.0
    """The waiting time of the grader's thread that drives the kernel."""


def read_usage(
    roots: Iterable[int], proc: str = process_tree.PROC, *, cpu_seconds: float | None = None
) -> Usage | None:
    """Returns the usage of *roots* and of all processes below them.

    *cpu_seconds* is their total processor time, if it is known more exactly than by adding up.
    Returns None on systems without these statistics: macOS, Windows, and a Linux that keeps no
    scheduler statistics.
    """
    cpu = 0.0
    waits = {}
    for pid in process_tree.list_tree(roots, proc):
        cpu += _read_cpu_seconds(f"{proc}/{pid}/stat")
        for thread in process_tree.list_threads(pid, proc):
            waits[thread] = _read_wait_seconds(f"{proc}/{pid}/task/{thread}/schedstat")
    if not waits or all(each is None for each in waits.values()):
        return None
    known_waits = {thread: each for thread, each in waits.items() if each is not None}
    own_wait = _read_wait_seconds(f"{proc}/self/task/{threading.get_native_id()}/schedstat")
    used = cpu if cpu_seconds is None else cpu_seconds
    return Usage(time.monotonic(), used, known_waits, own_wait or 0.0)


def seconds_kept_waiting(before: Usage, after: Usage) -> float:
    """Returns the seconds between the readings in which other work kept the kernel from running.

    These are the longest wait of any of its threads, plus the wait of the grader's own thread, but
    no more than the time in which the kernel ran or waited: nobody keeps a kernel that sleeps from
    running. If the processes had one processor's worth of time in total, the kernel had its share,
    and beyond that its threads waited for one another.
    """
    waits = (now - before.waits.get(thread, 0.0) for thread, now in after.waits.items())
    waited = max(waits, default=0.0)
    used = after.cpu - before.cpu
    waited += min(after.own_wait - before.own_wait, waited + used)
    lacked = after.at - before.at - used
    return max(0.0, min(waited, lacked))


class FairClock:
    """A time limit that other work on the machine does not use up.

    *look* returns the usage of the kernel. When the limit is reached, it grows by the time for
    which the kernel was kept waiting, up to MOST_TIMES its length.
    """

    def __init__(self, seconds: float, look: Callable[[], Usage | None]):
        self.waited = 0.0
        """Seconds of waiting; known once `seconds_left` has returned 0 or `stop` was called."""
        self.contended = False
        """Whether the limit was reached although the kernel did not get that much time."""
        self._look = look
        self._limit = seconds
        self._began = time.monotonic()
        self._before: Usage | None = None
        self._looked = False

    def seconds_left(self) -> float:
        """Returns the seconds until the limit is reached; 0 once it is, after a call of `stop`."""
        now = time.monotonic()
        # Most cells finish before this, so that no usage has to be read for them.
        if not self._looked and now - self._began >= _FIRST_LOOK_SECONDS:
            self._before = self._look()
            self._looked = True
        left = self._began + self._limit + self.waited - now
        if left <= _NEGLIGIBLE_SECONDS:
            self.stop()
            left = self._began + self._limit + self.waited - time.monotonic()
        return left if left > _NEGLIGIBLE_SECONDS else 0.0

    def stop(self) -> None:
        """Sets `waited` and `contended` by a last look at the kernel, which must still exist."""
        after = self._look() if self._before is not None else None
        if self._before is not None and after is not None:
            waited = seconds_kept_waiting(self._before, after)
            longest = (MOST_TIMES - 1) * self._limit
            self.waited = min(waited, longest)
            self.contended = waited > longest


def count_oom_kills() -> int:
    """Returns how many processes the system has killed for lack of memory; 0 if unknown."""
    for line in process_tree.read_system_file("/proc/vmstat").splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill" and value.strip().isdigit():
            return int(value)
    return 0


def _read_cpu_seconds(path: str) -> float:
    """Returns the processor time in a `stat` file of /proc; 0 if it can't be read."""
    fields = process_tree.read_system_file(path).rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICK if len(fields) > 15 else 0.0


def _read_wait_seconds(path: str) -> float | None:
    """Returns the waiting time in a `schedstat` file of /proc; None if it can't be read."""
    fields = process_tree.read_system_file(path).split()
    return int(fields[1]) / 1e9 if len(fields) == 3 else None
