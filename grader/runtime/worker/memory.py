"""Measures the memory of a submission's processes where no control group counts it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence

from grader.runtime.worker.process_tree import PROC, list_threads

MOST_LOCKS = 5_000
"""Limit on the file locks of a submission; a lock takes 192 bytes that belong to no process."""

_PAUSE_SECONDS = 0.02
_AT_ONCE = 1_000_000
"""Bytes read of the list of locks, which has the newest first: some 20,000 locks."""
# Also the tables that map memory, which a process can make large without using a page.
_OWN = (b"VmRSS", b"VmSwap", b"VmPTE", b"HugetlbPages")


def exceeds_limit(limit: int, pids: Sequence[int], scratch: Sequence[str] = ()) -> bool:
    """Returns whether the processes *pids* and the folders *scratch* use more than *limit* bytes.

    If a quick measurement exceeds *limit*, two exact ones, after pauses, must exceed it too: a
    process that is about to start another program is counted twice for a moment.
    """
    if used_bytes(pids, scratch) <= limit:
        return False
    for _ in range(2):
        time.sleep(_PAUSE_SECONDS)
        if used_bytes(pids, scratch, exact=True) <= limit:
            return False
    return True


def used_bytes(pids: Iterable[int], scratch: Iterable[str] = (), *, exact: bool = False) -> int:
    """Returns the bytes in use by *pids* and in *scratch*, folders in memory.

    Memory that several processes share is counted for each of them, and once if *exact*, which
    takes milliseconds instead of microseconds.
    """
    total = shared = 0
    for pid in pids:
        # The first thread can end, and then shows no memory while the others run.
        thread = next((thread for thread in list_threads(pid) if thread != pid), pid)
        amounts = _read_amounts(f"{PROC}/{thread}/status")
        total += sum(amounts.get(name, 0) for name in _OWN)
        if exact:
            shares = _read_amounts(f"{PROC}/{thread}/smaps_rollup")
            if b"Pss" in shares:  # otherwise it can't be read: all of its memory counts
                files = shares.get(b"Pss_Shmem", 0)
                total += shares[b"Pss"] - files - amounts.get(b"VmRSS", 0)
                shared += files
    # Pages of files in scratch are also in the processes that map them.
    return total + max(_bytes_in_folders(scratch), shared)


def _read_amounts(path: str) -> dict[bytes, int]:
    """Returns the lines of a file that give an amount in kB, in bytes."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            text = file.read()
    except OSError:
        return {}
    lines = (line.split() for line in text.splitlines() if line.endswith(b"kB"))
    return {words[0][:-1]: 1024 * int(words[1]) for words in lines if len(words) == 3}


def _bytes_in_folders(folders: Iterable[str]) -> int:
    """Returns the bytes in use on the file systems of these folders."""
    total = 0
    for folder in folders:
        about = os.statvfs(folder)
        total += (about.f_blocks - about.f_bfree) * about.f_frsize
    return total


def exceeds_lock_limit(pids: Iterable[int]) -> bool:
    """Returns whether the processes *pids* have more than `MOST_LOCKS` file locks."""
    try:
        with open(f"{PROC}/locks", "rb") as file:  # noqa: PTH123
            lines = file.read(_AT_ONCE).splitlines()
    except OSError:
        return False  # no list is shown here
    if len(lines) <= MOST_LOCKS:
        return False
    # Such as `7: POSIX  ADVISORY  WRITE 4711 fd:00:2477915 0 0`; one that waits for another has
    # an arrow after its number.
    own = {str(pid).encode() for pid in pids}
    words = (line.replace(b"->", b"").split() for line in lines)
    return sum(each[4] in own for each in words if len(each) > 4) > MOST_LOCKS
