"""Real processes that talk through torch.distributed, to try out collectives on one machine.

    found = run_ranks(swap, 2, [torch.zeros(3), torch.ones(3)])
    print([rank.result for rank in found], found[0].calls)

calls `swap` in two new processes: in rank 0 with the first tensor, in rank 1 with the second. In
there `torch.distributed` is ready for use (gloo, over the loopback), and all calls of it are
noted. What a rank prints appears with its number. When no rank can go on, an error says who was
waiting for what; in any case all of the processes are gone when `run_ranks` is done.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import io
import json
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from multiprocessing import connection
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

LIFETIME = 60.0  # seconds after which a rank ends, whatever happens
MOST_CALLS = 1_000  # of a rank
QUIET = 0.2  # seconds without news, after which it is asked whether anybody can still go on


class RankFailedError(RuntimeError):
    """A rank raised an error, or died."""


class DeadlockError(RuntimeError):
    """Every rank waits for what no other will ever send, receive or join."""


class RankHungError(RuntimeError):
    """Nothing happened for too long."""


class Call(NamedTuple):
    """One call of torch.distributed. All variants have one name: `isend` is noted as send."""

    name: str
    peer: int  # the other rank in send and recv; -1 otherwise
    size: int  # bytes of the tensors that this rank puts in; in recv, of the one to be filled


class Rank(NamedTuple):
    """What came of one process."""

    result: Any
    calls: list[Call]

    def count(self, name: str) -> int:
        """How often `name` was called."""
        return sum(call.name == name for call in self.calls)

    def size(self, name: str) -> int:
        """The bytes of all calls of `name`."""
        return sum(call.size for call in self.calls if call.name == name)


def run_ranks(
    function: Callable[..., Any], world: int, *each: Sequence[Any], timeout: float = 5.0
) -> list[Rank]:
    """Calls `function` in `world` processes; of every further argument each gets its own item.

    It may return None, tensors, numbers, texts, and lists, tuples and dicts of them. Raises
    RankFailedError; DeadlockError; or RankHungError, when `timeout` seconds pass without a call.
    """
    if not hasattr(os, "fork"):
        raise RuntimeError("this system can't fork processes: use Linux, macOS or WSL")
    if not 1 <= world <= 8 or any(len(one) != world for one in each):
        raise ValueError("1 to 8 ranks, and of every further argument one item for each of them")
    ranks: list[_Watched] = []
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        try:
            for rank in range(world):
                here, there = connection.Pipe(duplex=False)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of forking: a notebook's threads idle now
                    pid = os.fork()
                if pid == 0:
                    _become(rank, world, folder, there, function, [one[rank] for one in each])
                ranks.append(_Watched(rank, pid, here))
                there.close()
            return _watch(ranks, timeout)
        finally:
            for one in ranks:
                for kill in (os.kill, os.killpg):  # and what a rank has started itself
                    with contextlib.suppress(OSError):
                        kill(one.pid, signal.SIGKILL)
            for one in ranks:
                with contextlib.suppress(OSError):
                    os.waitpid(one.pid, 0)
                one.line.close()


class _Watched:
    """A rank as the first process knows it: by what it has told."""

    def __init__(self, rank: int, pid: int, line: Any):
        self.rank, self.pid, self.line = rank, pid, line
        self.calls: list[Call] = []
        self.needs: list[Any] = []  # of each call: what its partners must have done, how often, who
        self.done: Counter[str] = Counter()
        self.waits: int | None = None
        self.result: tuple[Any] | None = None

    def hear(self) -> None:
        """Takes one message."""
        try:
            what, *more = json.loads(self.line.recv_bytes())
            data = self.line.recv_bytes() if what == "returned" else b""
        except (EOFError, OSError):
            if not self.calls:
                raise RankFailedError(f"rank {self.rank} died") from None
            raise RankFailedError(
                f"rank {self.rank} died; maybe it got more bytes than it had a tensor for"
            ) from None
        if what == "failed":
            kind, line, text = more
            if "by peer" in text:  # gloo lost the connection: another rank died, and is named
                return
            raise RankFailedError(f"rank {self.rank} raised {kind} in line {line}: {text}")
        if len(self.calls) > MOST_CALLS:
            raise RankHungError(f"rank {self.rank} made more than {MOST_CALLS} calls")
        if what == "prints":
            print(f"[rank {self.rank}] {more[0]}")
        elif what == "waits":
            (self.waits,) = more
        elif what == "calls":
            *call, mine, theirs, partners = more
            self.calls.append(Call(*call))
            self.done[mine] += 1
            self.needs.append((theirs, self.done[mine], partners))
        else:
            try:
                self.result = (torch.load(io.BytesIO(data), weights_only=True),)
            except Exception:
                raise RankFailedError(
                    f"rank {self.rank} returned what no rank can: see the text of run_ranks"
                ) from None

    def can_go_on(self, ranks: list[_Watched]) -> bool:
        """Whether it is at work, or its partners have come to what it waits for."""
        if self.waits is None:
            return True
        what, often, partners = self.needs[self.waits]
        return all(ranks[p].done[what] >= often or ranks[p].done["recv any"] for p in partners)

    def __str__(self) -> str:
        if self.result is not None:
            return f"rank {self.rank} had returned"
        if self.waits is None:
            return f"rank {self.rank} was at work after {len(self.calls)} calls"
        name, peer, _ = self.calls[self.waits]
        whom = f" {'to' if name == 'send' else 'from'} rank {peer}" if peer >= 0 else ""
        return f"rank {self.rank} was still in {name}{whom}"


def _watch(ranks: list[_Watched], timeout: float) -> list[Rank]:
    """Listens to all of them until each has returned."""
    last = time.monotonic()
    while running := {one.line: one for one in ranks if one.result is None}:
        ready = connection.wait(running, QUIET)
        for line in ready:
            running[line].hear()
        if ready:
            last = time.monotonic()
            continue
        active = [one for one in running.values() if one.can_go_on(ranks)]
        first = (active or list(running.values()))[0]
        others = ", ".join(str(one) for one in ranks if one is not first)
        # Ranks tell of a call before they make it: what nobody has told of has not been done.
        if not active:
            raise DeadlockError(f"{first}, and nobody could go on; {others}")
        if time.monotonic() - last > timeout:
            raise RankHungError(f"{first}, and nothing happened for {timeout:g} s; {others}")
    return [Rank(one.result[0], one.calls) for one in ranks if one.result]


def _become(
    rank: int, world: int, folder: str, line: Any, function: Callable[..., Any], given: list[Any]
) -> None:
    """The life of a new process; never returns."""

    def say(*message: object) -> None:
        line.send_bytes(json.dumps(message).encode())

    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # as soon as the first process has ended
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # then the first process ends this one
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, LIFETIME)
        gc.freeze()  # what was there before is for the first process to clean up
        sys.stdout = sys.stderr = _Printed(say)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # gloo's last words, about its own sources
        faulthandler.disable()
        torch.set_num_threads(1)
        os.environ["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
        store, limit = dist.FileStore(f"{folder}/store", world), timedelta(seconds=LIFETIME)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=limit)
        _note_calls(say)
        data = io.BytesIO()
        torch.save(function(*given), data)
        say("returned")
        line.send_bytes(data.getvalue())
    except BaseException as error:
        with contextlib.suppress(OSError):
            say("failed", type(error).__name__, _line(error), str(error)[:300])
    while True:  # others may still need what this one has sent; the first process ends it
        signal.pause()


# What functions ask a process group for, without underscores: the name for it, and which of the
# arguments holds the tensors that are put in. The longest beginning that fits counts.
_NAMES = {
    "send": ("send", 0), "recv": ("recv", 0), "broadcast": ("broadcast", 0),
    "reduce": ("reduce", 0), "allreduce": ("all_reduce", 0), "allgather": ("all_gather", 1),
    "gather": ("gather", 1), "scatter": ("scatter", 1), "alltoall": ("all_to_all", 1),
    "reducescatter": ("reduce_scatter", 1), "barrier": ("barrier", 9),
    "monitoredbarrier": ("barrier", 9),
}  # fmt: skip


def _note_calls(say: Callable[..., None]) -> None:
    """Tells of each call before it is made: at the group, where all functions end up at last."""
    made = 0
    works: dict[int, tuple[int, Any]] = {}  # with the objects, so that each keeps its id

    def noted(method: str, name: str, place: int) -> Callable[..., Any]:
        real = getattr(dist.ProcessGroup, method)

        def call(group: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal made
            say("calls", name, *_partners(group, name, place, args))
            number, made = made, made + 1
            work = real(group, *args, **kwargs)
            works[id(work)] = (number, work)
            return work

        return call

    def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
        number, _ = works.pop(id(work), (None, None))
        if threading.active_count() == 1:  # another thread could do what this one waits for
            say("waits", number)
        try:
            return really_wait(work, *args, **kwargs)
        finally:
            say("waits", None)

    for method in dir(dist.ProcessGroup):
        bare = method.replace("_", "")
        names = [start for start in _NAMES if bare.startswith(start)]
        if names:
            setattr(dist.ProcessGroup, method, noted(method, *_NAMES[max(names, key=len)]))
    really_wait, dist.Work.wait = dist.Work.wait, wait


def _partners(group: Any, name: str, place: int, args: Any) -> tuple[Any, ...]:
    """The peer; the size; what this call is, what its counterparts are, and whose they are."""
    size = _size(args[place]) if len(args) > place else 0
    ranks, where = dist.get_process_group_ranks(group), group.group_name
    if name not in ("send", "recv"):
        return -1, size, f"{name} {where}", f"{name} {where}", ranks
    if len(args) < 3:  # whoever receives from anybody
        return -1, size, "recv any", "", []
    me, peer = dist.get_rank(), ranks[args[1]]
    ends = f"{where} {args[2]} {(me, peer) if name == 'send' else (peer, me)}"
    return peer, size, f"{name} {ends}", f"{'recv' if name == 'send' else 'send'} {ends}", [peer]


def _size(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    return sum(map(_size, value)) if isinstance(value, (list, tuple)) else 0


def _line(error: BaseException) -> int:
    """Where in somebody's own code it happened; 0 when nobody knows."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if "-packages" not in frame.filename and frame.filename != _line.__code__.co_filename:
            return frame.lineno or 0
    return 0


class _Printed(io.TextIOBase):
    """Sends what a rank prints to the first process, line by line."""

    def __init__(self, say: Callable[..., None]):
        self._say, self._rest = say, ""

    def write(self, text: str) -> int:
        """Keeps a line that is not complete until it is."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._say("prints", line)
        return len(text)
