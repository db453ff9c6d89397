"""Measures the files of a submission if they are not on their own file system.

Counts the files in the folder, and those without a name that a process has open or mapped. Between
two measurements it only asks for the free space of the disk, which takes microseconds; if more is
gone than was left, it measures at once.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator

from grader.runtime.worker import process_tree

_LOOK_SECONDS = 0.1
_SHARE = 20
"""Measuring takes at most one part in so many of the time, unless space is getting short."""
_LEAST_ROOM = 1_000_000
_ENTRY = 512
_LARGEST_ENTRY = 4096
"""The limit allows one file or folder for so many bytes, as a file system in memory does."""
_LONG = 2000
"""Characters of a path that is walked from one open folder; the system takes 4096."""
_DEPTH = 200
"""Limit on open folders in one walk, which deeper nesting would exceed."""


class DiskQuota:
    """Allows *limit* bytes in the folder *root*.

    *uid* is the owner of the folder if it is not this process's user; this process must then be
    able to become that user for a moment.
    """

    def __init__(self, root: str, limit: int, uid: int | None = None):
        self.gone = False
        """Whether the folder has been removed or moved, so that nothing can be counted."""
        self._root = os.path.realpath(root)
        self._limit = limit
        self._uid = uid
        self._device = os.stat(self._root).st_dev  # noqa: PTH116
        self._most_entries = max(limit // _LARGEST_ENTRY, 1000)
        self._room = limit
        self._before = self._free_bytes()
        self._next = self._soonest = 0.0

    def is_exceeded(self, pids: Callable[[], Iterable[int]]) -> bool:
        """Returns whether the limit is exceeded; *pids* returns the submission's processes."""
        try:
            now, free = time.monotonic(), self._free_bytes()
        except FileNotFoundError:
            self.gone = True
            return False
        short = self._before - free >= max(self._room, _LEAST_ROOM)
        if now < self._next and not (short and now >= self._soonest):
            return False
        self._before = free
        # Twice, because a file that is moved meanwhile may be counted twice.
        used = self._used_bytes(pids)
        over = used > self._limit and self._used_bytes(pids) > self._limit
        if over and not os.path.lexists(self._root):
            self.gone = True
            return False
        self._room = max(self._limit - int(min(used, self._limit)), 0)
        took = time.monotonic() - now
        self._soonest = now + 2 * took
        self._next = now + max(_LOOK_SECONDS, _SHARE * took)
        return over

    def _free_bytes(self) -> int:
        about = os.statvfs(self._root)
        return about.f_bfree * about.f_frsize

    def _used_bytes(self, pids: Callable[[], Iterable[int]]) -> float:
        """Returns bytes on disk; infinite if the notebook prevents counting."""
        # Listed with the rights of this process. A thread can have its own table of open files.
        threads = [
            f"/proc/{pid}/task/{t}" for pid in pids() for t in process_tree.list_threads(pid)
        ]
        with _as_user(self._uid):
            named = self._bytes_in_folder()
            return named if named > self._limit else named + self._bytes_of_removed_files(threads)

    def _bytes_in_folder(self) -> float:
        total = entries = 0
        linked: set[int] = set()
        with contextlib.ExitStack() as stack:
            base = _open_folder(self._root, None, self._root)
            if base is None:
                return math.inf
            stack.callback(os.close, base)
            opened, waiting = 1, [(base, ".")]
            while waiting:
                base, path = waiting.pop()
                if len(path) > _LONG:
                    deeper = _open_folder(path, base, self._root)
                    if deeper is None:
                        continue
                    stack.callback(os.close, deeper)
                    opened, base, path = opened + 1, deeper, "."
                for entry, about in _iter_entries(base, path, self._root):
                    entries += 1
                    if stat.S_ISDIR(about.st_mode):
                        waiting.append((base, f"{path}/{entry}"))
                    elif about.st_nlink > 1:
                        if about.st_ino in linked:
                            continue
                        linked.add(about.st_ino)
                    total += 512 * about.st_blocks + _ENTRY
                if total > self._limit or entries > self._most_entries or opened > _DEPTH:
                    return math.inf
        return total

    def _bytes_of_removed_files(self, threads: Iterable[str]) -> int:
        """Returns bytes of removed files that a thread, given by its folder, has open or mapped."""
        found: dict[int, int] = {}
        for thread in threads:
            with contextlib.suppress(OSError):
                for name in os.listdir(f"{thread}/fd"):  # noqa: PTH208
                    with contextlib.suppress(OSError):
                        about = os.stat(f"{thread}/fd/{name}")  # noqa: PTH116
                        if self._is_removed_file(about):
                            found[about.st_ino] = 512 * about.st_blocks
            for inode, size in _iter_mapped_files(thread, self._root):
                found.setdefault(inode, size)
        return sum(found.values())

    def _is_removed_file(self, about: os.stat_result) -> bool:
        mine = about.st_dev == self._device and about.st_nlink == 0
        return mine and stat.S_ISREG(about.st_mode)


@contextlib.contextmanager
def _as_user(uid: int | None) -> Iterator[None]:
    """Becomes another user, to whom the system shows the open files of that user's processes."""
    if uid is None:
        yield
        return
    user, group = os.geteuid(), os.getegid()
    os.setegid(uid)  # both, or they are not shown
    try:
        os.seteuid(uid)
        yield
    finally:
        os.seteuid(user)
        os.setegid(group)


def _open_folder(path: str, base: int | None, root: str) -> int | None:
    """Opens a folder, and restores its permissions if needed; None if there is none."""
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
            if not _is_within(held, root):
                return None
            os.chmod(f"/proc/self/fd/{held}", 0o700)  # noqa: PTH101
        finally:
            os.close(held)
        return os.open(path, flags, dir_fd=base)
    except OSError:
        return None


def _is_within(descriptor: int, root: str) -> bool:
    path = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115
    return path == root or path.startswith(root + "/")


def _iter_entries(base: int, path: str, root: str) -> Iterator[tuple[str, os.stat_result]]:
    folder = _open_folder(path, base, root)
    if folder is None:
        return
    try:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    yield entry.name, entry.stat(follow_symlinks=False)
    finally:
        os.close(folder)


def _iter_mapped_files(thread: str, root: str) -> Iterator[tuple[int, int]]:
    """Yields the inode and size, in bytes, of removed files that a thread has mapped."""
    inside = os.fsencode(root) + b"/"
    with contextlib.suppress(OSError), open(f"{thread}/maps", "rb") as file:  # noqa: PTH123
        for line in file:
            words = line.rstrip(b"\n").split(None, 5)
            if len(words) == 6 and words[5].startswith(inside) and words[5].endswith(b" (deleted)"):
                first, _, last = words[0].partition(b"-")
                yield int(words[4]), int(words[2], 16) + int(last, 16) - int(first, 16)
