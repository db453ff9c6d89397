"""Tries which sandbox layers this machine offers, each in its own process.

Run as `python -P -m grader.runtime.worker.feature_probe`. It reads the settings to try from
standard input as JSON, and prints for each feature null, or the reason why it is not available.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from grader.runtime.worker import landlock, syscalls, view
from grader.runtime.worker.confine import enter_namespaces, switch_user

_MAX_MESSAGE = 300
_SUCCEEDED = b"+"
"""What a child process reports if its attempt succeeds; otherwise, it reports why not."""


def main() -> None:
    """Tests every feature, and prints the results."""
    request = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        reasons = {
            name: _why_attempt_fails(attempt, request, folder)
            for name, attempt in _ATTEMPTS.items()
        }
    json.dump(reasons, sys.stdout)


def _why_attempt_fails(
    attempt: Callable[[dict[str, Any], str], None], request: dict[str, Any], folder: str
) -> str | None:
    """Runs *attempt* in a new process; returns why it failed, or None if it succeeded."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read_end)
            message = ""
            try:
                attempt(request, folder)
            except BaseException as error:  # noqa: BLE001
                message = str(error) or type(error).__name__
            os.write(write_end, message[:_MAX_MESSAGE].encode(errors="replace") or _SUCCEEDED)
        finally:
            os._exit(0)  # after any exception, so that no copy of this process runs on
    os.close(write_end)
    report = os.read(read_end, 4 * _MAX_MESSAGE)
    os.close(read_end)
    os.waitpid(pid, 0)
    if report == _SUCCEEDED:
        return None
    return report.decode("utf-8", "replace") or "the process that tested it was killed"


def _try_namespaces(request: dict[str, Any], folder: str) -> None:
    """Raises OSError if this process can't enter new namespaces and a view of its own."""
    enter_namespaces()
    # Only a child is in the new pid namespace.
    why = _why_attempt_fails(lambda *_: view.enter_view(request["view"], folder), request, folder)
    if why is not None:
        raise OSError(why)


def _try_user(request: dict[str, Any], _: str) -> None:
    """Raises OSError if another user can't be switched to or can't read what kernels need."""
    switch_user(request["uid"])
    for path in request["needs"]:
        os.close(os.open(path, os.O_RDONLY))


def _try_filter(request: dict[str, Any], _: str) -> None:
    """Raises OSError if the system-call filter can't be loaded or refuses nothing."""
    if request["filter"] is None:
        raise OSError("libseccomp is not installed")
    syscalls.load_filter(base64.b64decode(request["filter"]))
    try:
        syscalls.unshare(syscalls.CLONE_NEWUSER)
    except OSError:
        return
    raise OSError("the filter was loaded but refuses nothing")


def _try_landlock(_: dict[str, Any], folder: str) -> None:
    """Raises OSError if Landlock is missing or refuses nothing."""
    landlock.restrict(read=[folder], write=[])
    try:
        os.close(os.open("/etc/passwd", os.O_RDONLY))
    except OSError:
        return
    raise OSError("the restriction was accepted but has no effect")


def _try_landlock_signals(_: dict[str, Any], folder: str) -> None:
    """Raises OSError if Landlock is missing or too old to refuse signals."""
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
