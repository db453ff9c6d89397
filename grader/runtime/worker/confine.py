"""Drops rights for good: the last steps of a kernel's process before any code of the student's."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from grader.runtime.worker import landlock, syscalls
from grader.runtime.worker.limits import set_limits
from grader.runtime.worker.plan import KernelStart, SandboxPlan
from grader.runtime.worker.shared_memory import explain_refused_locks


def enter_namespaces() -> None:
    """Moves this process into new namespaces, and its children into a new pid namespace."""
    if os.geteuid() != 0:
        enter_user_namespace()
    syscalls.unshare(syscalls.CLONE_KERNEL | syscalls.CLONE_NEWPID)


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
    """Applies the restrictions of *plan*. Raises OSError, with the layer in its text."""
    if start["uid"] is not None:
        syscalls.drop_bounding_set()  # which another user may not
        switch_user(start["uid"])
    elif plan["view"] is not None:
        enter_user_namespace()
    set_limits(start["rlimits"])
    if plan["drop"]:
        syscalls.keep_capabilities()
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    rules = plan["landlock"]
    if rules is not None:
        landlock.restrict(
            read=rules["read"],
            names=rules["names"],
            write=[*rules["write"], start["root"]],
            devices=rules["devices"],
            network=plan["loopback"],
        )
        if plan["view"] is None:  # /dev/shm is the machine's, and closed
            explain_refused_locks()
    if plan["filter"] is not None:
        syscalls.load_filter(base64.b64decode(plan["filter"]))
