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
from grader.runtime.worker.confine import become, new_user
from grader.runtime.worker.plan import View

_TEXT = 300


def main() -> None:
    """Tests every requested layer, and prints the results."""
    asked = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        found = {name: _tried(attempt) for name, attempt in _attempts(asked, folder).items()}
    json.dump(found, sys.stdout)


def _attempts(asked: dict[str, Any], folder: str) -> dict[str, Callable[[], None]]:
    def alone(flag: int) -> Callable[[], None]:
        return lambda: _apart(flag)

    def enclosed(*, proc: bool) -> None:
        _apart(syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID)
        seen: View = asked["view"]
        seen["proc"] = proc
        _in_child(lambda: view.enclose(seen, folder))

    def another() -> None:
        become(asked["uid"])
        for path in asked["needs"]:
            os.close(os.open(path, os.O_RDONLY))

    def nested() -> None:
        _apart(syscalls.CLONE_NEWNS)
        if os.geteuid() == 0:
            become(asked["uid"])
        new_user()

    return {
        "mount": lambda: enclosed(proc=False),
        "proc": lambda: enclosed(proc=True),
        "pid": lambda: _in_child(lambda: None, alone(syscalls.CLONE_NEWPID)),
        "net": alone(syscalls.CLONE_NEWNET),
        "ipc": alone(syscalls.CLONE_NEWIPC),
        "uts": alone(syscalls.CLONE_NEWUTS),
        "user": nested,
        "switch": another,
        "drop": _drop,
        "filter": lambda: _filter(asked["filter"]),
        "fence": lambda: _fence(folder),
        "signals": lambda: _signals(folder),
    }


def _tried(attempt: Callable[[], None]) -> str | None:
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


def _apart(flag: int) -> None:
    if os.geteuid() != 0:
        new_user()
    syscalls.unshare(flag)


def _in_child(attempt: Callable[[], None], before: Callable[[], None] = lambda: None) -> None:
    before()
    why = _tried(attempt)
    if why is not None:
        raise OSError(why)


def _drop() -> None:
    syscalls.keep_capabilities()
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)


def _filter(program: str | None) -> None:
    if program is None:
        raise OSError("libseccomp is not installed")
    seccomp.load(base64.b64decode(program))
    try:
        syscalls.unshare(syscalls.CLONE_NEWUSER)
    except OSError:
        return
    raise OSError("the filter was loaded but refuses nothing")


def _fence(folder: str) -> None:
    if landlock.abi() == 0:
        raise OSError("this kernel has no Landlock, or it is not enabled")
    landlock.restrict(read=[folder], write=[], devices=[], network=False)
    try:
        os.close(os.open("/etc/passwd", os.O_RDONLY))
    except OSError:
        return
    raise OSError("the restriction was accepted but has no effect")


def _signals(folder: str) -> None:
    here, there = socket.socketpair()
    with here, there:
        done = landlock.restrict(read=[folder], write=[], devices=[], network=False)
    if "signals" not in done:
        raise OSError("this kernel's Landlock can't restrict signals (that needs Linux 6.12)")


if __name__ == "__main__":
    main()
