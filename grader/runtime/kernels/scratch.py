"""The private folder of one kernel: made before it starts, removed when it has ended."""

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

from grader.runtime.sandbox import Place

if sys.platform == "win32":
    fcntl = None
else:
    import fcntl

REMOVE_SECONDS = 30.0
"""For the folder to be emptied; something that fills it faster is left behind."""

# A socket's path may have 104 characters on macOS and 108 on Linux, with its name in `wire`.
_LONGEST = 80
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


def make() -> Place:
    """A new folder that nobody else may enter, with its parts."""
    place = make_shared()
    for folder in place.parts:
        folder.mkdir(mode=0o700)
    return place


def make_shared(*, passable: bool = False) -> Place:
    """A new folder that nobody else may enter, for a parent to share with its kernels.

    With *passable* others may pass through it, to folders in it of which they know and that are
    theirs. As long as this process lives and has not removed it, it is locked; see `sweep`.
    """
    root = tempfile.mkdtemp(prefix=_PREFIX)
    closed = passable and not all(p.stat().st_mode & 0o001 for p in Path(root).parents)
    if (len(root) > _LONGEST or closed) and _has_sockets():
        Path(root).rmdir()
        root = tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp")  # mkdtemp is private
    if fcntl is not None:
        lock = os.open(os.path.join(root, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)  # noqa: PTH118
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _locks[root] = lock
    if passable:
        Path(root).chmod(0o711)
    return Place(Path(root))


def furnish(place: Place, *, parts: bool) -> None:
    """Makes the folder of one kernel in one that is there, empty or with all its parts."""
    place.root.mkdir(mode=0o700)
    for folder in place.parts if parts else ():
        folder.mkdir(mode=0o700)


def sweep() -> None:
    """Removes the folders that graders which were killed have left behind. Never raises."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                _sweep(Path(entry.path), entry.stat(follow_symlinks=False))


def _sweep(root: Path, about: os.stat_result) -> None:
    # One that is being made may not be locked yet.
    if about.st_uid != os.getuid() or time.time() - about.st_mtime < _FRESH_SECONDS:
        return
    with contextlib.suppress(OSError):
        lock = os.open(root / _LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return  # whoever made it is alive
        finally:
            os.close(lock)
        remove(Place(root))


def transport(place: Place) -> dict[str, str]:
    """How kernel and grader talk: by sockets in the folder, or by TCP where there are none."""
    if _has_sockets():
        return {"transport": "ipc", "ip": str(place.wire / "k")}
    return {"transport": "tcp", "ip": "127.0.0.1"}


def _has_sockets() -> bool:
    return sys.platform != "win32"


def remove(place: Place) -> None:
    """Removes the folder, whatever is in it and whoever still changes it.

    Never raises: what can't be removed stays. Nothing outside is touched, since no link is
    followed and every step is taken from a folder that is open already.
    """
    lock = _locks.pop(str(place.root), None)
    if lock is not None:
        os.close(lock)
    if not _BY_DESCRIPTOR:
        with contextlib.suppress(OSError, RecursionError):
            shutil.rmtree(place.root, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        with _opened(str(place.root)) as root:
            _empty(root)
        place.root.rmdir()


def hidden(text: str, place: Place) -> str:
    """*text* without the folder's name, which is ours, differs each time and helps nobody."""
    work = str(place.work)
    return text.replace(work + os.sep, "").replace(work, ".").replace(str(place.root), "~")


@contextlib.contextmanager
def _opened(name: str, parent: int | None = None) -> Iterator[int]:
    """A descriptor of the folder *name*, which may then be read and written. Raises OSError."""
    try:
        folder = os.open(name, os.O_RDONLY | _FOLDER, dir_fd=parent)
    except PermissionError:
        _permit(name, parent)
        folder = os.open(name, os.O_RDONLY | _FOLDER, dir_fd=parent)
    try:
        os.fchmod(folder, 0o700)
        yield folder
    finally:
        os.close(folder)


def _permit(name: str, parent: int | None) -> None:
    """Gives back the permission to open a folder that forbids it."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
    elif sys.platform == "linux":
        # It may not be opened, but it may be held, and changed by what holds it.
        held = os.open(name, os.O_PATH | _FOLDER, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{held}", 0o700)  # noqa: PTH101
        finally:
            os.close(held)


def _empty(root: int) -> None:
    """Removes what is in the folder *root*, as far as that gets anywhere.

    A folder's own folders are first moved up into the root, so that neither the length of a path
    nor the number of open files grows with the depth.
    """
    end = time.monotonic() + REMOVE_SECONDS
    names = map(str, itertools.count())
    moving = True
    while moving and time.monotonic() < end:
        moving = False
        with os.scandir(root) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    _take(entry, root, root, names, end)
                    moving = True


def _take(
    entry: os.DirEntry[str], parent: int, root: int, names: Iterator[str], end: float
) -> None:
    """Removes *entry*, which is in *parent*, or moves it up. Raises OSError if it can't."""
    if time.monotonic() > end:
        raise TimeoutError
    if not entry.is_dir(follow_symlinks=False):
        os.unlink(entry.name, dir_fd=parent)
        return
    with _opened(entry.name, parent) as folder:
        if parent != root:
            os.rename(entry.name, next(names), src_dir_fd=parent, dst_dir_fd=root)
            return
        with os.scandir(folder) as inner:
            for each in inner:
                with contextlib.suppress(OSError):
                    _take(each, folder, root, names, end)
    os.rmdir(entry.name, dir_fd=parent)
