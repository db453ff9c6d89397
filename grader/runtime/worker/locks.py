"""File locks of a submission: memory of the system that is in no account of a process.

The list of them costs the more to read, the longer it is: each page of it is looked for from the
start. So no more of it is read than takes a few milliseconds; the newest locks come first.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection

MOST = 5_000
"""Of all processes of a submission; a lock takes 192 bytes."""
_SECONDS = 0.05
"""Of the processor: enough for some 15,000 locks."""
_OF_OPEN_FILE = b"OFDLCK"


Pids = Collection[int] | None


def over(pids: Callable[[], Pids], root: str = "/proc", device: str | None = None) -> bool:
    """Whether the processes that *pids* gives have more than `MOST` locks; None are all but this.

    A lock of an open file has no process: it counts when the file lies on *device*, as
    `device_of` names it, which is then a file system of theirs alone.
    """
    lines = _lines(root)
    if len(lines) <= MOST:
        return False
    them, me = pids(), os.getpid()
    own = None if them is None else frozenset(them)
    return sum(_is_theirs(line.split(), own, me, device) for line in lines) > MOST


def _lines(root: str) -> list[bytes]:
    """The start of the list; empty where it isn't shown."""
    found: list[bytes] = []
    try:
        with open(f"{root}/locks", "rb", buffering=0) as file:  # noqa: PTH123
            end = time.thread_time() + _SECONDS
            while (page := file.read(65_536)) and time.thread_time() < end:
                found += page.splitlines()
    except OSError:
        pass
    return found


def _is_theirs(words: list[bytes], own: frozenset[int] | None, me: int, device: str | None) -> bool:
    """Whether a line such as `7: POSIX  ADVISORY  WRITE 4711 fd:00:2477915 0 0` is of theirs."""
    at = 2 if words[1:2] == [b"->"] else 1  # one that waits for another
    if len(words) < at + 5:
        return False
    pid, where = int(words[at + 3]), words[at + 4].decode()
    if words[at] == _OF_OPEN_FILE:
        return device is not None and where.rpartition(":")[0] == device
    return pid != me if own is None else pid in own


def device_of(folder: str) -> str | None:
    """The device of *folder* as the list of locks names it; None when it is gone."""
    try:
        device = os.stat(folder).st_dev  # noqa: PTH116
    except OSError:
        return None
    return f"{os.major(device):02x}:{os.minor(device):02x}"
