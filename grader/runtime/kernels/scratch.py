"""The private folder of one kernel: created before it starts, removed after it ends."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from grader.runtime.sandbox import ScratchFolder

if sys.platform == "win32":
    fcntl = None
else:
    import fcntl

REMOVE_SECONDS = 30.0
"""For the folder to be emptied; if something fills it faster, the rest is left behind."""

# A socket's path may have 104 characters on macOS and 108 on Linux, with its name in `wire`.
_LONGEST = 80
_SHORT = "/tmp"  # noqa: S108
"""Where folders are created if the path of the usual temporary folder is too long or closed."""
_PREFIX = "grader-"
_LOCK = "lock"
_FRESH_SECONDS = 60.0
_locks: dict[str, int] = {}
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_BY_DESCRIPTOR = {
    os.open,
    os.unlink,
    os.rmdir,
    os.rename,
} <= os.supports_dir_fd and os.scandir in os.supports_fd


def make_folder() -> ScratchFolder:
    """Creates a folder with its parts that no other user can enter."""
    place = make_shared_folder()
    for folder in place.subfolders:
        folder.mkdir(mode=0o700)
    return place


def make_shared_folder(*, passable: bool = False) -> ScratchFolder:
    """Creates a folder that a fork server shares with its kernels and no other user can list.

    If *passable*, other users may pass through it to folders below that belong to them. It stays
    locked as long as this process lives and has not removed it; see `remove_abandoned`.
    """
    root = tempfile.mkdtemp(prefix=_PREFIX)
    is_impassable = passable and not all(p.stat().st_mode & 0o001 for p in Path(root).parents)
    if (len(root) > _LONGEST or is_impassable) and _has_sockets():
        Path(root).rmdir()
        root = tempfile.mkdtemp(prefix=_PREFIX, dir=_SHORT)  # mkdtemp is private
    if fcntl is not None:
        lock = os.open(os.path.join(root, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)  # noqa: PTH118
        # Some file systems have no locks. A sweep can't lock folders there either, and keeps them.
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _locks[root] = lock
    if passable:
        Path(root).chmod(0o711)
    return ScratchFolder(Path(root))


def make_kernel_folder(place: ScratchFolder, *, parts: bool) -> None:
    """Creates the folder of one kernel in an existing one, empty or with all its parts."""
    place.root.mkdir(mode=0o700)
    for folder in place.subfolders if parts else ():
        folder.mkdir(mode=0o700)


def remove_abandoned() -> None:
    """Removes the folders that killed graders have left behind. Never raises."""
    if fcntl is None:
        return
    for parent in {tempfile.gettempdir(), _SHORT}:
        with contextlib.suppress(OSError), os.scandir(parent) as entries:
            for entry in entries:
                if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                    _remove_if_abandoned(Path(entry.path), entry.stat(follow_symlinks=False))


def _remove_if_abandoned(root: Path, about: os.stat_result) -> None:
    """Removes the folder *root* if this user owns it and no living grader has locked it."""
    # A folder that is just being created may not be locked yet.
    if about.st_uid != os.getuid() or time.time() - about.st_mtime < _FRESH_SECONDS:
        return
    with contextlib.suppress(OSError):
        lock = os.open(root / _LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return  # its grader is alive
        finally:
            os.close(lock)
        remove_folder(ScratchFolder(root))


def transport_options(place: ScratchFolder) -> dict[str, str]:
    """Returns Jupyter's transport and address: sockets in the folder, or TCP on Windows."""
    if _has_sockets():
        return {"transport": "ipc", "ip": str(place.wire / "k")}
    return {"transport": "tcp", "ip": "127.0.0.1"}


def _has_sockets() -> bool:
    return sys.platform != "win32"


def remove_folder(place: ScratchFolder) -> None:
    """Removes the folder, even if processes are still changing it.

    Never raises: anything that can't be removed stays. Touches nothing outside, since it follows no
    links and takes every step from a folder that is already open.
    """
    lock = _locks.pop(str(place.root), None)
    if lock is not None:
        os.close(lock)
    if not _BY_DESCRIPTOR:
        with contextlib.suppress(OSError, RecursionError):
            shutil.rmtree(place.root, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        with _open_folder(str(place.root)) as root:
            _empty_folder(root)
        place.root.rmdir()


@contextlib.contextmanager
def _open_folder(name: str, parent: int | None = None) -> Iterator[int]:
    """Opens the folder *name* for reading and writing. Raises OSError."""
    try:
        folder = os.open(name, os.O_RDONLY | _FOLDER, dir_fd=parent)
    except PermissionError:
        _restore_permission(name, parent)
        folder = os.open(name, os.O_RDONLY | _FOLDER, dir_fd=parent)
    try:
        os.fchmod(folder, 0o700)
        yield folder
    finally:
        os.close(folder)


def _restore_permission(name: str, parent: int | None) -> None:
    """Restores the permission to open a folder that forbids it."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
    elif sys.platform == "linux":
        # It can't be opened for reading, but an O_PATH descriptor allows changing it.
        folder = os.open(name, os.O_PATH | _FOLDER, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{folder}", 0o700)  # noqa: PTH101
        finally:
            os.close(folder)


def _empty_folder(root: int) -> None:
    """Removes the contents of the folder *root* as long as that makes progress.

    Subfolders are first moved up into the root, so that neither the length of a path nor the
    number of open files grows with the depth.
    """
    end = time.monotonic() + REMOVE_SECONDS
    names = map(str, itertools.count())
    moving = True
    while moving and time.monotonic() < end:
        moving = False
        with os.scandir(root) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    _remove_entry(entry, root, root, names, end)
                    moving = True


def _remove_entry(
    entry: os.DirEntry[str], parent: int, root: int, names: Iterator[str], end: float
) -> None:
    """Removes *entry* of *parent*, or moves it up. Raises OSError if it can't."""
    if time.monotonic() > end:
        raise TimeoutError
    if not entry.is_dir(follow_symlinks=False):
        os.unlink(entry.name, dir_fd=parent)
        return
    with _open_folder(entry.name, parent) as folder:
        if parent != root:
            os.rename(entry.name, next(names), src_dir_fd=parent, dst_dir_fd=root)
            return
        with os.scandir(folder) as entries:
            for inner_entry in entries:
                with contextlib.suppress(OSError):
                    _remove_entry(inner_entry, folder, root, names, end)
    os.rmdir(entry.name, dir_fd=parent)
