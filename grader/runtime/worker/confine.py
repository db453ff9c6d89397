"""Giving up rights for good: the last steps of a kernel's process before any student's code."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from grader.runtime.worker import landlock, seccomp, syscalls
from grader.runtime.worker.limits import FILES, limit
from grader.runtime.worker.plan import Plan, Start

_FLAGS = {
    "user": syscalls.CLONE_NEWUSER,
    "mount": syscalls.CLONE_NEWNS,
    "pid": syscalls.CLONE_NEWPID,
    "net": syscalls.CLONE_NEWNET,
    "ipc": syscalls.CLONE_NEWIPC,
    "uts": syscalls.CLONE_NEWUTS,
}


def flags(plan: Plan, *without: str) -> int:
    """The namespaces of *plan* but those, as `unshare` takes them."""
    return sum(_FLAGS[name] for name in plan["namespaces"] if name not in without)


def new_user() -> None:
    """A user namespace in which this process keeps its own numbers and nobody else exists."""
    uid, gid = os.getuid(), os.getgid()
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def become(uid: int) -> None:
    """Another user, in no other group; only root can."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # or its own files in /proc belong to root


def confine(plan: Plan, start: Start) -> int | None:
    """Takes every right away that *plan* names. Raises OSError, with the layer in its text.

    The result is a descriptor for the guard, where the filter asks it (see `deputy`). The number of
    open files is limited by `limit_files`, when that has been sent.
    """
    if start["uid"] is not None:
        if plan["drop"] and "user" not in plan["namespaces"]:
            syscalls.bound_capabilities()  # which another user may not, without a new namespace
        become(start["uid"])
    if "user" in plan["namespaces"] and os.path.isdir("/proc/self"):  # noqa: PTH112
        new_user()
    limit({name: most for name, most in start["rlimits"].items() if name != FILES})
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
    if plan["filter"] is None:
        return None
    return seccomp.load(base64.b64decode(plan["filter"]), listen=bool(plan["asked"]))


def limit_files(start: Start) -> None:
    """The last of the limits: before it, files can be sent that another notebook's would stop."""
    limit({name: most for name, most in start["rlimits"].items() if name == FILES})
