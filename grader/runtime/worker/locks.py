"""Counts the file locks of a submission, whose memory is in no process's account.

The time to read the list of locks grows with the square of its length, so it is read only for some
milliseconds; the newest locks come first.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection

MOST = 5_000
"""Limit for all processes of a submission together; a lock takes 192 bytes."""
_SECONDS = 0.05
"""Processor time for reading the list: enough for some 15,000 locks."""
_OF_OPEN_FILE = b"OFDLCK"


Pids = Collection[int] | None


def exceeds_limit(pids: Callable[[], Pids], root: str = "/proc", device: str | None = None) -> bool:
    """Returns whether the processes that *pids* returns have more than `MOST` locks.

    If it returns None, all processes except this one count. A lock of an open file description has
    no process: it counts if the file is on *device*, as returned by `device_of`, which must be a
    file system of the submission's own.
    """
    lines = _read_lines(root)
    if len(lines) <= MOST:
        return False
    them, me = pids(), os.getpid()
    own = None if them is None else frozenset(them)
    return sum(_is_counted(line.split(), own, me, device) for line in lines) > MOST


def _read_lines(root: str) -> list[bytes]:
    """Returns the start of the list; empty if it is not shown."""
    found: list[bytes] = []
    try:
        with open(f"{root}/locks", "rb", buffering=0) as file:  # noqa: PTH123
            end = time.thread_time() + _SECONDS
            while (page := file.read(65_536)) and time.thread_time() < end:
                found += page.splitlines()
    except OSError:
        pass
    return found


def _is_counted(
    words: list[bytes], own: frozenset[int] | None, me: int, device: str | None
) -> bool:
    """Returns whether a line such as `7: POSIX  ADVISORY  WRITE 4711 fd:00:2477915 0 0` counts."""
    at = 2 if words[1:2] == [b"->"] else 1  # a lock that waits for another
    if len(words) < at + 5:
        return False
    pid, where = int(words[at + 3]), words[at + 4].decode()
    if words[at] == _OF_OPEN_FILE:
        return device is not None and where.rpartition(":")[0] == device
    return pid != me if own is None else pid in own


def device_of(folder: str) -> str | None:
    """Returns the device of *folder* as written in the list of locks; None if it is gone."""
    try:
        device = os.stat(folder).st_dev  # noqa: PTH116
    except OSError:
        return None
    return f"{os.major(device):02x}:{os.minor(device):02x}"
