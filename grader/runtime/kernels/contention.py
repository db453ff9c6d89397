"""Measures how other work on the machine slows a kernel or takes its memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.runtime.worker import process_tree

BUSY = "hit a time limit while the machine was busy with other work"
NO_MEMORY = "was killed because the machine ran out of memory"
MACHINE = "machine"
"""Stands for the limit that a kernel hits when the machine or its container is out of memory."""

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


def count_oom_kills() -> int:
    """Returns how many processes the system has killed for lack of memory; 0 if unknown."""
    for line in _read_text("/proc/vmstat").splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill" and value.strip().isdigit():
            return int(value)
    return 0


def _read_cpu_seconds(path: str) -> float:
    """Returns the processor time in a `stat` file of /proc; 0 if it can't be read."""
    fields = _read_text(path).rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICK if len(fields) > 15 else 0.0


def _read_wait_seconds(path: str) -> float | None:
    """Returns the waiting time in a `schedstat` file of /proc; None if it can't be read."""
    fields = _read_text(path).split()
    return int(fields[1]) / 1e9 if len(fields) == 3 else None


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
