"""How much memory the processes of one submission use, where no control group counts it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from functools import cache

from grader.runtime.worker import pipe_accounting
from grader.runtime.worker.pipe_accounting import HERE, Where

_PAUSE_SECONDS = 0.02
# Also the tables that map memory, which a process can make large while it uses no page.
_OWN = (b"VmRSS", b"VmSwap", b"VmPTE", b"HugetlbPages")
_WHO = b"thread"
_PAGE = 4096
_MAPPING = 256
"""Bytes of the system's that describe one mapping: 192, and its share of the tree of them."""


def over(
    limit: int,
    where: Where = HERE,
    *,
    pids: Iterable[int] | None = None,
    scratch: Iterable[str] = (),
) -> bool:
    """Whether they use more than *limit* bytes: a quick look, and two exact ones if that is more.

    Two, because a process that is about to start another is seen twice for a moment. What is in
    pipes and sockets is looked at when all that they can hold would be too much.
    """
    root, folders = where.root, list(scratch)
    known = None if pids is None else list(pids)
    found = used(pids=known, scratch=folders, root=root)
    them = _others(root) if known is None else known
    if found <= limit and not _holds_more(them, limit - found, where):
        return False
    for _ in range(2):
        time.sleep(_PAUSE_SECONDS)
        them = _others(root) if known is None else known
        exactly = used(pids=them, scratch=folders, root=root, exact=True)
        if exactly <= limit and exactly + _held(them, where) <= limit:
            return False
    return True


def _holds_more(pids: list[int], room: int, where: Where) -> bool:
    """Whether the system needs more than *room* bytes for what *pids* have queued and mapped."""
    left = room - sum(_mapped_at_most(where.root, pid) for pid in pids)
    return pipe_accounting.most(pids, left, where) > left and _held(pids, where) > room


def _held(pids: list[int], where: Where) -> int:
    return pipe_accounting.held(pids, where) + sum(_mapped(where.root, pid) for pid in pids)


def _mapped_at_most(root: str, pid: int) -> int:
    """Bytes that describe the mappings of a process, if each is of one page."""
    pages = _status(root, pid).get(b"VmSize", 0) // _PAGE
    return _MAPPING * min(pages, _most_mappings(root))


def _mapped(root: str, pid: int) -> int:
    """Bytes that describe the mappings of a process."""
    found = 0
    try:
        with open(f"{root}/{_status(root, pid).get(_WHO, pid)}/maps", "rb", buffering=0) as file:  # noqa: PTH123
            while page := file.read(65_536):
                found += page.count(b"\n")
    except OSError:  # ended just now, or not ours to look into
        return _mapped_at_most(root, pid)
    return _MAPPING * found


@cache
def _most_mappings(root: str) -> int:
    """How many one process may have."""
    try:
        with open(f"{root}/sys/vm/max_map_count") as file:  # noqa: PTH123
            return int(file.read())
    except (OSError, ValueError):
        return 65_530


def used(
    *,
    pids: Iterable[int] | None = None,
    scratch: Iterable[str] = (),
    root: str = "/proc",
    exact: bool = False,
) -> int:
    """Bytes in use by *pids*, or by all processes that *root* shows but this one, and in *scratch*.

    *scratch* are folders in memory. Memory that several processes share is counted for each of
    them, and once when *exact*, which takes milliseconds instead of microseconds.
    """
    total = shared = 0
    for pid in _others(root) if pids is None else pids:
        own, in_files = _exact(root, pid) if exact else (_quick(root, pid), 0)
        total += own
        shared += in_files
    # Pages of files in scratch are also in the processes that map them.
    return total + max(_filled(scratch), shared)


def _others(root: str) -> list[int]:
    try:
        pids = [int(name) for name in os.listdir(root) if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []  # nothing is shown here, so nothing can be counted
    return [pid for pid in pids if pid != os.getpid()]


def _quick(root: str, pid: int) -> int:
    return sum(_status(root, pid).get(name, 0) for name in _OWN)


def _exact(root: str, pid: int) -> tuple[int, int]:
    """What is its own, with its share of what others use too; and its share of files in memory."""
    own = _status(root, pid)
    shares = _fields(f"{root}/{own.get(_WHO, pid)}/smaps_rollup")
    if b"Pss" not in shares:  # ended just now, or not ours to look into: then all of it counts
        return sum(own.get(name, 0) for name in _OWN), 0
    tables = own.get(b"VmPTE", 0) + own.get(b"HugetlbPages", 0)
    in_files = shares.get(b"Pss_Shmem", 0)
    return shares[b"Pss"] - in_files + shares.get(b"SwapPss", 0) + tables, in_files


def _status(root: str, pid: int) -> dict[bytes, int]:
    """What one of its threads says that has not ended; the first can end and leave the others."""
    found = _fields(f"{root}/{pid}/status")
    if b"VmRSS" in found:
        return found
    try:
        threads = [int(name) for name in os.listdir(f"{root}/{pid}/task")]  # noqa: PTH208
    except OSError:
        return {}
    for thread in threads:
        # A thread has a folder in /proc by its own number too, though it is not listed.
        found = _fields(f"{root}/{thread}/status")
        if b"VmRSS" in found:
            return {**found, _WHO: thread}
    return {}


def _fields(path: str) -> dict[bytes, int]:
    """The lines of a file that say an amount, in bytes."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            text = file.read()
    except OSError:
        return {}
    lines = (line.split() for line in text.splitlines() if line.endswith(b"kB"))
    return {words[0][:-1]: 1024 * int(words[1]) for words in lines if len(words) == 3}


def _filled(folders: Iterable[str]) -> int:
    """What is in folders; once where several are of the same file system."""
    found = {}
    for folder in folders:
        try:
            about = os.statvfs(folder)
            found[os.stat(folder).st_dev] = (about.f_blocks - about.f_bfree) * about.f_frsize  # noqa: PTH116
        except OSError:
            continue
    return sum(found.values())
