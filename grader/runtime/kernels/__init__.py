"""Kernels to run a notebook in: one protocol, a registry, and the cold kernel."""

from __future__ import annotations

import sys

from grader.runtime.kernels.base import (
    AskReply,
    CallResult,
    CellResult,
    KernelOptions,
    LaunchSpec,
    LostError,
    NotStartedError,
    Session,
    StoppedError,
    kernels,
)
from grader.runtime.kernels.contention import MOST_TIMES

USUAL = "warm" if sys.platform == "linux" else "cold"
"""On other systems fork is unsafe or missing, and no sandbox can hold a forked kernel."""


def start_early(spec: LaunchSpec) -> None:
    """Starts the process that usual kernels are forked from, and returns at once.

    It starts, and imports modules, while the caller imports and reads what else it needs. Call it
    again when more is known. Kernels with other settings don't use it.
    """
    if USUAL == "warm":
        from grader.runtime.kernels.pool import kernel_pool

        kernel_pool.start_early(spec)


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
