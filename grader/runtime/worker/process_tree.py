"""The processes of one submission: all that came of this one, found and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

PROC = "/proc"
_ENDING_SECONDS = 20.0
_PAUSE_SECONDS = 0.001
_APART = 1 << 24
"""Between the number of a user and one that is nobody's at all."""


def end_all(namespace: bool, uid: int | None = None) -> None:
    """Ends every process of the submission, and returns when they are gone, or after seconds.

    *uid* is who they are, where that is a user of their own.
    """
    end = time.monotonic() + _ENDING_SECONDS
    if not namespace:
        if uid is not None:
            _end_user(uid)
        _end_descendants(end)
        return
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGKILL)  # all that there are, as far as number 1 can see
        try:
            while os.waitpid(-1, 0)[0]:
                pass
        except ChildProcessError:
            return
        except OSError:
            time.sleep(0.005)


def _end_user(uid: int) -> None:
    """Ends all processes of a user at once, so that none can start another before its turn.

    For that this process is that user for a moment, with one number that is nobody's: by it
    nobody can signal this one meanwhile, and no process of its own user is hit.
    """
    me = os.getresuid()
    try:
        os.setresuid(uid + _APART, uid, me[2])
    except OSError:
        return
    try:
        os.kill(1, 0)  # whoever may signal that one would end more than was meant
    except PermissionError:
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGKILL)
    finally:
        os.setresuid(*me)


def _end_descendants(end: float) -> None:
    """Ends each as soon as it is seen, over and over: some start others and are gone at once.

    What they leave behind comes to this process, where the next round finds it.
    """
    before: list[int] = []
    while time.monotonic() < end:
        found = _children(PROC, os.getpid())[0]
        _kill(found)
        if found == before:  # they take their time, and below them others may go on
            _kill(descendants()[0])
            time.sleep(_PAUSE_SECONDS)
        before = found
        if _reaped(len(found) + 1):
            return


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _reaped(most: int) -> bool:
    """Takes leave of what has ended, but of no more than *most*; whether nothing is left.

    No more, because others may end as fast as one can take leave of them.
    """
    try:
        for _ in range(most):
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
    except ChildProcessError:
        return True
    return False


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
        children, more = _children(proc, pid)
        found += [n for n in children if n != also]
        threads += more
    return found[1:], threads - 1


def below(roots: Iterable[int], proc: str = PROC) -> list[int]:
    """The processes *roots* and all below them, by the numbers that *proc* shows."""
    found = list(dict.fromkeys(roots))
    for pid in found:
        found += [child for child in _children(proc, pid)[0] if child not in found]
    return found


def threads(pid: int, proc: str = PROC) -> list[int]:
    """The numbers of the threads of a process; none when it has ended."""
    try:
        return [int(name) for name in os.listdir(f"{proc}/{pid}/task")]  # noqa: PTH208
    except OSError:
        return []


def _children(proc: str, pid: int) -> tuple[list[int], int]:
    """Those of all threads of a process, and how many threads it has."""
    found: list[int] = []
    threads = 0
    with contextlib.suppress(OSError):
        tasks = os.listdir(f"{proc}/{pid}/task")  # noqa: PTH208
        threads = len(tasks)
        for task in tasks:
            text = Path(f"{proc}/{pid}/task/{task}/children").read_text()
            found += map(int, text.split())
    return found, threads


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
