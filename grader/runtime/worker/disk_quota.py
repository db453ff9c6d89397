"""How much a submission has written to its folder, where no file system of its own bounds it.

Counted are the files in the folder, and those without a name that a process still has open or
mapped. Between two looks at all of them the free space of the disk is asked for, and how many files
it can still hold, which takes microseconds: when either has shrunk by what was left, it is time to
look at once.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator

from grader.runtime.worker.descriptors import as_user, tables

_LOOK_SECONDS = 0.1
_SOON_SECONDS = 0.01
_FASTEST = 2e9
"""Bytes in a second: what is left must last until the next look, at this speed."""
_FASTEST_ENTRIES = 2e5
"""Files and folders in a second, likewise."""
_SHARE = 20
"""Of its time, at most one part in so many is spent on looking, unless space is getting short."""
_LEAST_ROOM = 1_000_000
_LEAST_ENTRIES = 100
_ENTRY = 512
_LARGEST_ENTRY = 4096
"""A file system in memory of the same size would hold one entry for so many bytes."""
_LONG = 2000
"""Characters of a path that is walked from one open folder; the system takes 4096."""
_GRACE_SECONDS = 0.5
"""For whoever tidies up to get from a folder to the one around it."""
_DEPTH = 200
"""Open folders in one walk; whoever nests folders deeper than these reach hides something."""


class Space:
    """The folder *root*, of which *limit* bytes may be used.

    *uid* is whose folder it is, when that is another user than this process, which must then be
    able to become that user for a moment. *kept* says that no submission can take it away.
    """

    def __init__(self, root: str, limit: int, uid: int | None = None, *, kept: bool = False):
        self.gone = False
        """Whether somebody else has taken the folder away; then nothing can be counted."""
        self._root = os.path.realpath(root)
        self._limit = limit
        self._uid = uid
        self._kept = kept
        self._missed: float | None = None
        self._device = os.stat(self._root).st_dev  # noqa: PTH116
        self._most = max(limit // _LARGEST_ENTRY, 1000)
        self._room = limit
        self._entries = 0
        self._before, self._entries_before = self._free()
        self._freest = self._before
        self._next = self._soonest = 0.0

    @property
    def pause(self) -> float:
        """Seconds until `over` should be asked again: fewer, the less is left."""
        full = min(self._room / _FASTEST, (self._most - self._entries) / _FASTEST_ENTRIES)
        return min(max(full, _SOON_SECONDS), _LOOK_SECONDS)

    def over(self, pids: Callable[[], Iterable[int]]) -> bool:
        """Whether more is used than may be. *pids* gives the processes of the submission."""
        try:
            now, (free, entries) = time.monotonic(), self._free()
        except FileNotFoundError:
            return self._moved()
        self._missed = None
        self._freest = max(self._freest, free)
        short = self._before - free >= max(self._room, _LEAST_ROOM)
        left = max(self._most - self._entries, _LEAST_ENTRIES)
        short = short or self._entries_before - entries >= left
        if now < self._next and not (short and now >= self._soonest):
            return False
        self._before, self._entries_before = free, entries
        # Twice, because what is moved while it is counted may be counted twice.
        used = self._used(pids)
        over = used > self._limit and self._used(pids) > self._limit
        if over and not os.path.lexists(self._root):  # just now
            return self._moved()
        self._room = max(self._limit - int(min(used, self._limit)), 0)
        took = time.monotonic() - now
        self._soonest = now + 2 * took
        self._next = now + max(_LOOK_SECONDS, _SHARE * took)
        return over

    def _moved(self) -> bool:
        """Whether the submission has taken its folder away; `gone` says that somebody else has.

        A submission without a wall can do both. But the folder around it is that of the parent and
        of all its kernels: where that has gone as well, somebody has tidied up.
        """
        now = time.monotonic()
        if self._missed is None:
            self._missed = now
        late = now - self._missed > _GRACE_SECONDS
        self.gone = not os.path.lexists(os.path.dirname(self._root)) or (late and self._kept)  # noqa: PTH120
        return late and not self.gone

    def _free(self) -> tuple[int, int]:
        """Bytes, and files and folders; of these always 0 where the file system makes room."""
        about = os.statvfs(self._root)
        return about.f_bfree * about.f_frsize, about.f_ffree

    def _used(self, pids: Callable[[], Iterable[int]]) -> float:
        """Bytes on disk; infinite when it can't be counted, by somebody's doing."""
        with as_user(self._uid):
            named = self._named()
        if named > self._limit:
            return named
        found = [tables(pid) for pid in pids()]  # with the rights of this process
        with as_user(self._uid):
            return named + self._nameless(found)

    def _named(self) -> float:
        total = entries = 0
        linked: set[int] = set()
        with contextlib.ExitStack() as stack:
            base = _folder(self._root, None, self._root)
            if base is None:
                return math.inf
            stack.callback(os.close, base)
            opened, waiting = 1, [(base, ".")]
            while waiting:
                base, path = waiting.pop()
                if len(path) > _LONG:
                    deeper = _folder(path, base, self._root)
                    if deeper is None:
                        continue
                    stack.callback(os.close, deeper)
                    opened, base, path = opened + 1, deeper, "."
                for entry, about in _entries(base, path, self._root):
                    entries += 1
                    if stat.S_ISDIR(about.st_mode):
                        waiting.append((base, f"{path}/{entry}"))
                    elif about.st_nlink > 1:
                        if about.st_ino in linked:
                            continue
                        linked.add(about.st_ino)
                    total += 512 * about.st_blocks + _ENTRY
                if total > self._limit or entries > self._most or opened > _DEPTH:
                    return math.inf
        self._entries = entries
        return total

    def _nameless(self, processes: Iterable[list[str]]) -> int:
        """Bytes of files that were removed, and are still open or mapped.

        *processes* are the tables of what each of them has open.
        """
        found: dict[int, int] = {}
        processes = list(processes)
        for folder in (folder for each in processes for folder in each):
            with contextlib.suppress(OSError):
                for name in os.listdir(folder):  # noqa: PTH208
                    with contextlib.suppress(OSError):
                        about = os.stat(f"{folder}/{name}")  # noqa: PTH116
                        if self._is_nameless(about):
                            found[about.st_ino] = 512 * about.st_blocks
        # A map of memory is long, and read only if that much can be hidden at all.
        if self._freest - self._before > self._limit // 4:
            for each in processes:
                for inode, size in _mapped(each, self._root):
                    found.setdefault(inode, size)
        return sum(found.values())

    def _is_nameless(self, about: os.stat_result) -> bool:
        mine = about.st_dev == self._device and about.st_nlink == 0
        return mine and stat.S_ISREG(about.st_mode)


def _folder(path: str, base: int | None, root: str) -> int | None:
    """The folder open, its permissions given back if need be; None when there is none."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, dir_fd=base)
    except PermissionError:
        pass
    except OSError:
        return None
    try:
        held = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=base)
        try:
            if not within(held, root):
                return None
            os.chmod(f"/proc/self/fd/{held}", 0o700)  # noqa: PTH101
        finally:
            os.close(held)
        return os.open(path, flags, dir_fd=base)
    except OSError:
        return None


