"""Kernels to run a notebook in: one protocol, a registry, and the cold kernel."""

from __future__ import annotations

import sys

from grader.runtime.kernels.base import (
    AskReply,
    CallResult,
    CellResult,
    KernelOptions,
    LostError,
    NotStartedError,
    Session,
    StoppedError,
    kernels,
)
from grader.runtime.kernels.contention import MOST_TIMES

__all__ = [
    "MOST_TIMES",
    "USUAL",
    "AskReply",
    "CallResult",
    "CellResult",
    "KernelOptions",
    "LostError",
    "NotStartedError",
    "Session",
    "StoppedError",
    "kernels",
]

USUAL = "warm" if sys.platform == "linux" else "cold"
"""On other systems fork is unsafe or missing, and no sandbox can hold a forked kernel."""


@kernels.add("cold")
def _start_cold(options: KernelOptions) -> Session:
    from grader.runtime.kernels import cold
    from grader.runtime.kernels.session import KernelSession

    return KernelSession(options, cold.start)


@kernels.add("warm")
def _start_warm(options: KernelOptions) -> Session:
    from grader.runtime.kernels import warm
    from grader.runtime.kernels.session import KernelSession

    return KernelSession(options, warm.start)
