"""Atomic file writes, and exclusive access to a folder."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from grader.errors import Location, SetupError

try:
    import fcntl
except ImportError:  # Windows, where other processes can't remove or replace an open file anyway
    fcntl = None  # type: ignore[assignment]

PACKAGE = Path(__file__).parent
"""The folder of this package."""
TEMPORARY = ".tmp-"
"""Prefix of the name of a file that is still being written."""
AGAIN = "run the same command again; finished work is kept"
FULL = "there is no space left on the disk", f"free some space, then {AGAIN}"
FORBIDDEN = (
    "no permission to write here",
    f"check the permissions of the folder, or choose another one, then {AGAIN}",
)
_FILE = (
    "this can't be written, because a file is where a folder should be",
    f"choose another path, or move the file away, then {AGAIN}",
)
READ_ONLY = "the disk is mounted read-only", f"mount it for writing, then {AGAIN}"

_FAULTS = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: ("the disk quota is used up", f"free some space, then {AGAIN}"),
    errno.EFBIG: (
        "the file exceeds the file size limit of this process",
        f"raise the limit, for example with `ulimit -f unlimited`, then {AGAIN}",
    ),
    errno.EROFS: READ_ONLY,
    errno.EACCES: FORBIDDEN,
    errno.EPERM: FORBIDDEN,
    errno.EEXIST: _FILE,
    errno.ENOTDIR: _FILE,
    errno.EISDIR: ("this is a folder, and a file has to be written", "choose another path"),
}
_LOOK_SECONDS = 0.05
_HEAD_BYTES = 4_000


def read_bytes(path: Path, name: str, *, fix: str = "check the path", most: int = -1) -> bytes:
    """Returns the content of the file at *path*, or its first *most* bytes.

    Raises SetupError, which calls the file *name*, if it can't be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        what = f"can't read {name}: {_reason(error)}"
        raise SetupError(what, where=Location(str(path)), fix=fix) from None


def require_replaceable(path: Path, mark: bytes) -> None:
    """Raises SetupError if a file at *path* does not have *mark* near its start.

    Such a file is of another kind, such as a zip of submissions, and would be lost.
    """
    if path.is_file() and mark not in read_bytes(path, "the file", most=_HEAD_BYTES):
        raise SetupError(
            "this file exists already, and is of another kind",
            where=str(path),
            fix="choose another name for --out, or remove the file",
        )


def make_write_error(error: OSError, path: Path) -> SetupError:
    """Returns the error to raise if *path* could not be written."""
    fault = _FAULTS.get(error.errno or 0)
    what, fix = fault or (f"can't write this: {_reason(error)}", f"check the path, then {AGAIN}")
    return SetupError(what, where=str(path), fix=fix)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def write_atomic(path: Path, data: bytes, *, durable: bool = False, private: bool = False) -> None:
    """Writes *data* to *path* atomically: a reader sees the old file or the new one. An
    existing file never becomes readable by more people.

    With *durable*, waits until the file would survive a power loss. With *private*, only the owner
    can ever read it. Raises SetupError if the file can't be written.
    """
    try:
        changed = _make_folder(path.parent)
        _replace_file(path, data, durable=durable, mode=0o600 if private else _mode_of(path))
        if durable:
            for folder in (path.parent, *changed):
                _sync_folder(folder)
    except OSError as error:
        raise make_write_error(error, path) from error


def write_changed(path: Path, data: bytes) -> None:
    """Writes *data* to *path*, as `write_atomic` does, unless the file has this content."""
    if not path.exists() or path.read_bytes() != data:
        write_atomic(path, data)


def make_private_folder(folder: Path) -> None:
    """Creates *folder* with a `.gitignore` that keeps its contents out of git.

    If the folder contains files already, nothing is changed. Raises SetupError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        empty = next(folder.iterdir(), None) is None
    except OSError as error:
        raise make_write_error(error, folder) from error
    if empty:
        text = "# Answers and students' work: keep this folder out of git.\n*\n"
        write_atomic(folder / ".gitignore", text.encode())


def _make_folder(folder: Path) -> list[Path]:
    """Creates *folder* and its parents; returns the folders that got a new entry."""
    missing = list(takewhile(lambda path: not path.exists(), (folder, *folder.parents)))
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
    return [path.parent for path in missing]


def _mode_of(path: Path) -> int:
    """Returns the permissions of the file at *path*, or those of a new file."""
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        return 0o666


def _replace_file(path: Path, data: bytes, *, durable: bool, mode: int) -> None:
    """Writes *data* to a locked temporary file beside *path*, and renames that to *path*."""
    temporary, descriptor = _create_temporary(path.parent, mode)
    try:
        # It stays open, and thus locked, until it is renamed, so that `remove_partial_files` leaves
        # it alone.
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            if fcntl is not None:
                temporary.replace(path)
        if fcntl is None:
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _create_temporary(folder: Path, mode: int) -> tuple[Path, int]:
    """Creates a locked file in *folder*; returns its path and descriptor."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        # The target's name may already have the maximum length, so it is not part of this one.
        path = folder / f"{TEMPORARY}{secrets.token_hex(8)}"
        descriptor = os.open(path, flags, mode)
        _lock(descriptor)
        if os.fstat(descriptor).st_nlink:
            return path, descriptor
        os.close(descriptor)  # `remove_partial_files` was faster than the lock


def _lock(descriptor: int) -> bool:
    """Locks the file; returns False if another process holds the lock.

    Also returns True if the platform or the file system has no locks.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # for example, a network file system without locks
    return True


def remove_partial_files(folder: Path) -> None:
    """Removes partial files that killed processes left in *folder*; keeps those in progress."""
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{TEMPORARY}*"):
            with contextlib.suppress(OSError):
                _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    """Removes the file at *path* unless a process that is writing it holds its lock."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        if _lock(descriptor) and fcntl is not None:
            path.unlink()
    finally:
        os.close(descriptor)
    if fcntl is None:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def exclusive_lock(folder: Path, *, wait: float = 3.0) -> Iterator[None]:
    """Holds an exclusive lock on *folder* while the block runs.

    If a process is killed, its lock is released. Raises SetupError if another process still holds
    the lock after *wait* seconds. On Windows, folders can't be locked, so this does nothing.
    """
    if fcntl is None:
        yield
        return
    # Lock the folder itself, so that there is no lock file. Kernels don't inherit the descriptor.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        end = time.monotonic() + wait
        while not _lock(descriptor):
            if time.monotonic() > end:
                raise SetupError(
                    "another grader process is using this folder",
                    where=str(folder),
                    fix="wait until it has finished, or choose another folder",
                )
            time.sleep(_LOOK_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Makes new names in *folder* survive a power loss."""
    # Without this, the new name may be lost. Windows can't open a folder, and has no need to.
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
