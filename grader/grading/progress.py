"""The protocol by which long work reports its progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class Progress(Protocol):
    """Called with the name of each finished item."""

    def __call__(self, name: str, /) -> None:
        """Counts one more item."""

    def running(self, names: Sequence[str], /) -> None:
        """Reports what is being worked on."""


class NoProgress:
    """Reports nothing."""

    def __call__(self, name: str, /) -> None:
        """Does nothing."""

    def running(self, names: Sequence[str], /) -> None:
        """Does nothing."""


StartProgress = Callable[[int], Progress]
"""Called with the number of items; returns the object that is told about each."""


def no_progress(_total: int) -> Progress:
    """Returns a progress object that reports nothing."""
    return NoProgress()
