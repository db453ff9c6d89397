"""Parents of kernels: started on demand, one for each way to start, and ended when idle.

A parent forks a kernel in a few milliseconds (see `grader.inside.parent`). One more than is
needed is kept ready, so that the next notebook finds its kernel waiting.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import logging
import os
import queue
import secrets
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.inside import talk, view
from grader.inside.plan import Start
from grader.kernels import place
from grader.kernels.base import NotStartedError
from grader.model import Limits
from grader.sandbox import Group, Place, Sandbox

START_SECONDS = 60.0
IDLE_SECONDS = 60.0
"""After the last kernel a parent waits so long for another."""

_KEY_BYTES = 32
_MOST_ENDED = 8
"""Kernels that are ending at a time; whoever ends one more waits."""

log = logging.getLogger("grader.kernels")


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


@dataclass(slots=True)
class Born:
    """A kernel that was forked: its folder, its key, and the line to its guard."""

    place: Place
    inner: Place
    key: bytes
    line: socket.socket
    parent: Parent
    group: Group | None = None
    status: int | None = None
    """How it ended, negative for a signal; None while it runs."""
    hit: str | None = None
    """The limit for which the guard ended it."""
    failed: str | None = None
    """Why it did not start."""
    ready: bool = False
    interrupted: int = 0
    lost: bool = False
    """The guard is gone without a word: not the kernel's doing."""

    def listen(self) -> None:
        """Takes in what the guard has said, and waits for nothing."""
        while self.status is None and not self.lost and _readable(self.line, 0):
            message, _ = talk.hear(self.line)
            if message is None:
                self._gone()
                return
            self._take(message)

    def _gone(self) -> None:
        """The guard said nothing more: the machine, or the limit of its group, has ended it."""
        self.hit = self.group.hit() if self.group is not None else None
        if self.hit is None:
            self.lost = True
        else:
            self.status = -signal.SIGKILL

    def _take(self, message: dict[str, Any]) -> None:
        match message.get("is"):
            case "ready":
                self.ready = True
            case "interrupted":
                self.interrupted += 1
            case "failed":
                self.failed, self.status = str(message.get("what")), 1
            case "ended":
                self.status = int(message.get("status", 1))
                self.hit = message.get("hit")
                if self.hit is None and self.status == -signal.SIGKILL and self.group is not None:
                    self.hit = self.group.hit()

    def interrupt(self) -> None:
        """Asks the guard to interrupt what runs; `interrupted` counts when it has."""
        with contextlib.suppress(OSError):
            talk.say(self.line, {"do": "interrupt"})

    def end(self) -> None:
        """Ends the kernel and every process that came of it; returns before they have ended."""
        with contextlib.suppress(OSError):
            self.line.shutdown(socket.SHUT_WR)
        nursery.bury(self)

    def bury(self) -> None:
        """Waits until everything has ended, and removes the folder. Never raises."""
        # The guard ends with its namespace or after everything that it adopted; then the line
        # is closed at the other end, whoever else may have died on the way.
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and _readable(self.line, end - time.monotonic()):
            if talk.hear(self.line)[0] is None:
                break
        self.line.close()
        if self.group is not None:
            self.group.kill()
            self.group.remove()
        place.remove(self.place)


def _readable(line: socket.socket, seconds: float) -> bool:
    poll = select.poll()
    poll.register(line, select.POLLIN)
    return bool(poll.poll(max(seconds, 0) * 1000))


@dataclass(slots=True)
class _Counter:
    numbers: Any = field(default_factory=itertools.count)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self) -> int:
        with self.lock:
            return int(next(self.numbers))


_slots = _Counter()


