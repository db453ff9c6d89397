"""Kernels to run a notebook in: one protocol, a registry, and the cold kernel."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from grader.runtime.sandbox import Sandbox

USUAL = "warm" if sys.platform == "linux" else "cold"
"""On other systems fork is unsafe or missing, and no sandbox can hold a forked kernel."""


def start_early(
    sandbox: Sandbox,
    device: str,
    *,
    loopback: bool = False,
    variables: tuple[tuple[str, str], ...] = (),
    imports: tuple[str, ...] = (),
) -> None:
    """Starts the process that usual kernels on *device* are forked from, and returns at once.

    It starts, and imports the modules *imports*, while the caller imports and reads what else it
    needs. Call it again when more is known. Kernels with other settings don't use it.
    """
    if USUAL != "warm":
        return
    from grader.runtime.kernels.fork_server import LaunchSpec
    from grader.runtime.kernels.pool import kernel_pool

    spec = LaunchSpec(
        sandbox=sandbox,
        device=device,
        loopback=loopback,
        seed=0,
        imports=imports,
        variables=variables,
    )
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
