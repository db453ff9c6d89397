"""Files that are either wholly written or not there, and folders that one process changes."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from grader.errors import SetupError

try:
    import fcntl
except ImportError:  # Windows, where an open file can't be removed or replaced by others anyway
    fcntl = None  # type: ignore[assignment]

PACKAGE = Path(__file__).parent
"""The folder of this package."""
TEMPORARY = ".tmp-"
"""How the name of a file begins that is still being written."""
AGAIN = "run the same command again; what was finished is kept"
FULL = "there is no space left on the disk", f"free some space and {AGAIN}"
FORBIDDEN = (
    "this may not be written",
    f"check the permissions of the folder, or name another one, and {AGAIN}",
)

_FAULTS = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: ("the disk quota is used up", f"free some space and {AGAIN}"),
    errno.EFBIG: (
        "the file would be larger than this process may write",
        f"raise the limit, such as with `ulimit -f unlimited`, and {AGAIN}",
    ),
    errno.EROFS: ("the disk is mounted read-only", f"mount it for writing, and {AGAIN}"),
    errno.EACCES: FORBIDDEN,
    errno.EPERM: FORBIDDEN,
}
_LOOK_SECONDS = 0.05


def fault(error: OSError, path: Path) -> SetupError:
    """What a person reads when *path* could not be written: what, where, and what to do."""
    reason = (error.strerror or str(error)).lower()
    known = _FAULTS.get(error.errno or 0)
    what, fix = known or (f"this can't be written: {reason}", f"check the path and {AGAIN}")
    return SetupError(what, where=str(path), fix=fix)


def write_whole(path: Path, data: bytes, *, durable: bool = False, private: bool = False) -> None:
    """Puts *data* at *path* in one step: a reader sees the old file or the new, never a part.

    *durable* also waits until it would survive a power cut; *private* keeps it from other users of
    the machine from the first byte on. Raises SetupError when it can't be written.
    """
    try:
        made = _made(path.parent)
        _write(path, data, durable=durable, mode=0o600 if private else 0o666)
        if durable:
            for folder in (path.parent, *made):
                _sync_folder(folder)
    except OSError as error:
        raise fault(error, path) from error


def private_folder(folder: Path) -> None:
    """Makes *folder*, with a `.gitignore` that keeps all that is written to it out of git.

    A folder that has files already stays as it is.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        empty = next(folder.iterdir(), None) is None
    except OSError as error:
        raise fault(error, folder) from error
    if empty:
        text = "# Answers and students' work: keep this folder out of git.\n*\n"
        write_whole(folder / ".gitignore", text.encode())


def _made(folder: Path) -> list[Path]:
    """Makes *folder*; the folders whose lists of names have changed by that."""
    missing = list(takewhile(lambda one: not one.exists(), (folder, *folder.parents)))
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
    return [one.parent for one in missing]


def _write(path: Path, data: bytes, *, durable: bool, mode: int) -> None:
    temporary, descriptor = _temporary(path.parent, mode)
    try:
        # Open, and so locked, until it has its name: `sweep` must not take it for a leftover.
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


def _temporary(folder: Path, mode: int) -> tuple[Path, int]:
    """A new file in *folder* that is locked, and its descriptor."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        # Not named after the target: that may already be as long as a file name may be.
        path = folder / f"{TEMPORARY}{secrets.token_hex(8)}"
        descriptor = os.open(path, flags, mode)
        _lock(descriptor)
        if os.fstat(descriptor).st_nlink:
            return path, descriptor
        os.close(descriptor)  # swept away between the two


def _lock(descriptor: int) -> bool:
    """Whether the file is ours alone now; True also where nothing can be locked."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # such as on a network disk that has no locks
    return True


def sweep(folder: Path) -> None:
    """Removes what killed processes left half written in *folder*; what is being written stays."""
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{TEMPORARY}*"):
            with contextlib.suppress(OSError):
                _take_away(path)


def _take_away(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        if _lock(descriptor) and fcntl is not None:
            path.unlink()
    finally:
        os.close(descriptor)
    if fcntl is None:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def alone(folder: Path, *, wait: float = 3.0) -> Iterator[None]:
    """The time in which no other process is in the same block for the same *folder*.

    A process that is killed lets go at once. Raises SetupError when another one is still at work
    after *wait* seconds. Where folders can't be locked, as on Windows, nobody waits.
    """
    if fcntl is None:
        yield
        return
    # The folder itself, so that no lock file lies about; not inherited by any kernel.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        end = time.monotonic() + wait
        while not _lock(descriptor):
            if time.monotonic() > end:
                raise SetupError(
                    "another grader is at work in this folder",
                    where=str(folder),
                    fix="wait until it has finished, or name another folder",
                )
            time.sleep(_LOOK_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    # Without this the new name itself may be lost; Windows can't open a folder and needs not.
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
