"""The fork server: imports what notebooks need once, and forks a supervisor for each kernel.

Run as `python -P -m grader.runtime.worker.fork_server SETTINGS`, where the JSON file SETTINGS
names, among others, the open descriptor that leads to the grader. The process holds no key, no
release and no submission: it sees only what every kernel may see.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.metadata
import json
import os
import platform
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from grader.runtime.worker import ipc, kernel, supervisor, syscalls, view, warm_up
from grader.runtime.worker.confine import enter_user_namespace, namespace_flags
from grader.runtime.worker.limits import raise_file_limit
from grader.runtime.worker.plan import KernelStart, SandboxPlan
from grader.runtime.worker.watch import report

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_ENDING_SECONDS = 5.0
_REAPED = 5000


def main() -> None:
    """Serves the line until the grader closes it."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.argv = ["ipykernel_launcher"]
    line = socket.socket(fileno=settings["line"])
    # Imported modules stay: collecting garbage meanwhile would take a fifth of the time.
    gc.disable()
    plan: SandboxPlan = settings["plan"]
    raise_file_limit()
    try:
        os.umask(0o077)
        os.chdir("/")
        if namespace_flags(plan):
            _enter_namespaces(plan, line)
        _serve(plan, settings, line)
    except Exception as error:  # noqa: BLE001  # reported, since nobody sees what is printed here
        with contextlib.suppress(OSError):
            ipc.send_message(line, {"is": "failed", "what": ipc.format_failure(error)})
        os._exit(1)


def _enter_namespaces(plan: SandboxPlan, line: socket.socket) -> None:
    """Enters new namespaces; returns only in the process that continues."""
    if "user" in plan["namespaces"] and os.geteuid() != 0:
        enter_user_namespace()
    syscalls.unshare(namespace_flags(plan, "user"))
    if "pid" not in plan["namespaces"]:
        return
    # Only a child is in the new pid namespace. When it ends, all processes there end.
    pid = os.fork()
    if pid:
        line.close()
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)


def _serve(plan: SandboxPlan, settings: dict[str, Any], line: socket.socket) -> None:
    # Held open, because there may be no /proc in the view.
    itself = os.open("/proc/self", _FOLDER)
    if plan["view"] is not None:
        view.enter_view(plan["view"], settings["places"])
    kernel.create_kernel(settings["folder"])
    # Some packages need a folder to write to when they are imported.
    os.environ["HOME"] = os.environ["TMPDIR"] = settings["folder"]
    for name in settings["imports"]:
        _import_module(name)
    warm_up.defer_dynamo()
    if settings["warm_up"]:
        warm_up.run_operators(settings["device"])
    tempfile.tempdir = None  # every kernel has its own
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(settings["seed"])  # of every device
    # Students can't import the grader, not even what is loaded already.
    for name in [n for n in sys.modules if n == "grader" or n.startswith("grader.")]:
        del sys.modules[name]
    sys.modules["grader"] = None  # type: ignore[assignment]  # makes an import fail
    gc.collect()
    gc.enable()
    gc.freeze()  # so that a child's collector does not touch, and so copy, what is shared
    tasks = os.open("task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=itself)
    threads = len(os.listdir(tasks))  # noqa: PTH208  # by descriptor
    os.close(tasks)
    ipc.send_message(line, {"is": "up", "threads": threads, "about": _describe_environment()})
    _ForkLoop(plan, line, itself, kernel.run_kernel).run()
    _remove_folders(view.PLACES if plan["view"] is not None else settings["places"])
    os._exit(0)


def _remove_folders(places: str) -> None:
    """Removes the kernels' folders, which a grader that was killed can't remove."""
    end = time.monotonic() + _ENDING_SECONDS
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < end:  # every supervisor ends, since its line is closed
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.01)
    for entry in Path(places).iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)


def _import_module(name: str) -> None:
    before = set(sys.modules)
    try:
        importlib.import_module(name)
    except BaseException:  # noqa: BLE001  # the notebook that needs it raises it again
        for half in set(sys.modules) - before:
            del sys.modules[half]


def _describe_environment() -> dict[str, object]:
    """Returns interpreter, platform and packages, which are the same in every kernel."""
    packages = {}
    for name in ("ipykernel", "ipython", "numpy", "torch"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            packages[name] = importlib.metadata.version(name)
    return {
        "python": platform.python_version(),
        "packages": packages,
        "platform": f"{sys.platform}-{platform.machine()}",
    }


class _ForkLoop:
    """Forks a supervisor, which forks a kernel, for every start that the grader requests."""

    def __init__(
        self, plan: SandboxPlan, line: socket.socket, itself: int, kernel: supervisor.KernelFunction
    ):
        self._plan = plan
        self._kernel = kernel
        self._line = line
        self._own_namespace = -1
        if "pid" in plan["namespaces"]:
            self._own_namespace = os.open("ns/pid", os.O_RDONLY | os.O_CLOEXEC, dir_fd=itself)
        self._proc = os.open("..", _FOLDER, dir_fd=itself)
        os.close(itself)
        self._wake, poke = os.pipe()
        os.set_blocking(poke, False)
        signal.set_wakeup_fd(poke, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll = select.poll()
        for source in (line, self._wake):
            self._poll.register(source, select.POLLIN)

    def run(self) -> None:
        """Returns when the grader has closed the line or is gone."""
        more_children = False
        while True:
            sources = {source for source, _ in self._poll.poll(0 if more_children else None)}
            if self._wake in sources:
                os.read(self._wake, 512)
            if self._wake in sources or more_children:
                more_children = _reap_children()
            if self._line.fileno() in sources:
                message, files = ipc.receive_message(self._line)
                if message is None:
                    return
                self._fork_supervisor(message["start"], files)
                for file in files:
                    os.close(file)

    def _fork_supervisor(self, start: KernelStart, files: list[int]) -> None:
        """Forks a supervisor; an error concerns only this kernel and is reported on its line."""
        try:
            if self._own_namespace >= 0:
                syscalls.unshare(syscalls.CLONE_NEWPID)
            if os.fork() == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                self._line.close()
                line = socket.socket(fileno=files[0])
                supervisor.serve(self._plan, start, line, files[1:], self._kernel, self._proc)
        except OSError as error:
            with socket.socket(fileno=os.dup(files[0])) as line:
                report(line, {"is": "failed", "what": f"no new process: {error.strerror}"})
        finally:
            if self._own_namespace >= 0:
                syscalls.setns(self._own_namespace, syscalls.CLONE_NEWPID)


def _reap_children() -> bool:
    """Reaps exited children; returns whether others may be left.

    Only some at a time: a notebook can leave children to this process faster than it reaps them.
    """
    try:
        return all(os.waitpid(-1, os.WNOHANG)[0] for _ in range(_REAPED))
    except ChildProcessError:
        return False


if __name__ == "__main__":
    main()
