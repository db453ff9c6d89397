"""Drops rights for good: the last steps of a kernel's process before any code of the student's."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from grader.runtime.worker import landlock, seccomp, syscalls
from grader.runtime.worker.limits import FILES, set_limits
from grader.runtime.worker.plan import KernelStart, SandboxPlan

_FLAGS = {
    "user": syscalls.CLONE_NEWUSER,
    "mount": syscalls.CLONE_NEWNS,
    "pid": syscalls.CLONE_NEWPID,
    "net": syscalls.CLONE_NEWNET,
    "ipc": syscalls.CLONE_NEWIPC,
    "uts": syscalls.CLONE_NEWUTS,
}


def namespace_flags(plan: SandboxPlan, *without: str) -> int:
    """Returns the namespaces of *plan* except those in *without*, as `unshare` takes them."""
    return sum(_FLAGS[name] for name in plan["namespaces"] if name not in without)


def enter_user_namespace() -> None:
    """Enters a user namespace in which this process keeps its ids and no other ids exist."""
    uid, gid = os.getuid(), os.getgid()
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def switch_user(uid: int) -> None:
    """Becomes another user without other groups; only root can."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # or its own files in /proc belong to root


def confine(plan: SandboxPlan, start: KernelStart) -> None:
    """Applies the restrictions of *plan*, except the limit on open files; see `limit_files`.

    Raises OSError, with the layer in its text.
    """
    if start["uid"] is not None:
        if plan["drop"] and "user" not in plan["namespaces"]:
            syscalls.drop_bounding_set()  # which another user may not, without a new namespace
        switch_user(start["uid"])
    if "user" in plan["namespaces"] and os.path.isdir("/proc/self"):  # noqa: PTH112
        enter_user_namespace()
    set_limits({name: most for name, most in start["rlimits"].items() if name != FILES})
    if plan["drop"]:
        syscalls.keep_capabilities()
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    fence = plan["fence"]
    if fence is not None:
        landlock.restrict(
            read=fence["read"],
            names=fence["names"],
            write=[*fence["write"], start["root"]],
            devices=fence["devices"],
            network=plan["loopback"],
        )
    if plan["filter"] is not None:
        seccomp.load_filter(base64.b64decode(plan["filter"]))


def limit_files(start: KernelStart) -> None:
    """Sets the limit on open files, the last limit: it also counts files that are being sent."""
    set_limits({name: most for name, most in start["rlimits"].items() if name == FILES})
