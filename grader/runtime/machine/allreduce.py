"""All-reduce by gloo between two processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path

from grader.runtime.machine.bench import Assignment, Bench

_PATIENCE = 30.0


def count(assignment: Assignment) -> int:
    """How many figures `measure` makes."""
    del assignment
    return 2


@contextmanager
def partner() -> Iterator[Callable[[Bench], None]]:
    """The second process, made now; and the function that measures with it.

    On Linux it is forked from this process, which should have imported torch and started no
    threads: that costs nothing, where a new process would import torch once more.
    """
    method = "fork" if sys.platform == "linux" else "spawn"
    context = multiprocessing.get_context(method)
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        ours, theirs = context.Pipe()
        store = str(Path(folder) / "store")
        peer = context.Process(target=_peer, args=(theirs, ours, store), daemon=True)  # type: ignore[attr-defined]
        peer.start()
        theirs.close()
        try:
            yield lambda bench: _measure(bench, ours, store)
        finally:
            ours.close()
            peer.join(1)
            peer.kill()
            peer.join()


def _measure(bench: Bench, line: Connection, store: str) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    line.send_bytes(b"join")
    _join(0, store)
    try:
        _one(
            bench, line, "latency", 1,
            "Two processes sum one float32 by gloo over the loopback.",
        )  # fmt: skip
        numbers = (4 if bench.assignment.quick else 16) << 18
        _one(
            bench, line, "bandwidth", numbers,
            f"Two processes sum {numbers >> 18} MiB of float32 by gloo over the loopback; bytes of "
            "one tensor over the time, which for two is also what each sends.",
        )  # fmt: skip
    finally:
        dist.destroy_process_group()


def _one(bench: Bench, line: Connection, name: str, numbers: int, how: str) -> None:
    import torch

    tensor = torch.ones(numbers)
    calls = 50 if numbers == 1 else 1

    def sample() -> float:
        line.send_bytes(f"{numbers} {calls}".encode())
        tensor.fill_(1.0)
        seconds = _together(tensor, calls)
        return seconds if name == "latency" else tensor.nbytes / seconds

    bench.sampled(f"allreduce.{name}", sample, threads=1, working_set=tensor.nbytes, how=how)
    # Sums of ones are powers of two: each process must have added the other's part each time.
    if tensor[0].item() != 2.0**calls:
        raise RuntimeError("the processes did not get the sum")


def _together(tensor: object, calls: int) -> float:
    """The mean time of so many all-reduces, from when both are there."""
    import torch.distributed as dist

    dist.barrier()
    start = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(tensor)
    return (time.perf_counter() - start) / calls


def _peer(line: Connection, other_end: Connection, store: str) -> None:
    """The second process: does what it is told until the line is closed."""
    other_end.close()  # a copy of it would keep the line open when the first process has gone
    try:
        if not line.recv_bytes(64):
            return
        import torch

        torch.set_num_threads(1)
        _join(1, store)
        while True:
            numbers, calls = map(int, line.recv_bytes(64).split())
            _together(torch.ones(numbers), calls)
    except (EOFError, OSError):
        pass


def _join(rank: int, store: str) -> None:
    import torch.distributed as dist

    # The loopback, as a machine's own name may lead nowhere.
    loopback = {"linux": "lo", "darwin": "lo0"}.get(sys.platform)
    if loopback:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{store}",
        rank=rank,
        world_size=2,
        timeout=timedelta(seconds=_PATIENCE),
    )
