"""Overheads of a bare interpreter: a call, a thread, a process; and the loopback network."""

from __future__ import annotations

import multiprocessing
import multiprocessing.process
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat

from grader.runtime.machine.bench import Assignment, Bench

_CHUNK = 1 << 18
_PATIENCE = 20.0
_HEADER = struct.Struct("!Q")


def count(assignment: Assignment) -> int:
    """How many figures `measure` makes."""
    del assignment
    return 6 if sys.platform != "win32" else 5


def measure(bench: Bench) -> None:
    """All of them; this process should have loaded nothing heavy, which a fork would copy."""
    _call(bench)
    with bench.trying("thread.start"):
        bench.timed(
            "thread.start",
            _thread,
            how="A Python thread that does nothing, started and joined.",
        )
    for method in ("fork", "spawn"):
        if method in multiprocessing.get_all_start_methods():
            with bench.trying(f"process.{method}"):
                _process(bench, method)
        else:
            bench.leave_out(f"process.{method}", f"there is no {method} on {sys.platform}")
    with bench.trying("loopback", "allow connections to 127.0.0.1"):
        _loopback(bench)


def _nothing() -> None:
    pass


def _call(bench: Bench) -> None:
    calls = 1_000 if bench.assignment.quick else 10_000

    def sample() -> float:
        # The empty loop is timed beside each sample, as both change with the clock frequency.
        while True:
            start = time.perf_counter()
            for _ in repeat(None, calls):
                pass
            between = time.perf_counter()
            for _ in repeat(None, calls):
                _nothing()
            end = time.perf_counter()
            seconds = (end - between) - (between - start)
            if seconds > 0:  # else something else had the CPU during the empty loop
                return seconds / calls

    bench.sampled(
        "call.python",
        sample,
        how="A call of an empty Python function, less the time of the loop around it.",
    )


def _thread() -> None:
    thread = threading.Thread(target=_nothing)
    thread.start()
    thread.join()


def _process(bench: Bench, method: str) -> None:
    context = multiprocessing.get_context(method)

    def work() -> None:
        # `time.sleep` and not a function of ours, which a spawned process would have to import.
        process: multiprocessing.process.BaseProcess = context.Process(  # type: ignore[attr-defined]
            target=time.sleep, args=(0,)
        )
        process.start()
        process.join()
        if process.exitcode:
            raise RuntimeError(f"the new process ended with {process.exitcode}")
        process.close()

    bench.timed(
        f"process.{method}",
        work,
        how=f"A multiprocessing.Process by {method} that does nothing, started and joined, from "
        "an interpreter without numpy or torch.",
    )


def _loopback(bench: Bench) -> None:
    size = (16 if bench.assignment.quick else 64) << 20
    with _connected() as line:
        bench.timed(
            "loopback.latency",
            lambda: _round_trip(line),
            how="The round trip of one byte to another process over TCP on 127.0.0.1 with "
            "TCP_NODELAY.",
        )

        block = memoryview(bytearray(b"x" * _CHUNK))

        def send() -> None:
            line.sendall(_HEADER.pack(size))
            for _ in range(size // _CHUNK):
                line.sendall(block)
            line.recv(1)

        bench.timed(
            "loopback.bandwidth",
            send,
            amount=size,
            how=f"{size >> 20} MiB to another process over TCP on 127.0.0.1, in blocks of "
            f"{_CHUNK >> 10} KiB, until it says that all has come.",
        )


def _round_trip(line: socket.socket) -> None:
    line.sendall(_HEADER.pack(0))
    if not line.recv(1):
        raise RuntimeError("the other end of the loopback has gone")


@contextmanager
def _connected() -> Iterator[socket.socket]:
    """A connection to a process of our own that answers until it is closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(_PATIENCE)
        peer = multiprocessing.Process(target=answer, args=(server.getsockname()[1],), daemon=True)
        peer.start()
        try:
            line, _ = server.accept()
            with line:
                line.settimeout(_PATIENCE)
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                yield line
        finally:
            peer.join(1)
            peer.kill()
            peer.join()


def answer(port: int) -> None:
    """The other end: a header says how many bytes follow, and one byte says that all have come."""
    with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        room = memoryview(bytearray(_CHUNK))
        while head := line.recv(_HEADER.size, socket.MSG_WAITALL):
            (left,) = _HEADER.unpack(head)
            while left:
                got = line.recv_into(room, min(left, _CHUNK))
                if not got:
                    return
                left -= got
            line.sendall(b"k")
