"""The supervisor: the first process of a submission, which starts the kernel and ends with it.

With pid namespaces it is process 1 of a new one, so that the system ends every process when the
supervisor ends. Otherwise it adopts the orphans of its descendants, and ends them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from grader.runtime.worker import ipc, process_tree, syscalls, view
from grader.runtime.worker.confine import confine, limit_files, namespace_flags
from grader.runtime.worker.plan import KernelStart, SandboxPlan
from grader.runtime.worker.watch import HERE, Watchdog, proc_folder, report

KernelFunction = Callable[[KernelStart, int, Sequence[int]], None]
"""Called with its start, a descriptor to write its key to when it is ready, and its wire."""

_NICE = 5
"""Kernels and all that they start run after the grader and the supervisors."""
_REPORT_MILLISECONDS = 2_000
_HIGH_DESCRIPTOR = 100
# To interrupt and end a kernel that runs as another user, and to see how much memory it uses.
_KEPT = 1 << syscalls.CAP_KILL | 1 << syscalls.CAP_SYS_PTRACE
# To look into its folder and at its open files, which only that user may see.
_KEPT_TO_LOOK = 1 << syscalls.CAP_SETGID | 1 << syscalls.CAP_SETUID


def serve(
    plan: SandboxPlan,
    start: KernelStart,
    line: socket.socket,
    files: Sequence[int],
    kernel: KernelFunction,
    proc: int,
) -> None:
    """Starts *kernel* in the sandbox, and serves *line* until the kernel is to end.

    Never returns. *files* are the wire, then open `cgroup.procs` files. *proc* is an open /proc
    that shows this process, since there may be none in its view.
    """
    with _exit_when_all_ended(plan, start, line):
        if proc_folder(plan) == HERE:
            os.fchdir(proc)  # the view has no /proc that shows what has to be counted
        wire, *groups = files
        _isolate(plan, start, groups)
        ready, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            _become_kernel(plan, start, (tell, wire), kernel)
        for file in (proc, tell, *files):
            os.close(file)
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
        _drop_rights(plan, start)
        Watchdog(plan, start, line, pid, ready).run()


@contextlib.contextmanager
def _exit_when_all_ended(
    plan: SandboxPlan, start: KernelStart, line: socket.socket
) -> Iterator[None]:
    """Exits after the block, once every process of the submission has ended."""
    status = 1
    try:
        os.setsid()
        yield
        status = 0
    except BaseException as error:  # noqa: BLE001  # reported: nobody sees what is printed here
        report(line, {"is": "failed", "what": ipc.format_failure(error)})
    finally:
        process_tree.end_processes("pid" in plan["namespaces"], start["uid"])
        os._exit(status)


def _drop_rights(plan: SandboxPlan, start: KernelStart) -> None:
    """Drops all capabilities of the supervisor except those that it needs."""
    if plan["drop"]:
        looks = plan["view"] is None or start["memory_bytes"] is not None
        known = start["uid"] is None or not looks
        syscalls.keep_capabilities(_KEPT | (0 if known else _KEPT_TO_LOOK))


def _isolate(plan: SandboxPlan, start: KernelStart, groups: Sequence[int]) -> None:
    for file in groups:
        os.write(file, b"0")
    own = namespace_flags(plan, "user", "pid")
    if own:
        syscalls.unshare(own)
    if plan["view"] is not None:
        proc = plan["view"]["proc"]
        view.mount_kernel_folder(start["uid"], start["scratch_bytes"], proc=proc)
    elif start["uid"] is not None:
        for name in ("", "home", "work", "tmp"):
            os.chown(os.path.join(start["root"], name), start["uid"], start["uid"])  # noqa: PTH118
    if "uts" in plan["namespaces"]:
        with contextlib.suppress(OSError):
            view.set_host_name()
    if plan["loopback"] and "net" in plan["namespaces"]:
        syscalls.bring_up_loopback()
    if "pid" not in plan["namespaces"]:
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)


def _become_kernel(
    plan: SandboxPlan, start: KernelStart, files: Sequence[int], kernel: KernelFunction
) -> None:
    """Runs *kernel* in this process, and never returns.

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
        limit_files(start)
        tell, *sockets = _close_others(files)
        kernel(start, tell, sockets)
    except BaseException as error:  # noqa: BLE001
        with contextlib.suppress(OSError):
            os.write(tell, b"!" + ipc.format_failure(error).encode("utf-8", "replace"))
            _wait_until_read(tell)
    finally:
        os._exit(1)


def _wait_until_read(tell: int) -> None:
    """Waits, so that the supervisor reports the failure rather than the end of this process."""
    poll = select.poll()
    poll.register(_close_others([tell])[0], 0)
    poll.poll(_REPORT_MILLISECONDS)


def _close_others(files: Sequence[int]) -> list[int]:
    """Closes all but the standard streams and *files*; returns the new numbers of *files*."""
    high = [fcntl.fcntl(file, fcntl.F_DUPFD, _HIGH_DESCRIPTOR) for file in files]
    kept = [os.dup2(file, 3 + n, inheritable=False) for n, file in enumerate(high)]
    os.closerange(3 + len(files), 2**20)
    return kept


if sys.platform != "linux":  # pragma: no cover
    raise ImportError("supervisors run on Linux only")
