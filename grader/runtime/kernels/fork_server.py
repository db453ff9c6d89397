"""The grader's side of a fork server process (see `grader.runtime.worker.fork_server`)."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.model import Limits
from grader.runtime.kernels import scratch
from grader.runtime.kernels.base import LaunchSpec, NotStartedError
from grader.runtime.kernels.forked import ForkedKernel, is_readable
from grader.runtime.sandbox import ScratchFolder
from grader.runtime.sandbox.probing import package_path_variables
from grader.runtime.worker import ipc, view
from grader.runtime.worker.limits import raise_file_limit
from grader.runtime.worker.plan import KernelStart

START_SECONDS = 60.0

_slots = itertools.count()


class CrowdedError(NotStartedError):
    """The preloaded modules have started threads, so that forking is not safe."""


class ForkServer:
    """One fork server process, and the folder that it shares with its kernels.

    It is started at once, but only forks kernels after `load`.
    """

    def __init__(self, spec: LaunchSpec):
        self.about: dict[str, Any] = {}
        self.spec = spec
        self.kernels: set[ForkedKernel] = set()
        """Its kernels that are not reaped yet."""
        self.spares: dict[Limits, ForkedKernel] = {}
        """The kernels that wait for a notebook."""
        self.is_retired = False
        """Whether it forks no more kernels, and is ended after its last one."""
        self.last_use = time.monotonic()
        self._plan = spec.sandbox.plan(spec.device, loopback=spec.loopback)
        # Without a view, a kernel that runs as another user has to reach its folder in this one.
        passable = self._plan["view"] is None and spec.sandbox.uid_of(0) is not None
        self._home = scratch.make_shared_folder(passable=passable)
        self._lock = threading.Lock()
        self._names = itertools.count()
        try:
            self._process, self._line = self._start()
        except BaseException:
            self.end()
            raise

    def import_early(self, modules: Sequence[str]) -> None:
        """Lets the process import *modules* while the caller prepares; `load` imports the rest.

        Raises OSError if the process has ended.
        """
        ipc.send_message(self._line, {"imports": list(modules), "early": True})

    def load(self, spec: LaunchSpec, *, warm_up: bool = True) -> None:
        """Imports the modules of *spec*, which differs from the server's in nothing else; with
        *warm_up*, also runs what is slow the first time.

        Returns once the server is up. Raises NotStartedError, and ends the server.
        """
        self.spec = spec
        try:
            request = {"imports": spec.imports, "warm_up": warm_up, "early": False}
            ipc.send_message(self._line, request)
            self._wait_until_up()
        except OSError as error:
            self.end()
            raise NotStartedError("the fork server has exited") from error
        except BaseException:
            self.end()
            raise

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        """Starts the process; returns it and the grader's end of the line to it. Raises OSError."""
        raise_file_limit()
        own_end, server_end = ipc.make_pair()
        folder = self._home.root / "parent"
        folder.mkdir(mode=0o700)
        visible_folder = Path(view.PLACES) / "parent" if self._plan["view"] is not None else folder
        settings = {
            "line": server_end.fileno(),
            "plan": self._plan,
            "seed": self.spec.seed,
            "device": self.spec.device,
            "places": str(self._home.root),
            "folder": str(visible_folder),
        }
        # In a file, because a plan is too long for a command line.
        script = folder / "settings.json"
        script.write_text(json.dumps(settings), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "grader.runtime.worker.fork_server", str(script)]
        environment = self.spec.environment(self.spec.sandbox.inner_folder(self._home))
        for name, value in package_path_variables().items():
            environment.setdefault(name, value)
        # Large pages halve the time of a fork.
        environment.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
        with server_end:
            try:
                process = subprocess.Popen(  # noqa: S603
                    self.spec.sandbox.wrap(command, self._home),
                    env=environment,
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[server_end.fileno()],
                    start_new_session=True,
                )
            except BaseException:
                own_end.close()
                raise
        return process, own_end

    def _wait_until_up(self) -> None:
        """Returns once the process can fork. Raises NotStartedError if it can't in time."""
        if not is_readable(self._line, START_SECONDS):
            raise NotStartedError(f"the fork server did not start within {START_SECONDS:g} s")
        message, _ = ipc.receive_message(self._line)
        if message is None or message.get("is") != "up":
            why = message.get("what") if message else f"exit status {self._process.wait()}"
            raise NotStartedError(f"the fork server exited at startup ({why})")
        if message["threads"] != 1:
            raise CrowdedError(f"the fork server runs {message['threads']} threads")
        self.about = message["about"]

    @property
    def is_alive(self) -> bool:
        """Whether the server can fork and its folder has not been removed by another program."""
        # It sends nothing after startup, so a readable line means that it has exited.
        running = self._process.poll() is None and not is_readable(self._line, 0)
        return running and self._home.root.is_dir()

    def fork(self, limits: Limits) -> ForkedKernel:
        """Starts to fork a kernel, whose `ready` or `failure` says later whether that succeeded.

        Leaves nothing behind if it raises OSError or NotStartedError.
        """
        spec = self.spec
        name = str(next(self._names))
        home = ScratchFolder(self._home.root / name)
        slot = next(_slots)
        uid = spec.sandbox.uid_of(slot)
        inner = spec.sandbox.inner_folder(home)
        with contextlib.ExitStack() as kernel_ends, contextlib.ExitStack() as on_failure:
            on_failure.callback(scratch.remove_folder, home)
            scratch.make_kernel_folder(home, parts=self._plan["view"] is None)
            group = spec.sandbox.make_group(home.root.parent.name + "-" + name, limits)
            process_files: list[int] = []
            if group is not None:
                on_failure.callback(group.remove)
                process_files = group.open_process_files()
            for file in process_files:
                kernel_ends.callback(os.close, file)
            own_ends = []
            files = []
            for pair in (ipc.make_pair(), socket.socketpair()):
                own_ends.append(on_failure.enter_context(pair[0]))
                files.append(kernel_ends.enter_context(pair[1]).fileno())
            files += process_files
            start = KernelStart(
                name=name,
                root=str(inner.root),
                uid=uid,
                scratch_bytes=limits.scratch_bytes,
                memory_bytes=limits.memory_bytes if group is None else None,
                processes=limits.processes if group is None else None,
                rlimits=dict(spec.sandbox.rlimits(limits, spec.device)),
                environment=spec.environment(inner),
                seed=spec.seed,
            )
            try:
                with self._lock:
                    ipc.send_message(self._line, {"start": start}, files)
            except OSError as error:
                raise NotStartedError("the fork server has exited") from error
            on_failure.pop_all()  # from here on they belong to the kernel
        kernel = ForkedKernel(home, inner, own_ends[0], own_ends[1], self.about, group)
        self.kernels.add(kernel)
        return kernel

    def close_inherited(self) -> None:
        """Closes the descriptors that a forked process has inherited from its parent."""
        self._line.close()

    def end(self) -> None:
        """Ends the server's process, and removes the rest of its folder."""
        if hasattr(self, "_line"):
            self._line.close()
            try:
                self._process.wait(START_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        scratch.remove_folder(self._home)
