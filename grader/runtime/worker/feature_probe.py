"""Tries which sandbox layers this machine offers, each in its own process.

Run as `python -P -m grader.runtime.worker.feature_probe`. It reads the layers to try from standard
input as JSON, and prints for each layer null, or the reason why it is not available.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from grader.runtime.worker import landlock, seccomp, syscalls, view
from grader.runtime.worker.confine import enter_user_namespace, switch_user
from grader.runtime.worker.plan import FileView

_TEXT = 300


def main() -> None:
    """Tests every requested layer, and prints the results."""
    asked = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        found = {name: _try_in_child(attempt) for name, attempt in _attempts(asked, folder).items()}
    json.dump(found, sys.stdout)


def _attempts(asked: dict[str, Any], folder: str) -> dict[str, Callable[[], None]]:
    def unshare_alone(flag: int) -> Callable[[], None]:
        return lambda: _unshare(flag)

    def try_view(*, proc: bool) -> None:
        _unshare(syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID)
        seen: FileView = asked["view"]
        seen["proc"] = proc
        _check_in_child(lambda: view.enter_view(seen, folder))

    def try_switch() -> None:
        switch_user(asked["uid"])
        for path in asked["needs"]:
            os.close(os.open(path, os.O_RDONLY))

    def try_user_namespace() -> None:
        _unshare(syscalls.CLONE_NEWNS)
        if os.geteuid() == 0:
            switch_user(asked["uid"])
        enter_user_namespace()

    return {
        "mount": lambda: try_view(proc=False),
        "proc": lambda: try_view(proc=True),
        "pid": lambda: _check_in_child(lambda: None, unshare_alone(syscalls.CLONE_NEWPID)),
        "net": unshare_alone(syscalls.CLONE_NEWNET),
        "ipc": unshare_alone(syscalls.CLONE_NEWIPC),
        "uts": unshare_alone(syscalls.CLONE_NEWUTS),
        "user": try_user_namespace,
        "switch": try_switch,
        "drop": _drop_privileges,
        "filter": lambda: _check_filter(asked["filter"]),
        "fence": lambda: _check_landlock(folder),
        "signals": lambda: _check_signals(folder),
    }


def _try_in_child(attempt: Callable[[], None]) -> str | None:
    """Runs *attempt* in a new process; returns why it failed, or None if it succeeded."""
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(here)
        text = ""
        try:
            attempt()
        except Exception as error:  # noqa: BLE001
            text = str(error) or type(error).__name__
        with contextlib.suppress(OSError):
            os.write(there, text[:_TEXT].encode() or b"+")
        os._exit(0)
    os.close(there)
    said = os.read(here, 4 * _TEXT)
    os.close(here)
    os.waitpid(pid, 0)
    if said == b"+":
        return None
    return said.decode("utf-8", "replace") or "the process that tested it was killed"


def _unshare(flag: int) -> None:
    if os.geteuid() != 0:
        enter_user_namespace()
    syscalls.unshare(flag)


def _check_in_child(attempt: Callable[[], None], before: Callable[[], None] = lambda: None) -> None:
    before()
    why = _try_in_child(attempt)
    if why is not None:
        raise OSError(why)


def _drop_privileges() -> None:
    syscalls.keep_capabilities()
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)


def _check_filter(program: str | None) -> None:
    if program is None:
        raise OSError("libseccomp is not installed")
    seccomp.load_filter(base64.b64decode(program))
    try:
        syscalls.unshare(syscalls.CLONE_NEWUSER)
    except OSError:
        return
    raise OSError("the filter was loaded but refuses nothing")


def _check_landlock(folder: str) -> None:
    if landlock.abi_version() == 0:
        raise OSError("this kernel has no Landlock, or it is not enabled")
    landlock.restrict(read=[folder], write=[], devices=[], network=False)
    try:
        os.close(os.open("/etc/passwd", os.O_RDONLY))
    except OSError:
        return
    raise OSError("the restriction was accepted but has no effect")


def _check_signals(folder: str) -> None:
    here, there = socket.socketpair()
    with here, there:
        done = landlock.restrict(read=[folder], write=[], devices=[], network=False)
    if "signals" not in done:
        raise OSError("this kernel's Landlock can't restrict signals (that needs Linux 6.12)")


if __name__ == "__main__":
    main()
