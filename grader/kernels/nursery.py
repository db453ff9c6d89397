"""Parents of kernels: started on demand, one for each way to start, and ended when idle.

One kernel more than is needed is kept ready, so that the next notebook finds its kernel waiting.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import threading
import time
from collections import deque
from dataclasses import replace

from grader.kernels import place
from grader.kernels.base import NotStartedError
from grader.kernels.born import Born
from grader.kernels.parent import CrowdedError, Parent, Way

IDLE_SECONDS = 60.0
"""After the last kernel a parent waits so long for another."""

_MOST_ENDED = 8
"""Kernels that are ending at a time; whoever ends one more waits."""

log = logging.getLogger("grader.kernels")


def _started(way: Way) -> Parent:
    """A parent for *way*, with nothing imported ahead when that is what doesn't work."""
    try:
        return Parent(way)
    except CrowdedError:
        if not way.imports:
            raise
        log.warning("kernels start with nothing imported ahead", exc_info=True)
        return Parent(replace(way, imports=()))


class Nursery:
    """All parents of this process. Any thread may take kernels from it."""

    def __init__(self) -> None:
        self._ended: queue.Queue[Born] = queue.Queue(_MOST_ENDED)
        self._burying: threading.Thread | None = None
        self._swept = False
        self._parents: dict[Way, Parent] = {}
        self._ready: dict[Way, deque[Born]] = {}
        self._starting: dict[Way, threading.Lock] = {}
        self._used: dict[Way, float] = {}
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._pid = os.getpid()

    def take(self, way: Way, *, ahead: bool = True) -> Born:
        """A kernel for *way*: one that waits, or else a new one. Raises NotStartedError.

        With *ahead* another is started for whoever comes next.
        """
        parent = self._parent(way)
        born = self._waiting(way) or parent.bear()
        if ahead:
            with contextlib.suppress(NotStartedError), self._lock:
                if not self._ready[way]:
                    self._ready[way].append(parent.bear())
        return born

    def _waiting(self, way: Way) -> Born | None:
        with self._lock:
            self._used[way] = time.monotonic()
            while self._ready[way]:
                born = self._ready[way].popleft()
                born.listen()
                if born.status is None and not born.lost:
                    return born
                self.end(born)
        return None

    def parent(self, way: Way) -> Parent:
        """The parent of the kernels of *way*; started if there is none."""
        return self._parent(way)

    def _parent(self, way: Way) -> Parent:
        with self._lock:
            swept, self._swept = self._swept, True
            starting = self._starting.setdefault(way, threading.Lock())
            self._ready.setdefault(way, deque())
            self._used[way] = time.monotonic()
        if not swept:
            place.sweep()
        with starting:
            parent = self._parents.get(way)
            if parent is None or not parent.alive:
                if parent is not None:
                    self._drop(way)
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
        for way in [w for w, used in list(self._used.items()) if now - used > IDLE_SECONDS]:
            self._drop(way)
        if self._parents:
            self._look_later()

    def _drop(self, way: Way) -> None:
        with self._lock:
            parent = self._parents.pop(way, None)
            ready = self._ready.pop(way, deque())
            self._ready[way] = deque()
        for born in ready:
            self.end(born)
        if parent is not None:
            self.settle()  # the folders of its kernels are in its own
            parent.end()

    def end(self, born: Born) -> None:
        """Ends a kernel with all its processes; that they are gone is seen to elsewhere."""
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
            except Exception:  # the next one has to be buried, too
                log.exception("tidying up after a kernel failed")
            finally:
                self._ended.task_done()

    def settle(self) -> None:
        """Returns when all processes of ended kernels are gone, and their folders."""
        self._ended.join()

    def close(self) -> None:
        """Ends every parent and every kernel that nobody took, and waits for all to be gone."""
        if os.getpid() != self._pid:
            return
        if self._timer is not None:
            self._timer.cancel()
        for way in list(self._parents):
            self._drop(way)
        self.settle()


nursery = Nursery()
atexit.register(nursery.close)
