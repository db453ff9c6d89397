"""Real processes that talk through torch.distributed, to try out collectives on one machine.

    found = run_ranks(swap, 2, [torch.zeros(3), torch.ones(3)])
    [rank.result for rank in found]

calls `swap` in two new processes, in rank 0 with the first tensor and in rank 1 with the second. In
there `torch.distributed` is ready: gloo, over the loopback. What the ranks print appears with their
number. When nobody can go on, all of them are ended, and an error says who was waiting for what.

Nothing has to be changed here, and nothing of it has to be understood to use it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import itertools
import json
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from multiprocessing import connection
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

LIFETIME = 60.0  # seconds after which a rank ends, whatever happens
QUIET = 0.2  # seconds without news before it is asked whether anybody can still go on


class RankFailedError(RuntimeError):
    """A rank raised an error, or died."""


class DeadlockError(RuntimeError):
    """Every rank waits for what no other will ever send, receive or join."""


class RankHungError(RuntimeError):
    """Nothing happened for too long."""


class Call(NamedTuple):
    """One call of torch.distributed; `isend` counts as send, all ways to gather as all_gather."""

    name: str
    peer: int  # -1 where all take part
    size: int  # bytes of the tensors that this rank gives, or in `recv` takes


class Rank(NamedTuple):
    """What came of one process."""

    result: Any
    calls: list[Call]  # in order

    def count(self, name: str) -> int:
        """How often `name` was called."""
        return sum(call.name == name for call in self.calls)

    def size(self, name: str) -> int:
        """Bytes given to all calls of `name`."""
        return sum(call.size for call in self.calls if call.name == name)


def run_ranks(
    function: Callable[..., Any], world: int, *each: Sequence[Any], timeout: float = 5.0
) -> list[Rank]:
    """Call `function` in `world` processes; of every further argument each gets its own item.

    It may return tensors, numbers, texts, None, and lists, tuples and dicts of them. Raises
    RankFailedError, DeadlockError, or RankHungError after `timeout` seconds in which no rank
    called anything of torch.distributed.
    """
    if not hasattr(os, "fork"):
        raise RuntimeError("processes can't be forked here: use Linux, macOS or WSL")
    if not 1 <= world <= 8 or any(len(one) != world for one in each):
        raise ValueError("1 to 8 ranks, and of every further argument one item for each of them")
    sys.stdout.flush()
    watched: list[_Watched] = []
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        try:
            for rank in range(world):
                here, there = connection.Pipe(duplex=False)
                pid = os.fork()
                if pid == 0:
                    _become(
                        rank, world, folder, there, lambda r=rank: function(*(a[r] for a in each))
                    )
                there.close()
                watched.append(_Watched(rank, pid, here))
            return _watch(watched, timeout)
        finally:
            for one in watched:
                os.kill(one.pid, signal.SIGKILL)
            for one in watched:
                os.waitpid(one.pid, 0)
                one.line.close()


# -- in the first process


class _Op(NamedTuple):
    call: Call
    number: int  # among the operations that can be confused with it
    other: str  # what its partners have to do as often
    partners: list[int] | None  # None when that can't be known


class _Watched:
    """A rank, as far as it has told of itself."""

    def __init__(self, rank: int, pid: int, line: Any):
        self.rank, self.pid, self.line = rank, pid, line
        self.ops: list[_Op] = []
        self.done: Counter[str] = Counter()
        self.waits: _Op | None = None
        self.result: tuple[Any] | None = None

    def hear(self) -> None:
        """Takes one message. Raises RankFailedError when it says so, or when there is none."""
        try:
            what, *more = json.loads(self.line.recv_bytes())
            if what == "returned":
                data = io.BytesIO(self.line.recv_bytes())
                self.result = (torch.load(data, weights_only=True),)
        except (EOFError, OSError):
            raise RankFailedError(f"rank {self.rank} ended before it returned anything") from None
        if what == "failed":
            raise RankFailedError(f"rank {self.rank} raised {more[0]}")
        if what == "prints":
            print(f"[rank {self.rank}] {more[0]}")
        elif what == "calls":
            name, peer, size, own, other, partners = more
            self.ops.append(_Op(Call(name, peer, size), self.done[own], other, partners))
            self.done[own] += 1
        elif what == "waits":
            self.waits = None if more[0] is None else self.ops[more[0]]

    def __str__(self) -> str:
        if self.result is not None:
            return f"rank {self.rank} had returned"
        if self.waits is None:
            return f"rank {self.rank} was busy after {len(self.ops)} calls"
        name, peer, _ = self.waits.call
        way = {"send": f" to rank {peer}", "recv": f" from rank {peer}"}.get(name, "")
        return f"rank {self.rank} was still in {name}{way if peer >= 0 else ''}"


def _watch(ranks: list[_Watched], timeout: float) -> list[Rank]:
    """Listens to all of them until each has returned."""
    last = time.monotonic()
    while running := {one.line: one for one in ranks if one.result is None}:
        ready = connection.wait(running, QUIET)
        for line in ready:
            running[line].hear()
        now = time.monotonic()
        last = now if ready else last
        # What nobody tells of has not happened: each tells of a call before it makes it.
        if not ready and not any(_can_go_on(one, ranks) for one in running.values()):
            raise DeadlockError(f"nobody could go on: {', '.join(map(str, ranks))}")
        if now - last > timeout:
            raise RankHungError(f"nothing happened for {timeout:g} s: {', '.join(map(str, ranks))}")
    return [Rank(one.result[0], [op.call for op in one.ops]) for one in ranks if one.result]


def _can_go_on(one: _Watched, ranks: list[_Watched]) -> bool:
    """Whether it is at work, or its partners in what it waits for have come to that, too."""
    op = one.waits
    if op is None or op.partners is None:
        return True
    return all(ranks[p].done[op.other] > op.number or ranks[p].done["any"] for p in op.partners)


# -- in the new processes


def _become(rank: int, world: int, folder: str, line: Any, function: Callable[[], Any]) -> None:
    """Is that rank, and never returns."""

    def say(*message: object) -> None:
        line.send_bytes(json.dumps(message).encode())

    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # to end with the first process
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends us
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, LIFETIME)
        gc.freeze()  # what was there before is not ours to clean up
        sys.stdout = sys.stderr = _Printed(say)
        torch.set_num_threads(1)
        os.environ["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
        store = dist.FileStore(str(Path(folder) / "store"), world)
        limit = timedelta(seconds=LIFETIME)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=limit)
        _count_calls(say)
        data = io.BytesIO()
        torch.save(_plain(function()), data)
        say("returned")
        line.send_bytes(data.getvalue())
    except BaseException as error:  # noqa: BLE001
        with contextlib.suppress(OSError):
            say("failed", f"{type(error).__name__}: {error}"[:300] + _place(error))
    with contextlib.suppress(BaseException):
        while True:  # what was sent may not have arrived: wait until all have what they need
            signal.pause()
    os._exit(0)
