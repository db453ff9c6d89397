"""Processes that left their kernel's process group: found by its folder, and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.sandbox import Place

_LOOKS = 10
"""Looks at the list of processes while there is still something to end; usually it is one."""
_LARGEST = 10_000_000


def end(place: Place) -> None:
    """Kills every process of ours that works in the folder or has it in its environment.

    Both are inherited from the kernel, and a process that hides both escapes: only a sandbox
    that counts processes by itself can rule that out. Linux only, and never raises.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError):
        roots = [os.fsencode(place.root), os.path.realpath(os.fsencode(place.root))]
        for _ in range(_LOOKS):
            found = list(_found(roots))
            for pid in found:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            if not found:
                return


def _found(roots: Sequence[bytes]) -> Iterator[int]:
    me, user = os.getpid(), os.getuid()
    with os.scandir("/proc") as entries:
        for entry in entries:
            if not entry.name.isdecimal() or int(entry.name) == me:
                continue
            with contextlib.suppress(OSError):  # it has ended meanwhile, or is not ours
                if entry.stat().st_uid == user and _belongs(entry.path, roots):
                    yield int(entry.name)


def _belongs(process: str, roots: Sequence[bytes]) -> bool:
    folder = os.fsencode(os.readlink(f"{process}/cwd")) + b"/"  # noqa: PTH115  # Path is slow
    if any(folder.startswith(root + b"/") for root in roots):
        return True
    with Path(process, "environ").open("rb") as file:
        environment = file.read(_LARGEST)
    return any(root + b"/" in environment for root in roots)
