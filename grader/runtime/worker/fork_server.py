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
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from grader.runtime.worker import ipc, supervisor, syscalls, view, warm_up
from grader.runtime.worker.confine import flags, new_user
from grader.runtime.worker.limits import raise_files
from grader.runtime.worker.plan import Plan
from grader.runtime.worker.watch import tell_of

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_ENDING_SECONDS = 5.0
_REAPED = 5000
"""So many at a time: a notebook can give us children of its own, and more may end meanwhile than
we could ever take leave of."""


def main() -> None:
    """Serves the line until the grader closes it."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.argv = ["ipykernel_launcher"]
    line = socket.socket(fileno=settings["line"])
    # What is imported stays: to look through it again and again for garbage costs a fifth of it.
    gc.disable()
    plan: Plan = settings["plan"]
    raise_files()
    try:
        os.umask(0o077)
        os.chdir("/")
        if flags(plan):
            _apart(plan, line)
        _serve(plan, settings, line)
    except Exception as error:  # noqa: BLE001  # told, since nobody sees what is printed here
        with contextlib.suppress(OSError):
            ipc.say(line, {"is": "failed", "what": ipc.failure(error)})
        os._exit(1)


def _apart(plan: Plan, line: socket.socket) -> None:
    """Into namespaces of its own; what returns is the only process that goes on."""
    if "user" in plan["namespaces"] and os.geteuid() != 0:
        new_user()
    syscalls.unshare(flags(plan, "user"))
    if "pid" not in plan["namespaces"]:
        return
    # Only a child is in the new pid namespace. When it ends, so does everything in there.
    pid = os.fork()
    if pid:
        line.close()
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)


def _serve(plan: Plan, settings: dict[str, Any], line: socket.socket) -> None:
    # Held open, because there may be no /proc in the view.
    itself = os.open("/proc/self", _FOLDER)
    keeper = _keeper(plan, line)
    kernel = kernel_of()
    if plan["view"] is not None:
        view.enclose(plan["view"], settings["places"])
    kernel.prepare(settings["folder"])
    # Some packages want a place to write to when they are imported.
    os.environ["HOME"] = os.environ["TMPDIR"] = settings["folder"]
    for name in settings["imports"]:
        _import(name)
    if "torch" in sys.modules:
        warm_up.torch(settings["device"])
    tempfile.tempdir = None  # every kernel has a place of its own
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(settings["seed"])  # of every device, once they are there
    # What a student imports by these names is not there, as far as they can tell.
    for name in [n for n in sys.modules if n == "grader" or n.startswith("grader.")]:
        del sys.modules[name]
    sys.modules["grader"] = None  # type: ignore[assignment]  # by which Python knows it isn't there
    gc.collect()
    gc.enable()
    gc.freeze()  # so that a child's collector doesn't touch, and thereby copy, what is shared
    tasks = os.open("task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=itself)
    threads = len(os.listdir(tasks))  # noqa: PTH208  # by descriptor
    os.close(tasks)
    ipc.say(line, {"is": "up", "threads": threads, "about": _about()})
    nest = _Nest(plan, line, itself, keeper)
    nest.all()
    nest.close()
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


@cache
def kernel_of() -> Any:
    """What is large to import, and so not imported until the keeper has been forked."""
    from grader.runtime.worker import kernel

    return kernel


def _import(name: str) -> None:
    before = set(sys.modules)
    try:
        importlib.import_module(name)
    except BaseException:  # noqa: BLE001  # then the notebook that needs it will say so itself
        for half in set(sys.modules) - before:
            del sys.modules[half]


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
    """Forks a kernel, behind a guard, for every start that the grader asks for.

    Guards are forked from a *keeper*, a process that was forked before anything large was
    imported: to copy the tables of a large process's memory takes milliseconds. It makes the
    namespaces, into which the kernel is then forked from here. Without pid namespaces a process
    can't be put under a guard afterwards, and so the guard is forked from here, too.
    """

    def __init__(self, plan: Plan, line: socket.socket, itself: int, keeper: socket.socket | None):
        self._plan = plan
        self._line = line
        self._keeper = keeper
        self._kernels: dict[int, socket.socket] = {}
        self._waiting = False
        self._own = -1
        if "pid" in plan["namespaces"]:
            self._own = os.open("ns/pid", os.O_RDONLY | os.O_CLOEXEC, dir_fd=itself)
        self._proc = os.open("..", _FOLDER, dir_fd=itself)
        os.close(itself)
        self._wake, poke = os.pipe()
        os.set_blocking(poke, False)
        signal.set_wakeup_fd(poke, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll = select.poll()
        for source in (line, self._wake):
            self._poll.register(source, select.POLLIN)
        if keeper is not None:
            self._poll.register(keeper, select.POLLIN)

    def all(self) -> None:
        """Returns when the grader has closed the line, or is gone, or the keeper is."""
        while True:
            sources = {source for source, _ in self._poll.poll(0 if self._waiting else None)}
            if self._wake in sources:
                os.read(self._wake, 512)
            if self._wake in sources or self._waiting:
                self._waiting = self._reap()
            if self._line.fileno() in sources and not self._ordered():
                return
            keeper = self._keeper
            if keeper is not None and keeper.fileno() in sources and not self._made(keeper):
                return

    def _ordered(self) -> bool:
        message, files = ipc.hear(self._line)
        if message is None:
            return False
        if self._keeper is not None:
            ipc.say(self._keeper, message, files)
        else:
            self._fork(message, files)
        for file in files:
            os.close(file)
        return True

    def _fork(self, message: dict[str, Any], files: list[int]) -> None:
        """A guard that forks its kernel itself, number 1 of a pid namespace where there are any."""
        with _told(files[0], self._own):
            if self._own >= 0:
                syscalls.unshare(syscalls.CLONE_NEWPID)
            if os.fork() == 0:
                self._in_child()
                line, run = socket.socket(fileno=files[0]), kernel_of().run
                supervisor.serve(self._plan, message["start"], line, files[1:], run, self._proc)

    def _made(self, keeper: socket.socket) -> bool:
        """A guard stands: forks its kernel into its namespaces."""
        message, files = ipc.hear(keeper)
        if message is None:
            return False
        where, line, *others = files
        own, groups = others[: supervisor.OWN], others[supervisor.OWN :]
        with _told(line, self._own):
            syscalls.setns(where, syscalls.CLONE_NEWPID)
            pid = os.fork()
            if pid == 0:
                self._in_child()
                for group in groups:
                    os.write(group, b"0")
                syscalls.setns(where, flags(self._plan, "user", "pid"))
                supervisor.become(self._plan, message["start"], own, kernel_of().run)
            self._kernels[pid] = socket.socket(fileno=os.dup(line))
        for file in (where, line, *others):
            os.close(file)
        return True

    def _reap(self) -> bool:
        """Takes leave of who has ended, and of every such kernel; whether others may be left."""
        with contextlib.suppress(ChildProcessError):
            for _ in range(_REAPED):
                if not self._left(-1):
                    return False
            for kernel in tuple(self._kernels):
                self._left(kernel)
            return True
        return False

    def _left(self, which: int) -> bool:
        """Whether *which*, or with -1 any child, had ended."""
        pid, status = os.waitpid(which, os.WNOHANG)
        if pid in self._kernels:
            line = self._kernels.pop(pid)
            tell_of(line, {"is": "ended", "status": os.waitstatus_to_exitcode(status)})
            line.close()
        return pid != 0

    def close(self) -> None:
        """Lets the keeper go."""
        if self._keeper is not None:
            self._keeper.close()

    def _in_child(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._line.close()


def _keeper(plan: Plan, line: socket.socket) -> socket.socket | None:
    """A line to a new keeper, where there can be one; to be called before anything is imported."""
    if "pid" not in plan["namespaces"] or not _can_join():
        return None
    here, there = ipc.pair()
    if os.fork() == 0:
        here.close()
        line.close()
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        _keep(plan, there)
    there.close()
    return here


def _can_join() -> bool:
    """Whether a namespace can be joined by a descriptor of a process that is in it (Linux 5.8)."""
    try:
        me = os.pidfd_open(os.getpid())
        syscalls.setns(me, syscalls.CLONE_NEWPID)
        os.close(me)
    except OSError:
        return False
    return True


def _keep(plan: Plan, line: socket.socket) -> None:
    """A keeper's life."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    proc = os.open("/proc", _FOLDER)
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        message, files = ipc.hear(line)
        if message is None:
            os._exit(0)
        with _told(files[0], own):
            syscalls.unshare(syscalls.CLONE_NEWPID)
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.close(own)
                told = socket.socket(fileno=files[0])
                supervisor.stand(plan, message["start"], told, files[1:], line, proc)
        for file in files:
            os.close(file)


@contextlib.contextmanager
def _told(line: int, own: int) -> Iterator[None]:
    """One kernel that can't be started says so on its line; the next one may be.

    Afterwards children are again in the pid namespace *own*, if there are any.
    """
    try:
        yield
    except OSError as error:
        with socket.socket(fileno=os.dup(line)) as told:
            tell_of(told, {"is": "failed", "what": f"no new process: {error.strerror}"})
    finally:
        if own >= 0:
            syscalls.setns(own, syscalls.CLONE_NEWPID)


def _reap(*_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main()
