"""One parent process (see `grader.runtime.worker.fork_server`), and the ways to start its
kernels."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.model import Limits
from grader.runtime.kernels import scratch
from grader.runtime.kernels.base import NotStartedError
from grader.runtime.kernels.forked import Born, readable
from grader.runtime.sandbox import Place, Sandbox
from grader.runtime.sandbox.probing import on_path
from grader.runtime.worker import ipc, view
from grader.runtime.worker.limits import raise_files
from grader.runtime.worker.plan import Start

START_SECONDS = 60.0

_slots = itertools.count()


class CrowdedError(NotStartedError):
    """What was imported ahead has started threads, and so nothing can be forked safely."""


@dataclass(frozen=True, slots=True)
class Way:
    """How kernels are started: those that are alike in this may have the same parent."""

    sandbox: Sandbox
    device: str
    loopback: bool
    limits: Limits
    seed: int
    imports: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()


class Parent:
    """One parent process, and the folder that it shares with its kernels."""

    def __init__(self, way: Way):
        self.way = way
        self.about: dict[str, Any] = {}
        self._plan = way.sandbox.plan(way.device, loopback=way.loopback)
        # Without a view a kernel that is somebody else has to get to its own folder in this one.
        passable = self._plan["view"] is None and way.sandbox.uid(0) is not None
        self._home = scratch.make_shared(passable=passable)
        self._lock = threading.Lock()
        self._names = itertools.count()
        try:
            self._process, self._line = self._started()
            self._up()
        except BaseException:
            self.end()
            raise

    def _started(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        raise_files()
        ours, theirs = ipc.pair()
        folder = self._home.root / "parent"
        folder.mkdir(mode=0o700)
        seen = Path(view.PLACES) / "parent" if self._plan["view"] is not None else folder
        settings = {
            "line": theirs.fileno(),
            "plan": self._plan,
            "imports": self.way.imports,
            "seed": self.way.seed,
            "device": self.way.device,
            "places": str(self._home.root),
            "folder": str(seen),
        }
        # By file, because a plan is longer than a command line should be.
        script = folder / "settings.json"
        script.write_text(json.dumps(settings), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "grader.runtime.worker.fork_server", str(script)]
        environment = dict(self.way.sandbox.environment(self.way.sandbox.inner(self._home)))
        environment |= dict(self.way.variables)
        for name, value in on_path().items():
            environment.setdefault(name, value)
        # Memory in large pages is forked in half the time.
        environment.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
        if self.way.device == "cpu":
            environment["CUDA_VISIBLE_DEVICES"] = ""
        with theirs:
            try:
                process = subprocess.Popen(  # noqa: S603
                    self.way.sandbox.wrap(command, self._home),
                    env=environment,
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
        return process, ours

    def _up(self) -> None:
        if not readable(self._line, START_SECONDS):
            raise NotStartedError(f"the parent of the kernels was not up in {START_SECONDS:g} s")
        message, _ = ipc.hear(self._line)
        if message is None or message.get("is") != "up":
            why = message.get("what") if message else f"exit status {self._process.wait()}"
            raise NotStartedError(f"the parent of the kernels ended at once ({why})")
        if message["threads"] != 1:
            raise CrowdedError(f"{message['threads']} threads run in the parent of the kernels")
        self.about = message["about"]

    @property
    def alive(self) -> bool:
        """Whether it can fork, and its folder has not been tidied away by somebody else."""
        # It has nothing more to say: what can be heard is that it is gone.
        running = self._process.poll() is None and not readable(self._line, 0)
        return running and self._home.root.is_dir()

    def bear(self) -> Born:
        """A kernel that is being forked; its `ready` or `failed` will say how that went.

        Raises OSError or NotStartedError, and then leaves nothing behind.
        """
        way = self.way
        name = str(next(self._names))
        home = Place(self._home.root / name)
        slot = next(_slots)
        uid = way.sandbox.uid(slot)
        inner = way.sandbox.inner(home)
        environment = dict(way.sandbox.environment(inner)) | dict(way.variables)
        if way.device == "cpu":
            environment["CUDA_VISIBLE_DEVICES"] = ""
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as made:
            made.callback(scratch.remove, home)
            scratch.furnish(home, parts=self._plan["view"] is None)
            group = way.sandbox.group(home.root.parent.name + "-" + name, way.limits)
            entrances = group.descriptors() if group is not None else []
            for file in entrances:
                theirs.callback(os.close, file)
            if group is not None:
                made.callback(group.remove)
                if not entrances:  # whom nobody can enter limits nobody
                    raise NotStartedError("its control group could not be opened")
            lines, files = [], []
            for pair in (ipc.pair(), socket.socketpair()):
                lines.append(made.enter_context(pair[0]))
                files.append(theirs.enter_context(pair[1]).fileno())
            files += entrances
            start = Start(
                name=name,
                root=str(inner.root),
                uid=uid,
                scratch_bytes=way.limits.scratch_bytes,
                memory_bytes=way.limits.memory_bytes if group is None else None,
                processes=way.limits.processes if group is None else None,
                rlimits=dict(way.sandbox.rlimits(way.limits, way.device)),
                environment=environment,
                seed=way.seed,
            )
            try:
                with self._lock:
                    ipc.say(self._line, {"start": start}, files)
            except OSError as error:
                raise NotStartedError("the parent of the kernels has ended") from error
            made.pop_all()  # from here on they are the kernel's
        return Born(home, inner, lines[0], lines[1], self.about, group)

    def forget(self) -> None:
        """Closes what a forked process has got of one that is not its own."""
        self._line.close()

    def end(self) -> None:
        """Ends the process and removes what is left of its folder."""
        if hasattr(self, "_line"):
            self._line.close()
            try:
                self._process.wait(START_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        scratch.remove(self._home)