def _entries(base: int, path: str, root: str) -> Iterator[tuple[str, os.stat_result]]:
    folder = _folder(path, base, root)
    if folder is None:
        return
    try:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    yield entry.name, entry.stat(follow_symlinks=False)
    finally:
        os.close(folder)


def _mapped(tables: Iterable[str], root: str) -> Iterator[tuple[int, int]]:
    """Files without a name that a process has in its memory, and up to where, in bytes.

    All threads have the same memory, but one that has ended shows nothing of it.
    """
    inside, sizes = os.fsencode(root) + b"/", dict[int, int]()
    for table in tables:
        lines = _lines(table.removesuffix("fd") + "maps")
        for line in lines:
            words = line.split(None, 5)
            if len(words) < 6 or not words[5].startswith(inside):
                continue
            if words[5].endswith(b" (deleted)"):
                first, _, last = words[0].partition(b"-")
                end = int(words[2], 16) + int(last, 16) - int(first, 16)
                sizes[int(words[4])] = max(end, sizes.get(int(words[4]), 0))
        if lines:
            break
    yield from sizes.items()


def _lines(path: str) -> list[bytes]:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read().splitlines()
    except OSError:
        return []


def within(descriptor: int, root: str) -> bool:
    """Whether what is open lies in the folder *root*, by the path at which it is now."""
    path = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115
    return path == root or path.startswith(root + "/")
