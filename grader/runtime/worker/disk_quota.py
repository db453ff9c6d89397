"""Measures the files of a submission if they are not on their own file system.

Counts the files in the folder, and those without a name that a process has open.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import math
import os
import stat
import time
from collections.abc import Iterator, Sequence

from grader.runtime.worker.process_tree import list_threads

_SHARE = 10
"""Measuring takes at most one part in so many of the time."""
_ENTRY = 512
_LARGEST_ENTRY = 4096
"""The limit allows one file or folder for so many bytes, as a file system in memory does."""
_MACHINE_ERRORS = {errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE}
"""Errors that say something about the machine, and nothing about the size of the files."""


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
        self._next = 0.0

    def check_exceeded(self, pids: Sequence[int]) -> bool:
        """Returns whether the limit is exceeded, also by open files of *pids*; False until it is
        time to measure again."""
        began = time.monotonic()
        if began < self._next:
            return False
        # Twice, because a file that is moved meanwhile may be counted twice.
        with _as_user(self._uid):
            is_over = all(self._used_bytes(pids) > self._limit for _ in range(2))
        now = time.monotonic()
        self._next = now + _SHARE * (now - began)
        self.gone = not os.path.lexists(self._root)
        return is_over and not self.gone

    def _used_bytes(self, pids: Sequence[int]) -> float:
        """Returns the bytes on disk, also of removed files.

        Infinite if the notebook keeps them from being counted; 0 if the machine does.
        """
        try:
            named = self._bytes_in_folder()
        except OSError as error:
            # Above all, a path that is too long. Other errors count too, or a notebook that causes
            # one, such as by swapping folders and links, could write without a limit.
            return 0 if error.errno in _MACHINE_ERRORS else math.inf
        return named if named > self._limit else named + self._bytes_of_removed_files(pids)

    def _bytes_in_folder(self) -> float:
        """Returns the bytes of all files in the folder; infinite if they exceed a limit."""
        total = entries = 0
        linked: set[int] = set()
        waiting = [self._root]
        while waiting:
            for entry in self._list_folder(waiting.pop()):
                try:
                    about = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                entries += 1
                if stat.S_ISDIR(about.st_mode):
                    waiting.append(entry.path)
                elif about.st_nlink > 1:
                    if about.st_ino in linked:
                        continue
                    linked.add(about.st_ino)
                total += 512 * about.st_blocks + _ENTRY
            if total > self._limit or entries > self._most_entries:
                return math.inf
        return total

    def _list_folder(self, path: str) -> list[os.DirEntry[str]]:
        """Returns the entries of a folder, after restoring its permissions if needed.

        The list is empty if the folder belongs to the grader, since the notebook can't write to it.
        """
        try:
            if not os.access(path, os.R_OK | os.X_OK, effective_ids=True):
                self._unlock(path)
            return list(os.scandir(path))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return []

    def _unlock(self, path: str) -> None:
        """Makes a folder readable, unless a link in *path* leads out of the root."""
        folder = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            real_path = os.readlink(f"/proc/self/fd/{folder}")  # noqa: PTH115
            if f"{real_path}/".startswith(f"{self._root}/"):
                os.chmod(f"/proc/self/fd/{folder}", 0o700)  # noqa: PTH101
        finally:
            os.close(folder)

    def _bytes_of_removed_files(self, pids: Sequence[int]) -> int:
        """Returns the bytes of removed files that a process still has open."""
        sizes: dict[int, int] = {}
        # A thread can have its own table of open files, and a folder in /proc that is not listed.
        for thread in itertools.chain.from_iterable(map(list_threads, pids)):
            with contextlib.suppress(OSError):
                for entry in os.scandir(f"/proc/{thread}/fd"):
                    with contextlib.suppress(OSError):
                        about = entry.stat()
                        if about.st_dev == self._device and not about.st_nlink:
                            sizes[about.st_ino] = 512 * about.st_blocks
        return sum(sizes.values())


@contextlib.contextmanager
def _as_user(uid: int | None) -> Iterator[None]:
    """Becomes another user, to whom the system shows that user's folders and open files.

    In a container, root has neither of the capabilities that would show them.
    """
    if uid is None:
        yield
        return
    user, group = os.geteuid(), os.getegid()
    os.setegid(uid)  # both, or the open files are not shown
    try:
        os.seteuid(uid)
        yield
    finally:
        os.seteuid(user)
        os.setegid(group)
