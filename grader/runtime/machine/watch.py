"""How the seconds of work on a device are taken: by the device's own events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Watch(Protocol):
    """How the seconds of work on a device are taken."""

    device: str
    """As torch calls it."""
    words: str
    """How, as part of a sentence."""

    def seconds(self, work: Callable[[], object], calls: int) -> float:
        """The mean time that the device was busy with one of *calls* calls in a row."""
        ...

    def wait(self) -> None:
        """Until the device has done all that it was given."""
        ...


class Events:
    """Time between two events on the device's stream."""

    device = "cuda"
    words = "by CUDA events"

    def seconds(self, work: Callable[[], object], calls: int) -> float:
        """As the device's clock has it: what the host did meanwhile does not count."""
        import torch

        make: Any = torch.cuda.Event
        start, end = make(enable_timing=True), make(enable_timing=True)
        start.record()
        for _ in range(calls):
            work()
        end.record()
        end.synchronize()
        return max(float(start.elapsed_time(end)) / 1000 / calls, 1e-9)

    def wait(self) -> None:
        """Until all streams are empty."""
        import torch

        torch.cuda.synchronize()
