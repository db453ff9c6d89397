"""The supervisor: the first process of a submission, which starts the kernel and ends with it.

With pid namespaces it is process 1 of a new one, so that the system ends every process when the
supervisor ends. Otherwise it adopts the orphans of its descendants, and ends them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.runtime.worker import ipc, kernel, process_tree, syscalls, view
from grader.runtime.worker.confine import confine
from grader.runtime.worker.plan import KernelStart, SandboxPlan
from grader.runtime.worker.watch import Watchdog, report

_NICE = 5
"""Kernels and all that they start run after the grader and the supervisors."""
_HIGH_DESCRIPTOR = 100
_KEPT = sum(
    1 << capability
    for capability in (
        syscalls.CAP_KILL,  # to interrupt and end a kernel that runs as another user
        syscalls.CAP_SYS_PTRACE,  # to see how much memory it uses
    )
)
# To look into its folder and at its open files, and to end all its processes, as its user.
_KEPT_TO_SWITCH = 1 << syscalls.CAP_SETGID | 1 << syscalls.CAP_SETUID


def serve(
    plan: SandboxPlan,
    start: KernelStart,
    line: socket.socket,
    files: Sequence[int],
) -> None:
    """Starts a kernel in the sandbox, and serves *line* until the kernel is to end.

    Never returns. *files* are the wire, then open `cgroup.procs` files.
    """
    status = 1
    try:
        os.setsid()
        _isolate(plan, start, files[1:])
        ready, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            _become_kernel(plan, start, (tell, files[0]))
        for file in (tell, *files):
            os.close(file)
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
        if plan["drop"]:
            switches = plan["view"] is None and start["uid"] is not None
            syscalls.keep_capabilities(_KEPT | (_KEPT_TO_SWITCH if switches else 0))
        Watchdog(plan, start, line, pid, ready).run()
        status = 0
    except BaseException as error:  # noqa: BLE001  # reported: nobody sees what is printed here
        report(line, {"is": "failed", "what": ipc.format_failure(error)})
    finally:
        process_tree.end_processes(plan["view"] is not None, start["uid"])
        os._exit(status)


def _isolate(plan: SandboxPlan, start: KernelStart, groups: Sequence[int]) -> None:
    """Enters the control groups and the kernel's view; without a view, adopts all orphans."""
    for file in groups:
        os.write(file, b"0")
    if plan["view"] is not None:
        syscalls.unshare(syscalls.CLONE_KERNEL)
        view.enter_kernel_view(start["uid"], start["scratch_bytes"])
        if plan["loopback"]:
            syscalls.bring_up_loopback()
        return
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    if start["uid"] is not None:
        for name in ("", "home", "work", "tmp"):
            os.chown(os.path.join(start["root"], name), start["uid"], start["uid"])  # noqa: PTH118


def _become_kernel(plan: SandboxPlan, start: KernelStart, files: Sequence[int]) -> None:
    """Runs the kernel in this process, and never returns.

    Of all open files only *files* are left, numbered from 3: one to write the key to as soon as
    requests are served, and the wire.
    """
    tell = files[0]
    try:
        os.setsid()
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
        os.umask(0o077)
        os.nice(_NICE)
        with contextlib.suppress(OSError):  # ended first if the machine runs out of memory
            Path("/proc/self/oom_score_adj").write_text("800")
        os.environ.clear()
        os.environ.update(start["environment"])
        os.chdir(start["root"] + "/work")
        confine(plan, start)
        tell, wire = _close_others(files)
        kernel.run_kernel(start, tell, wire)
    except BaseException as error:  # noqa: BLE001
        with contextlib.suppress(OSError):
            os.write(tell, b"!" + ipc.format_failure(error).encode("utf-8", "replace"))
    finally:
        os._exit(1)


def _close_others(files: Sequence[int]) -> list[int]:
    """Closes all but the standard streams and *files*; returns the new numbers of *files*."""
    high = [fcntl.fcntl(file, fcntl.F_DUPFD, _HIGH_DESCRIPTOR) for file in files]
    kept = [os.dup2(file, 3 + n, inheritable=False) for n, file in enumerate(high)]
    os.closerange(3 + len(files), 2**20)
    return kept


if sys.platform != "linux":  # pragma: no cover
    raise ImportError("supervisors run on Linux only")
