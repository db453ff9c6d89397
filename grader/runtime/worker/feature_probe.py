"""Tries which sandbox layers this machine offers, each in its own process.

Run as `python -P -m grader.runtime.worker.feature_probe`. It reads the settings to try from
standard input as JSON, and prints for each feature null, or the reason why it is not available.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from grader.runtime.worker import landlock, syscalls, view
from grader.runtime.worker.confine import enter_namespaces, switch_user

_TEXT = 300


def main() -> None:
    """Tests every feature, and prints the results."""
    asked = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        reasons = {
            name: _find_reason(attempt, asked, folder) for name, attempt in _ATTEMPTS.items()
        }
    json.dump(reasons, sys.stdout)


def _find_reason(
    attempt: Callable[[dict[str, Any], str], None], asked: dict[str, Any], folder: str
) -> str | None:
    """Runs *attempt* in a new process; returns why it failed, or None if it succeeded."""
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(here)
        text = ""
        try:
            attempt(asked, folder)
        except Exception as error:  # noqa: BLE001
            text = str(error) or type(error).__name__
        with contextlib.suppress(OSError):
            os.write(there, text[:_TEXT].encode() or b"+")
        os._exit(0)
    os.close(there)
    report = os.read(here, 4 * _TEXT)
    os.close(here)
    os.waitpid(pid, 0)
    if report == b"+":
        return None
    return report.decode("utf-8", "replace") or "the process that tested it was killed"


def _try_namespaces(asked: dict[str, Any], folder: str) -> None:
    enter_namespaces()
    # Only a child is in the new pid namespace.
    why = _find_reason(lambda asked, folder: view.enter_view(asked["view"], folder), asked, folder)
    if why is not None:
        raise OSError(why)


def _try_user(asked: dict[str, Any], _: str) -> None:
    switch_user(asked["uid"])
    for path in asked["needs"]:
        os.close(os.open(path, os.O_RDONLY))


def _try_filter(asked: dict[str, Any], _: str) -> None:
    if asked["filter"] is None:
        raise OSError("libseccomp is not installed")
    syscalls.load_filter(base64.b64decode(asked["filter"]))
    try:
        syscalls.unshare(syscalls.CLONE_NEWUSER)
    except OSError:
        return
    raise OSError("the filter was loaded but refuses nothing")


def _try_landlock(_: dict[str, Any], folder: str) -> None:
    landlock.restrict(read=[folder], write=[])
    try:
        os.close(os.open("/etc/passwd", os.O_RDONLY))
    except OSError:
        return
    raise OSError("the restriction was accepted but has no effect")


def _try_landlock_signals(_: dict[str, Any], folder: str) -> None:
    landlock.restrict(read=[folder], write=[])
    if landlock.abi_version() < landlock.SIGNALS:
        raise OSError("this kernel's Landlock can't restrict signals (that needs Linux 6.12)")


_ATTEMPTS: Mapping[str, Callable[[dict[str, Any], str], None]] = {
    "namespaces": _try_namespaces,
    "switch": _try_user,
    "filter": _try_filter,
    "landlock": _try_landlock,
    "signals": _try_landlock_signals,
}

if __name__ == "__main__":
    main()
