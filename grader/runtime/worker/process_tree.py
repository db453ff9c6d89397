"""Finds and ends the processes of one submission: all descendants of this process."""

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
_UNUSED_UID = 1 << 24
"""Distance from a student's user id to one that nobody has."""


def end_processes(namespace: bool, uid: int | None = None) -> None:
    """Ends every process of the submission; returns when they are gone, or after 20 seconds.

    With *namespace*, they are all processes that this one can see. *uid* is their user id if it is
    not this process's.
    """
    end = time.monotonic() + _ENDING_SECONDS
    if not namespace:
        if uid is not None:
            _end_processes_of_user(uid)
        _end_descendants(end)
        return
    while time.monotonic() < end:
        _kill([-1])
        try:
            while os.waitpid(-1, 0)[0]:
                pass
        except ChildProcessError:
            return


def _end_processes_of_user(uid: int) -> None:
    """Ends all processes of a user at once, so that none can start another before its turn.

    This process becomes that user for a moment, with a real user id that nobody has, so that
    nobody can signal it meanwhile.
    """
    me = os.getresuid()
    try:
        os.setresuid(uid + _UNUSED_UID, uid, me[2])
    except OSError:
        return
    try:
        os.kill(1, 0)  # a process that may signal that one would end too many
    except PermissionError:
        _kill([-1])
    finally:
        os.setresuid(*me)


def _end_descendants(end: float) -> None:
    """Ends each process as soon as it is seen, repeatedly: some start others and exit at once.

    This process adopts their orphans, so that the next round finds them.
    """
    before: list[int] = []
    while time.monotonic() < end:
        children = _list_children(os.getpid())
        _kill(children)
        if children == before:  # they are slow to end, and others below them may go on
            _kill(list_descendants())
            time.sleep(_PAUSE_SECONDS)
        before = children
        try:
            for _ in range(len(children) + 1):
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
        except ChildProcessError:
            return


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def list_descendants() -> list[int]:
    """Returns all processes below this one, parents first."""
    return list_tree([os.getpid()])[1:]


def list_tree(roots: Iterable[int], proc: str = PROC) -> list[int]:
    """Returns *roots* and all processes below them, by the ids that *proc* shows."""
    tree = list(dict.fromkeys(roots))
    listed = set(tree)
    for pid in tree:
        new = [child for child in _list_children(pid, proc) if child not in listed]
        tree += new
        listed.update(new)
    return tree


def list_threads(pid: int, proc: str = PROC) -> list[int]:
    """Returns the ids of the threads of a process; empty if it has ended."""
    try:
        return [int(name) for name in os.listdir(f"{proc}/{pid}/task")]  # noqa: PTH208
    except OSError:
        return []


def read_system_file(path: str | Path) -> str:
    """Returns the text of one of the system's files; empty if it can't be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _list_children(pid: int, proc: str = PROC) -> list[int]:
    """Returns the children of all threads of a process."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in list_threads(pid, proc):
            text = Path(f"{proc}/{pid}/task/{thread}/children").read_text()
            children += map(int, text.split())
    return children
