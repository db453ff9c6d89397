"""Files that are either wholly written or not there."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_whole(path: Path, data: bytes, *, durable: bool = False, private: bool = False) -> None:
    """Puts *data* at *path* in one step: a reader sees the old file or the new, never a part.

    *durable* also waits until it would survive a power cut; *private* keeps it from other users of
    the machine from the first byte on.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not named after the target: that may already be as long as a file name may be.
    temporary = path.parent / f".tmp-{os.getpid()}-{secrets.token_hex(8)}"
    try:
        mode = 0o600 if private else 0o666
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(temporary, flags, mode), "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    # Without this the new name itself may be lost; Windows can't open a folder and needs not.
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
