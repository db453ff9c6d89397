"""Tells notebooks that they have no shared memory, where Landlock alone separates them."""

from __future__ import annotations

import _multiprocessing  # type: ignore[import-not-found]  # the part of multiprocessing in C
from typing import Self


class SharedMemoryRefusedError(PermissionError):
    """The sandbox refuses shared memory. The grader recognizes the error by its name."""


class _Lock(_multiprocessing.SemLock):  # type: ignore[misc]
    """A lock that says why it can't be created, unlike that of `multiprocessing`."""

    def __new__(cls, *arguments: object) -> Self:
        try:
            lock: Self = super().__new__(cls, *arguments)
        except PermissionError:
            raise SharedMemoryRefusedError(
                "locks, queues, and pools of multiprocessing, and data loaders with workers, need "
                "shared memory, which this grading machine does not provide"
            ) from None
        return lock


def explain_refused_locks() -> None:
    """Makes refused locks of `multiprocessing` raise SharedMemoryRefusedError in this process.

    Without it, they raise "Permission denied" without a name, as many other calls do.
    """
    _multiprocessing.SemLock = _Lock