class Parent:
    """One parent process, and the folder that it shares with its kernels."""

    def __init__(self, way: Way):
        self.way = way
        self.imports: tuple[str, ...] = ()
        self.about: dict[str, Any] = {}
        self._home = place.make_shared()
        self._plan = way.sandbox.plan(way.device, loopback=way.loopback)
        self._lock = threading.Lock()
        self._names = itertools.count()
        try:
            self._process, self._line = self._started()
            self._up()
        except BaseException:
            self.end()
            raise

    def _started(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = talk.pair()
        folder = self._home.root / "parent"
        folder.mkdir(mode=0o700)
        seen = Path(view.PLACES) / "parent" if self._plan["view"] is not None else folder
        settings = {
            "line": theirs.fileno(),
            "plan": self._plan,
            "imports": self.way.imports,
            "places": str(self._home.root),
            "folder": str(seen),
        }
        # By file, because a plan is longer than a command line should be.
        script = folder / "settings.json"
        script.write_text(json.dumps(settings), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "grader.inside.parent", str(script)]
        environment = dict(self.way.sandbox.environment(self.way.sandbox.inner(self._home)))
        environment |= dict(self.way.variables)
        for name, value in _on_path().items():
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
        if not _readable(self._line, START_SECONDS):
            raise NotStartedError(f"the parent of the kernels was not up in {START_SECONDS:g} s")
        message, _ = talk.hear(self._line)
        if message is None or message.get("is") != "up":
            why = message.get("what") if message else f"exit status {self._process.wait()}"
            raise NotStartedError(f"the parent of the kernels ended at once ({why})")
        if message["threads"] != 1:
            raise NotStartedError(f"{message['threads']} threads run in the parent of the kernels")
        self.imports = tuple(message["imports"])
        self.about = message["about"]

    @property
    def alive(self) -> bool:
        """Whether it can fork."""
        return self._process.poll() is None

    def bear(self) -> Born:
        """A kernel that is being forked; its `ready` or `failed` will say how that went."""
        way = self.way
        name = str(next(self._names))
        home = Place(self._home.root / name)
        slot = _slots.next()
        uid = way.sandbox.uid(slot)
        inner = way.sandbox.inner(home)
        place.furnish(home, wire_only=self._plan["view"] is not None)
        key = secrets.token_hex(_KEY_BYTES).encode()
        group = way.sandbox.group(home.root.parent.name + "-" + name, way.limits)
        ours, theirs = talk.pair()
        environment = dict(way.sandbox.environment(inner)) | dict(way.variables)
        if way.device == "cpu":
            environment["CUDA_VISIBLE_DEVICES"] = ""
        start = Start(
            name=name,
            root=str(inner.root),
            source=f"/{name}" if self._plan["view"] is not None else str(home.root),
            uid=uid,
            scratch_bytes=way.limits.scratch_bytes,
            memory_bytes=way.limits.memory_bytes if group is None else None,
            processes=way.limits.processes if group is None else None,
            rlimits=dict(way.sandbox.rlimits(way.limits, way.device)),
            environment=environment,
            seed=way.seed,
            connection={"key": key.decode(), "signature_scheme": "hmac-sha256"},
        )
        files = group.descriptors() if group is not None else []
        try:
            with theirs, self._lock:
                talk.say(self._line, {"start": start}, [theirs.fileno(), *files])
        except OSError as error:
            ours.close()
            place.remove(home)
            raise NotStartedError("the parent of the kernels has ended") from error
        finally:
            for file in files:
                os.close(file)
        return Born(home, inner, key, ours, self, group)

    def end(self) -> None:
        """Ends the process and removes what is left of its folder."""
        if hasattr(self, "_line"):
            self._line.close()
            try:
                self._process.wait(START_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        place.remove(self._home)


def _on_path() -> dict[str, str]:
    """Where the parent finds this package when it is not installed but lies on the path."""
    root = str(Path(__file__).parent.parent.parent)
    return {"PYTHONPATH": root} if root in sys.path else {}


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
                born.end()
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
                parent = self._parents[way] = Parent(way)
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
            born.end()
        if parent is not None:
            self.settle()  # the folders of its kernels are in its own
            parent.end()

    def bury(self, born: Born) -> None:
        """Sees to it that *born*, which has been told to end, is waited for; elsewhere."""
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
            except Exception:  # noqa: BLE001  # the next one has to be buried, too
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
