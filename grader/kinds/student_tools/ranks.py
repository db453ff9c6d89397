"""Runs processes that use torch.distributed, to try collectives on one machine.

    found = run_ranks(swap, 2, [torch.zeros(3), torch.ones(3)])
    print([rank.result for rank in found], found[0].calls)

calls `swap` in two new processes: in rank 0 with the first tensor, in rank 1 with the second.
There, `torch.distributed` is initialized (gloo, over the loopback), and all its calls are recorded.
Output of a rank is printed with its number. If no rank can continue, an error says which rank was
waiting for what. When `run_ranks` returns, all processes have ended.
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

LIFETIME = 60.0  # seconds after which a rank always ends
MOST_CALLS = 1_000  # of a rank
QUIET = 0.2  # seconds without news before checking whether any rank can continue


class RankFailedError(RuntimeError):
    """A rank raised an error or died."""


class DeadlockError(RuntimeError):
    """Every rank waits for something that no other rank will send, receive, or join."""


class RankHungError(RuntimeError):
    """Nothing happened for too long."""


class Call(NamedTuple):
    """A call of torch.distributed. Variants share one name: `isend` is recorded as send."""

    name: str
    peer: int  # the other rank in send and recv; otherwise -1
    size: int  # bytes of this rank's input tensors; in recv, of the tensor to fill


class Rank(NamedTuple):
    """The result of one process."""

    result: Any
    calls: list[Call]

    def count(self, name: str) -> int:
        """Returns how often `name` was called."""
        return sum(call.name == name for call in self.calls)

    def size(self, name: str) -> int:
        """Returns the bytes of all calls of `name`."""
        return sum(call.size for call in self.calls if call.name == name)


def run_ranks(
    function: Callable[..., Any], world: int, *each: Sequence[Any], timeout: float = 5.0
) -> list[Rank]:
    """Calls `function` in `world` processes; each gets its own item of every further argument.

    It may return None, tensors, numbers, texts, and lists, tuples, and dicts of them. Raises
    RankFailedError, DeadlockError, or RankHungError if `timeout` seconds pass without a call.
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
                    warnings.simplefilter(
                        "ignore"
                    )  # about forking: a notebook's threads are idle now
                    pid = os.fork()
                if pid == 0:
                    _become(rank, world, folder, there, function, [one[rank] for one in each])
                ranks.append(_Watched(rank, pid, here))
                there.close()
            return _watch(ranks, timeout)
        finally:
            for one in ranks:
                for kill in (os.kill, os.killpg):  # and the processes that a rank has started
                    with contextlib.suppress(OSError):
                        kill(one.pid, signal.SIGKILL)
            for one in ranks:
                with contextlib.suppress(OSError):
                    os.waitpid(one.pid, 0)
                one.line.close()


class _Watched:
    """The first process's view of a rank, based on its messages."""

    def __init__(self, rank: int, pid: int, line: Any):
        self.rank, self.pid, self.line = rank, pid, line
        self.calls: list[Call] = []
        self.needs: list[Any] = []  # of each call: what its partners must have done, how often, who
        self.done: Counter[str] = Counter()
        self.waits: int | None = None
        self.result: tuple[Any] | None = None

    def hear(self) -> None:
        """Handles one message."""
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
            if "by peer" in text:  # gloo lost the connection: another rank died, and is reported
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
        """Whether it is busy, or its partners have reached the call that it waits for."""
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
    """Listens to all ranks until each has returned."""
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
        # Ranks report a call before they make it, so an unreported call has not been made.
        if not active:
            raise DeadlockError(f"{first}, and nobody could go on; {others}")
        if time.monotonic() - last > timeout:
            raise RankHungError(f"{first}, and nothing happened for {timeout:g} s; {others}")
    return [Rank(one.result[0], one.calls) for one in ranks if one.result]


def _become(
    rank: int, world: int, folder: str, line: Any, function: Callable[..., Any], given: list[Any]
) -> None:
    """The main function of a new process; never returns."""

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
        gc.freeze()  # the first process cleans up what existed before
        sys.stdout = sys.stderr = _Printed(say)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # gloo's last messages, about its own sources
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
    while True:  # others may still need what this one sent; the first process ends it
        signal.pause()


# Methods of a process group, without underscores: the recorded name, and the index of the argument
# with the input tensors. The longest matching prefix is used.
_NAMES = {
    "send": ("send", 0), "recv": ("recv", 0), "broadcast": ("broadcast", 0),
    "reduce": ("reduce", 0), "allreduce": ("all_reduce", 0), "allgather": ("all_gather", 1),
    "gather": ("gather", 1), "scatter": ("scatter", 1), "alltoall": ("all_to_all", 1),
    "reducescatter": ("reduce_scatter", 1), "barrier": ("barrier", 9),
    "monitoredbarrier": ("barrier", 9),
}  # fmt: skip


def _note_calls(say: Callable[..., None]) -> None:
    """Reports each call before it is made, in the process group, which all functions use."""
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
    """Returns the peer, the size, the key of this call, the key of its counterparts, and their
    ranks."""
    size = _size(args[place]) if len(args) > place else 0
    ranks, where = dist.get_process_group_ranks(group), group.group_name
    if name not in ("send", "recv"):
        return -1, size, f"{name} {where}", f"{name} {where}", ranks
    if len(args) < 3:  # receives from any rank
        return -1, size, "recv any", "", []
    me, peer = dist.get_rank(), ranks[args[1]]
    ends = f"{where} {args[2]} {(me, peer) if name == 'send' else (peer, me)}"
    return peer, size, f"{name} {ends}", f"{'recv' if name == 'send' else 'send'} {ends}", [peer]


def _size(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    return sum(map(_size, value)) if isinstance(value, (list, tuple)) else 0


def _line(error: BaseException) -> int:
    """Returns the line in the user's code where it happened; 0 if unknown."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if "-packages" not in frame.filename and frame.filename != _line.__code__.co_filename:
            return frame.lineno or 0
    return 0


class _Printed(io.TextIOBase):
    """Sends a rank's output to the first process, line by line."""

    def __init__(self, say: Callable[..., None]):
        self._say, self._rest = say, ""

    def write(self, text: str) -> int:
        """Buffers an incomplete line."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._say("prints", line)
        return len(text)
