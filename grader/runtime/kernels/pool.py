"""A pool of fork servers, one for each launch spec, started on demand and ended when idle.

The pool can keep a spare kernel ready, so that the next notebook does not have to wait.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import threading
import time
from dataclasses import replace

from grader.model import Limits
from grader.runtime.kernels import scratch
from grader.runtime.kernels.base import LaunchSpec, NotStartedError
from grader.runtime.kernels.fork_server import CrowdedError, ForkServer
from grader.runtime.kernels.forked import ForkedKernel

IDLE_SECONDS = 60.0
"""How long a fork server without kernels waits before it is ended."""

_MOST_ENDED = 8
"""Limit on kernels that are being reaped; ending one more waits."""

log = logging.getLogger("grader.kernels")


def _load_server(
    spec: LaunchSpec, early: ForkServer | None = None, *, warm_up: bool = True
) -> ForkServer:
    """Returns a fork server that is up: *early* if it has started already, or a new one.

    The server has no preloaded modules if they prevent forking. Raises NotStartedError.
    """
    server = early or ForkServer(spec)
    try:
        server.load(spec, warm_up=warm_up)
    except CrowdedError:
        if not spec.imports and early is None:
            raise
        log.warning("kernels start without preloaded modules", exc_info=True)
        server = _load_server(replace(spec, imports=()))
        server.spec = spec  # or every kernel that needs the modules would start another
    return server


class KernelPool:
    """All fork servers of this process. Any thread may take kernels from it."""

    def __init__(self) -> None:
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset_after_fork)

    def _reset(self) -> None:
        """Empties the pool, without ending anything that was in it."""
        self._ended: queue.Queue[ForkedKernel] = queue.Queue(_MOST_ENDED)
        self._reaper: threading.Thread | None = None
        self._swept = False
        self._servers: set[ForkServer] = set()
        self._early: dict[LaunchSpec, ForkServer] = {}
        self._starting: dict[LaunchSpec, threading.Lock] = {}
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._pid = os.getpid()

    @property
    def servers(self) -> list[ForkServer]:
        """The fork servers that fork kernels."""
        return [server for server in self._servers if not server.is_retired]

    def _reset_after_fork(self) -> None:
        """Resets the pool in a forked process, since all its kernels belong to the original."""
        _others.append((self._servers, self._early))  # kept: their destructors would end them
        for server in self._early.values():
            server.close_inherited()
        for server in self._servers:
            server.close_inherited()
            for kernel in server.spares.values():
                kernel.close_inherited()
        self._reset()

    def start_early(self, spec: LaunchSpec) -> None:
        """Starts a fork server, which imports the modules of *spec* at once and those that a
        notebook needs once the first kernel is taken.

        Does nothing if such a server runs. If the server can't be started, the caller of `take`
        gets the error.
        """
        bare = replace(spec, imports=())
        with contextlib.suppress(NotStartedError, OSError), self._lock:
            if any(server.spec.can_serve(spec) for server in self.servers):
                return
            if bare not in self._early:
                self._early[bare] = ForkServer(bare)
            if spec.imports:
                self._early[bare].import_early(spec.imports)

    def take(self, spec: LaunchSpec, limits: Limits, *, spare: bool = False) -> ForkedKernel:
        """Returns a kernel; if *spare*, also forks one for the next caller.

        A fork server that is started for a *spare* runs what is slow the first time. Raises
        NotStartedError or OSError.
        """
        server = self._find_or_start(spec, warm_up=spare)
        kernel = self._take_spare(server, limits)
        if kernel is None:
            with self._lock:
                kernel = server.fork(limits)
        if spare:
            # If it can't be started, the next caller gets the error.
            with contextlib.suppress(NotStartedError, OSError), self._lock:
                if limits not in server.spares and not server.is_retired:
                    server.spares[limits] = server.fork(limits)
        return kernel

    def _take_spare(self, server: ForkServer, limits: Limits) -> ForkedKernel | None:
        """Returns a living spare with these limits; None if there is none."""
        with self._lock:
            kernel = server.spares.pop(limits, None)
        if kernel is None:
            return None
        kernel.read_messages()
        if kernel.status is None and not kernel.is_lost:
            return kernel
        self.end(kernel)
        return None

    def _find_or_start(self, spec: LaunchSpec, *, warm_up: bool) -> ForkServer:
        """Returns the server for *spec*, or one that has imported more; starts it if needed."""
        with self._lock:
            has_swept, self._swept = self._swept, True
            starting = self._starting.setdefault(spec, threading.Lock())
        if not has_swept:
            scratch.remove_abandoned()
        with starting:
            server = self._find_living_server(spec)
            if server is None:
                with self._lock:
                    early = self._early.pop(replace(spec, imports=()), None)
                server = _load_server(spec, early, warm_up=warm_up)
                with self._lock:
                    self._servers.add(server)
                self._retire_idle_later()
            return server

    def _find_living_server(self, spec: LaunchSpec) -> ForkServer | None:
        """Returns a server that can serve *spec*; None if none lives. Retires dead ones."""
        with self._lock:
            fitting = [server for server in self.servers if server.spec.can_serve(spec)]
            living = next((server for server in fitting if server.is_alive), None)
            if living is not None:  # the others may become idle
                living.last_use = time.monotonic()
        for server in fitting:
            if not server.is_alive:
                self._retire(server)
        return living

    def _retire_idle_later(self) -> None:
        """Starts the timer for the next search for idle fork servers, unless it runs."""
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(IDLE_SECONDS / 2, self._retire_idle)
                self._timer.daemon = True
                self._timer.start()

    def _retire_idle(self) -> None:
        """Ends the fork servers without kernels that nobody has used for a while."""
        self._timer = None
        with self._lock:
            idle = [
                server
                for server in self._servers
                if server.kernels == set(server.spares.values())
                and time.monotonic() - server.last_use > IDLE_SECONDS
            ]
        for server in idle:
            self._retire(server)
        if self._servers:
            self._retire_idle_later()

    def _retire(self, server: ForkServer) -> None:
        """Stops using a fork server, and ends it after its last kernel, which would end with it."""
        with self._lock:
            server.is_retired = True
            spares, server.spares = list(server.spares.values()), {}
        for kernel in spares:
            self.end(kernel)
        self._end_server(server)

    def _end_server(self, server: ForkServer) -> None:
        """Ends a retired fork server if it has no kernel left."""
        with self._lock:
            if not server.is_retired or server.kernels or server not in self._servers:
                return
            self._servers.remove(server)
        server.end()

    def end(self, kernel: ForkedKernel) -> None:
        """Signals a kernel and all its processes to end; a background thread reaps them.

        Must not be called while holding the lock, which that thread needs.
        """
        if os.getpid() != self._pid:
            return
        kernel.signal_exit()
        with self._lock:
            if self._reaper is None:
                self._reaper = threading.Thread(target=self._reap_all, daemon=True)
                self._reaper.start()
        self._ended.put(kernel)

    def _reap_all(self) -> None:
        """Cleans up after kernels that have ended, for as long as the grader runs."""
        while True:
            kernel = self._ended.get()
            try:
                kernel.reap()
                with self._lock:
                    owners = [server for server in self._servers if kernel in server.kernels]
                    for server in owners:
                        server.kernels.remove(kernel)
                        server.last_use = time.monotonic()
                for server in owners:
                    self._end_server(server)
            except Exception:  # the next one has to be reaped, too
                log.exception("cleaning up after a kernel failed")
            finally:
                self._ended.task_done()

    def wait_until_reaped(self) -> None:
        """Returns once all processes and folders of ended kernels are gone."""
        self._ended.join()

    def close(self) -> None:
        """Ends every fork server and every spare kernel, and waits until all are gone."""
        if os.getpid() != self._pid:
            return
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            unused, self._early = self._early, {}
        for server in unused.values():
            server.end()
        for server in list(self._servers):
            self._retire(server)
        self.wait_until_reaped()
        with self._lock:  # those with a kernel that was taken and never returned
            remaining, self._servers = self._servers, set()
        for server in remaining:
            server.end()


_others: list[object] = []
kernel_pool = KernelPool()
atexit.register(kernel_pool.close)
