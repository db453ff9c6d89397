"""The processes of one submission: all that came of this one, found and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

PROC = "/proc"
_ENDING_SECONDS = 5.0
_STOPPING = 50
"""Looks for processes that have come since the last look, before they are ended anyway."""


def end_all(namespace: bool) -> None:
    """Ends every process of the submission, and returns when they are gone."""
    end = time.monotonic() + _ENDING_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if namespace:
                os.kill(-1, signal.SIGKILL)  # all that there are, as far as number 1 can see
        if not namespace:
            _end_descendants()
        try:
            while os.waitpid(-1, 0)[0]:
                pass
        except ChildProcessError:
            return
        except OSError:
            time.sleep(0.005)


def _end_descendants() -> None:
    """Stops them all before any is ended: what goes on could start others faster than they end."""
    known: list[int] = []
    for _ in range(_STOPPING):
        before, (known, _) = known, descendants()
        for pid in known:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGSTOP)
        if known == before:
            break
    for pid in known:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def descendants(proc: str = PROC, *, also: int | None = None) -> tuple[list[int], int]:
    """All processes below this one, parents first, and how many threads they have together.

    By the numbers that *proc* shows, which are others than ours where it is that of the machine.
    *also* is one that somebody else forked for this one, by its number there, if it has any.
    """
    found: list[int] = []
    threads = 0
    with contextlib.suppress(OSError):
        found.append(int(os.readlink(f"{proc}/self")))  # noqa: PTH115
    if also is not None:
        found.append(also)
    for pid in found:
        with contextlib.suppress(OSError):
            tasks = os.listdir(f"{proc}/{pid}/task")  # noqa: PTH208
            threads += len(tasks)
            for task in tasks:
                children = Path(f"{proc}/{pid}/task/{task}/children").read_text()
                found += [n for n in map(int, children.split()) if n != also]
    return found[1:], threads - 1


def number_in(proc: str, pid: int) -> int | None:
    """The number by which *proc* shows the process that is *pid* to us; None where it doesn't.

    It is another where *proc* is not of our own pid namespace (Linux 5.3).
    """
    with contextlib.suppress(OSError, ValueError):
        itself = os.pidfd_open(pid)
        try:
            about = Path(f"{proc}/self/fdinfo/{itself}").read_text()
        finally:
            os.close(itself)
        for line in about.splitlines():
            name, _, value = line.partition(":")
            if name == "Pid" and int(value) > 0:
                return int(value)
    return None
