"""What long work tells of how far it has come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class Progress(Protocol):
    """Called with the name of each item that is done."""

    def __call__(self, name: str, /) -> None:
        """Counts one more."""

    def running(self, names: Sequence[str], /) -> None:
        """Notes what is being worked on at this moment."""


class Silent:
    """Tells nobody."""

    def __call__(self, name: str, /) -> None:
        """Does nothing."""

    def running(self, names: Sequence[str], /) -> None:
        """Does nothing."""


Started = Callable[[int], Progress]
"""Told how many items there are; gives what is told of each."""


def silent(_total: int) -> Progress:
    """For work that nobody watches."""
    return Silent()
