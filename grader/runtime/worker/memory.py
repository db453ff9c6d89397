"""Measures the memory of a submission's processes where no control group counts it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

_PAUSE_SECONDS = 0.02
# Also the tables that map memory, which a process can make large without using a page.
_OWN = (b"VmRSS", b"VmSwap", b"VmPTE", b"HugetlbPages")


def exceeds_limit(
    limit: int,
    *,
    pids: Iterable[int] | None = None,
    scratch: Iterable[str] = (),
    root: str = "/proc",
) -> bool:
    """Returns whether more than *limit* bytes are in use; see `used_bytes` for the other arguments.

    Measures quickly, and if that is too much, twice exactly: a process that is about to start
    another program is seen twice for a moment.
    """
    folders = list(scratch)
    known = None if pids is None else list(pids)
    if used_bytes(pids=known, scratch=folders, root=root) <= limit:
        return False
    for _ in range(2):
        time.sleep(_PAUSE_SECONDS)
        if used_bytes(pids=known, scratch=folders, root=root, exact=True) <= limit:
            return False
    return True


def used_bytes(
    *,
    pids: Iterable[int] | None = None,
    scratch: Iterable[str] = (),
    root: str = "/proc",
    exact: bool = False,
) -> int:
    """Returns the bytes in use by *pids* and in *scratch*, folders in memory.

    Without *pids*, counts all processes that *root* shows except this one. Memory that several
    processes share is counted for each of them, and once if *exact*, which takes milliseconds
    instead of microseconds.
    """
    total = shared = 0
    for pid in _list_processes(root) if pids is None else pids:
        own, in_files = _measure_bytes(root, pid) if exact else (_estimate_bytes(root, pid), 0)
        total += own
        shared += in_files
    # Pages of files in scratch are also in the processes that map them.
    return total + max(_bytes_in_folders(scratch), shared)


def _list_processes(root: str) -> list[int]:
    try:
        pids = [int(name) for name in os.listdir(root) if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []  # nothing is shown here, so nothing can be counted
    return [pid for pid in pids if pid != os.getpid()]


def _estimate_bytes(root: str, pid: int) -> int:
    status = _read_amounts(f"{root}/{_counted_thread(root, pid)}/status")
    return sum(status.get(name, 0) for name in _OWN)


def _measure_bytes(root: str, pid: int) -> tuple[int, int]:
    """Returns a process's own memory with its share of shared memory, and its share of files."""
    thread = _counted_thread(root, pid)
    own = _read_amounts(f"{root}/{thread}/status")
    shares = _read_amounts(f"{root}/{thread}/smaps_rollup")
    if b"Pss" not in shares:  # it has just ended or can't be read: all of its memory counts
        return sum(own.get(name, 0) for name in _OWN), 0
    tables = own.get(b"VmPTE", 0) + own.get(b"HugetlbPages", 0)
    in_files = shares.get(b"Pss_Shmem", 0)
    return shares[b"Pss"] - in_files + shares.get(b"SwapPss", 0) + tables, in_files


def _counted_thread(root: str, pid: int) -> int:
    """Returns a thread that shows the memory; the first can end and leave the others running."""
    if b"VmRSS" in _read_amounts(f"{root}/{pid}/status"):
        return pid
    try:
        threads = [int(name) for name in os.listdir(f"{root}/{pid}/task")]  # noqa: PTH208
    except OSError:
        return pid
    # A thread has a folder in /proc although it is not listed.
    return next((t for t in threads if b"VmRSS" in _read_amounts(f"{root}/{t}/status")), pid)


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
    """Returns the bytes in folders, each file system counted once."""
    found = {}
    for folder in folders:
        try:
            about = os.statvfs(folder)
            found[os.stat(folder).st_dev] = (about.f_blocks - about.f_bfree) * about.f_frsize  # noqa: PTH116
        except OSError:
            continue
    return sum(found.values())
