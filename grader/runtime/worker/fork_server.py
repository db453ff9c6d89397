"""The fork server: imports what notebooks need once, and forks a supervisor for each kernel.

Run as `python -P -m grader.runtime.worker.fork_server SETTINGS`, where the JSON file SETTINGS
names, among others, the open descriptor that leads to the grader. The process holds no key, no
release and no submission: it sees only what every kernel may see.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from grader.runtime.worker import ipc, kernel, process_tree, supervisor, syscalls, view, warm_up
from grader.runtime.worker.confine import enter_namespaces
from grader.runtime.worker.dynamo import defer_dynamo
from grader.runtime.worker.limits import describe_environment, raise_file_limit
from grader.runtime.worker.plan import KernelStart, SandboxPlan
from grader.runtime.worker.watch import make_child_alarm, report

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
        if plan["view"] is not None:
            enter_namespaces()
            _continue_in_child(line)
        _serve(plan, settings, line)
    except Exception as error:  # noqa: BLE001  # reported, since nobody sees what is printed here
        with contextlib.suppress(OSError):
            ipc.send_message(line, {"is": "failed", "what": ipc.format_failure(error)})
        os._exit(1)


def _continue_in_child(line: socket.socket) -> None:
    """Returns only in a child, the first in the new pid namespace, which ends with the child."""
    pid = os.fork()
    if pid:
        line.close()
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)


def _serve(plan: SandboxPlan, settings: dict[str, Any], line: socket.socket) -> None:
    """Prepares this process as the parent of all kernels, then forks one for each request."""
    if plan["view"] is not None:
        view.enter_view(plan["view"], settings["places"])
    kernel.create_kernel(settings["folder"])
    # Some packages need a folder to write to when they are imported.
    os.environ["HOME"] = os.environ["TMPDIR"] = settings["folder"]
    request = None
    while request is None or request["early"]:
        request, _ = ipc.receive_message(line)  # what the set or the first notebook needs
        if request is None:
            os._exit(0)
        for name in request["imports"]:
            with contextlib.suppress(BaseException):  # the notebook that needs it raises it again
                importlib.import_module(name)
    gc.freeze()  # so that the collection below does not visit all of torch
    defer_dynamo()
    if request["warm_up"]:
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
    threads = len(process_tree.list_threads(os.getpid()))
    ipc.send_message(line, {"is": "up", "threads": threads, "about": describe_environment()})
    _fork_supervisors(plan, line)
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


def _fork_supervisors(plan: SandboxPlan, line: socket.socket) -> None:
    """Forks a supervisor, which forks a kernel, for every start that the grader requests.

    Returns when the grader has closed the line or is gone.
    """
    wake, more_children = make_child_alarm(), False
    poll = select.poll()
    for source in (line, wake):
        poll.register(source, select.POLLIN)
    while True:
        sources = {source for source, _ in poll.poll(0 if more_children else None)}
        if wake in sources:
            os.read(wake, 512)
        if wake in sources or more_children:
            more_children = _reap_children()
        if line.fileno() in sources:
            message, files = ipc.receive_message(line)
            if message is None:
                return
            _fork_supervisor(plan, message["start"], line, files)
            for file in files:
                os.close(file)


def _fork_supervisor(
    plan: SandboxPlan, start: KernelStart, grader: socket.socket, files: list[int]
) -> None:
    """Forks a supervisor; an error concerns only this kernel and is reported on its line."""
    line = socket.socket(fileno=os.dup(files[0]))
    namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if plan["view"] is not None:
            syscalls.unshare(syscalls.CLONE_NEWPID)
        if os.fork() == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            grader.close()
            os.close(files.pop(0))
            os.close(namespace)
            supervisor.serve(plan, start, line, files)
    except OSError as error:
        report(line, {"is": "failed", "what": f"no new process: {error.strerror}"})
    finally:
        line.close()
        if plan["view"] is not None:
            syscalls.setns(namespace, syscalls.CLONE_NEWPID)
        os.close(namespace)


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
