"""The parent of kernels: it imports what notebooks need once, and forks a guard for each.

Run as `python -P -m grader.inside.parent SETTINGS`, where the settings are a JSON file that says,
among others, which open file is the line to the grader. It holds no key, no release and no
submission; all that it can ever see is what every kernel may see.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.metadata
import json
import os
import platform
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from grader.inside import guard, kernel, linux, talk, view
from grader.inside.confine import flags, new_user
from grader.inside.plan import Plan, Start

_TEXT = 400
_ENDING_SECONDS = 5.0


def main() -> None:
    """Serves the line until the grader closes it."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.argv = ["ipykernel_launcher"]
    line = socket.socket(fileno=settings["line"])
    plan: Plan = settings["plan"]
    try:
        os.umask(0o077)
        os.chdir("/")
        if flags(plan):
            _apart(plan, line)
        _serve(plan, settings, line)
    except Exception as error:  # noqa: BLE001  # told, since nobody sees what is printed here
        with contextlib.suppress(OSError):
            talk.say(line, {"is": "failed", "what": f"{type(error).__name__}: {error}"[:_TEXT]})
        os._exit(1)


def _apart(plan: Plan, line: socket.socket) -> None:
    """Into namespaces of its own; what returns is the only process that goes on."""
    if "user" in plan["namespaces"] and os.geteuid() != 0:
        new_user()
    linux.unshare(flags(plan, "user"))
    if "pid" not in plan["namespaces"]:
        return
    # Only a child is in the new pid namespace. When it ends, so does everything in there.
    pid = os.fork()
    if pid:
        line.close()
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)


def _serve(plan: Plan, settings: dict[str, Any], line: socket.socket) -> None:
    # Held open, because there may be no /proc in the view.
    itself = os.open("/proc/self", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if plan["view"] is not None:
        view.enclose(plan["view"], settings["places"])
    kernel.prepare(settings["folder"])
    # Some packages want a place to write to when they are imported.
    os.environ["HOME"] = os.environ["TMPDIR"] = settings["folder"]
    imported = [name for name in settings["imports"] if _imported(name)]
    tempfile.tempdir = None
    # What a student imports by these names is not there, as far as they can tell.
    for name in [n for n in sys.modules if n == "grader" or n.startswith("grader.")]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()  # so that a child's collector doesn't touch, and thereby copy, what is shared
    tasks = os.open("task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=itself)
    threads = len(os.listdir(tasks))  # noqa: PTH208  # by descriptor
    os.close(tasks)
    talk.say(line, {"is": "up", "imports": imported, "threads": threads, "about": _about()})
    _Nest(plan, line, itself).all()
    _tidy(view.PLACES if plan["view"] is not None else settings["places"])
    os._exit(0)


def _tidy(places: str) -> None:
    """Removes what a grader that was killed can't remove any more."""
    end = time.monotonic() + _ENDING_SECONDS
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < end:  # every guard ends by itself, since its line is closed
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.01)
    for entry in Path(places).iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)


def _imported(name: str) -> bool:
    before = set(sys.modules)
    try:
        importlib.import_module(name)
    except Exception:  # noqa: BLE001  # then the notebook that needs it will say so itself
        for half in set(sys.modules) - before:
            del sys.modules[half]
        return False
    return True


def _about() -> dict[str, object]:
    """Interpreter, platform and packages, as every kernel will have them."""
    packages = {}
    for name in ("ipykernel", "ipython", "numpy", "torch"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            packages[name] = importlib.metadata.version(name)
    return {
        "python": platform.python_version(),
        "packages": packages,
        "platform": f"{sys.platform}-{platform.machine()}",
    }


class _Nest:
    """Forks a guard for every start that the grader asks for."""

    def __init__(self, plan: Plan, line: socket.socket, itself: int):
        self._plan = plan
        self._line = line
        self._own = -1
        if "pid" in plan["namespaces"]:
            self._own = os.open("ns/pid", os.O_RDONLY | os.O_CLOEXEC, dir_fd=itself)
        os.close(itself)
        signal.signal(signal.SIGCHLD, _reap)

    def all(self) -> None:
        """Returns when the grader has closed the line, or is gone."""
        while True:
            message, files = talk.hear(self._line)
            if message is None:
                return
            self._fork(message["start"], files)
            for file in files:
                os.close(file)

    def _fork(self, start: Start, files: list[int]) -> None:
        if self._own >= 0:
            linux.unshare(linux.CLONE_NEWPID)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._line.close()
            line = socket.socket(fileno=files[0])
            guard.serve(self._plan, start, line, files[1:], kernel.run)
        if self._own >= 0:
            linux.setns(self._own, linux.CLONE_NEWPID)


def _reap(*_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main()
