"""A pool of fork servers, one for each launch spec, started on demand and ended when idle.

Each keeps one spare kernel ready, so that the next notebook does not have to wait.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import threading
import time
import weakref
from collections import deque
from dataclasses import dataclass, replace

from grader.runtime.kernels import scratch
from grader.runtime.kernels.base import NotStartedError
from grader.runtime.kernels.fork_server import CrowdedError, ForkServer, LaunchSpec
from grader.runtime.kernels.forked import ForkedKernel

IDLE_SECONDS = 60.0
"""How long a fork server without kernels waits before it is ended."""

_MOST_ENDED = 8
"""Kernels that may be ending at a time; ending one more waits."""

log = logging.getLogger("grader.kernels")


def _started(way: LaunchSpec) -> ForkServer:
    """A fork server for *way*; if the preloaded modules prevent forking, without them."""
    try:
        return ForkServer(way)
    except CrowdedError:
        if not way.imports:
            raise
        log.warning("kernels start without preloaded modules", exc_info=True)
        return ForkServer(replace(way, imports=()))


class KernelPool:
    """All fork servers of this process. Any thread may take kernels from it."""

    def __init__(self) -> None:
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._ended: queue.Queue[ForkedKernel] = queue.Queue(_MOST_ENDED)
        self._burying: threading.Thread | None = None
        self._swept = False
        self._parents: dict[LaunchSpec, ForkServer] = {}
        self._ready: dict[LaunchSpec, deque[ForkedKernel]] = {}
        self._living: dict[int, _Living] = {}
        self._retired: set[ForkServer] = set()
        self._starting: dict[LaunchSpec, threading.Lock] = {}
        self._used: dict[LaunchSpec, float] = {}
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._pid = os.getpid()

    def forked(self) -> None:
        """Resets the pool in a forked process, since all its kernels belong to the original."""
        theirs = {*self._parents.values(), *self._retired}
        _others.append((theirs, self._living))  # kept, as their destructors would end them
        for parent in theirs:
            parent.forget()
        for waiting in self._ready.values():
            for born in waiting:
                born.forget()
        self._begin()

    def take(self, way: LaunchSpec, *, ahead: bool = True) -> ForkedKernel:
        """A kernel for *way*: a spare or a new one. Raises NotStartedError or OSError.

        If *ahead*, starts a spare for the next caller.
        """
        parent = self._parent(way)
        born = self._waiting(way) or self._bear(way, parent)
        if ahead:
            # If the spare can't be started, the next caller gets the error.
            with contextlib.suppress(NotStartedError, OSError), self._lock:
                if not self._ready[way] and self._parents.get(way) is parent:
                    self._ready[way].append(self._bear(way, parent))
        return born

    def _bear(self, way: LaunchSpec, parent: ForkServer) -> ForkedKernel:
        born = parent.bear()
        with self._lock:
            self._living[id(born)] = _Living(born, way, parent)
        return born

    def _waiting(self, way: LaunchSpec) -> ForkedKernel | None:
        while True:
            with self._lock:
                self._used[way] = time.monotonic()
                if not self._ready[way]:
                    return None
                born = self._ready[way].popleft()
                born.listen()
            if born.status is None and not born.lost:
                return born
            self.end(born)

    def _parent(self, way: LaunchSpec) -> ForkServer:
        """The fork server for *way*; started if there is none."""
        with self._lock:
            swept, self._swept = self._swept, True
            starting = self._starting.setdefault(way, threading.Lock())
            self._ready.setdefault(way, deque())
            self._used[way] = time.monotonic()
        if not swept:
            scratch.sweep()
        with starting:
            parent = self._parents.get(way)
            if parent is None or not parent.alive:
                if parent is not None:
                    self._retire(way)
                parent = self._parents[way] = _started(way)
                self._look_later()
            return parent

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(IDLE_SECONDS / 2, self._look)
            self._timer.daemon = True
            self._timer.start()

    def _look(self) -> None:
        self._timer = None
        now = time.monotonic()
        with self._lock:
            waiting = {id(born) for ready in self._ready.values() for born in ready}
            busy = {each.way for born, each in self._living.items() if born not in waiting}
            idle = [w for w, at in self._used.items() if now - at > IDLE_SECONDS]
        for way in idle:
            if way not in busy:
                self._retire(way)
        if self._parents:
            self._look_later()

    def _retire(self, way: LaunchSpec) -> None:
        """Stops using the fork server for *way*, and ends it when its last kernel has ended.

        Not before, because its kernels would end with it.
        """
        with self._lock:
            parent = self._parents.pop(way, None)
            ready = self._ready.pop(way, deque())
            self._ready[way] = deque()
            if parent is not None:
                self._retired.add(parent)
        for born in ready:
            self.end(born)
        if parent is not None:
            self._let_go(parent)

    def _let_go(self, parent: ForkServer) -> None:
        """Ends a retired fork server that has no kernel left."""
        with self._lock:
            if any(each.parent is parent for each in self._living.values()):
                return
            if parent not in self._retired:
                return
            self._retired.remove(parent)
        parent.end()

    def end(self, born: ForkedKernel) -> None:
        """Signals a kernel and all its processes to end; a background thread reaps them.

        Must not be called while holding the lock, which that thread needs.
        """
        if os.getpid() != self._pid:
            return
        born.dismiss()
        with self._lock:
            if self._burying is None:
                self._burying = threading.Thread(target=self._bury_all, daemon=True)
                self._burying.start()
        self._ended.put(born)

    def _bury_all(self) -> None:
        while True:
            born = self._ended.get()
            try:
                born.bury()
                with self._lock:
                    living = self._living.pop(id(born), None)
                    if living is not None:
                        self._used[living.way] = time.monotonic()
                if living is not None:
                    self._let_go(living.parent)
            except Exception:  # the next one has to be reaped, too
                log.exception("cleaning up after a kernel failed")
            finally:
                self._ended.task_done()

    def settle(self) -> None:
        """Returns once all processes and folders of ended kernels are gone."""
        self._ended.join()

    def close(self) -> None:
        """Ends every fork server and every spare kernel, and waits until all are gone."""
        if os.getpid() != self._pid:
            return
        if self._timer is not None:
            self._timer.cancel()
        for way in list(self._parents):
            self._retire(way)
        self.settle()
        with self._lock:  # those with a kernel that was taken and never returned
            left, self._retired = self._retired, set()
        for parent in left:
            parent.end()


@dataclass(frozen=True)
class _Living:
    """A kernel that has not been reaped, and its fork server."""

    born: ForkedKernel
    way: LaunchSpec
    parent: ForkServer


_all: weakref.WeakSet[KernelPool] = weakref.WeakSet()
_others: list[object] = []


def _forked() -> None:
    for each in list(_all):
        each.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

nursery = KernelPool()
atexit.register(nursery.close)
