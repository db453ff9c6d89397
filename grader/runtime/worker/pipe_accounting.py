"""What a submission holds in pipes and sockets: memory of the system that is in no process's own.

What they can hold at most is quickly added up. Only where that would be too much is what is in
them looked at, with a copy of every descriptor.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import socket
import stat
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from grader.runtime.worker import syscalls
from grader.runtime.worker.descriptors import as_user, tables

_PIDFD_GETFD = 438
"""The same number on every processor (Linux 5.6)."""
_SO_MEMINFO, _MEMINFO = 55, struct.Struct("9I")
_FIONREAD = 0x541B
_FEW = 64
"""So many of a kind are taken to be as they were made, where they can't be looked into."""
_AS_MADE = {"pipe": 2**16, "socket": 2**18}
"""Bytes that one can hold then: 16 pages; 208 kB, and the last message on top."""


@dataclass(frozen=True, slots=True)
class Where:
    """The /proc that shows some processes, and what this one must know to look into them."""

    root: str = "/proc"
    uid: int | None = None
    """Who they are, if that is another user than this process."""
    alone: bool = False
    """Whether this process is in a network of theirs: all sockets of it are theirs."""


HERE = Where()


def most(pids: Iterable[int], room: int, where: Where) -> int:
    """Bytes that pipes and sockets of *pids* can hold; 0 where that is surely within *room*."""
    largest = _largest(where.root)
    # Quick means not to ask whether it is one of the internet, which can hold more.
    socket_most = max(largest["socket"], _streams(where.root))
    folders = [folder for pid in pids for folder in tables(pid, where.root)]
    with as_user(where.uid):
        count = sum(len(_names(folder)) for folder in folders)
        others = _others(where, ())
        if (count + others) * max(largest["pipe"], socket_most) <= room:
            return 0
        found = {what for folder in folders for what, _ in _queues(folder)}
    pipes = sum(_kind(what) == "pipe" for what in found)
    sockets = len(found) - pipes + _others(where, found)
    return pipes * largest["pipe"] + sockets * socket_most


def held(pids: Iterable[int], where: Where) -> int:
    """Bytes that they do hold, as near as that can be told."""
    largest = _largest(where.root)
    found: dict[str, tuple[int, int | None]] = {}
    for pid in pids:
        for folder in tables(pid, where.root):
            # A copy can be had of what the first thread has open; no honest one has a table.
            first = folder.endswith(f"/task/{pid}/fd")
            with as_user(where.uid):
                for what, number in _queues(folder):
                    found.setdefault(what, (pid, number if first else None))
    total = _others(where, found) * largest["socket"]
    closed = dict.fromkeys(largest, 0)
    ours = where.root == "/proc"  # else the system knows them by other numbers here
    for what, (pid, descriptor) in found.items():
        kind = _kind(what)
        try:
            if descriptor is None:
                total += largest[kind]
            elif ours:
                total += _inside(pid, descriptor, largest)
            else:
                closed[kind] += 1
        except OSError as error:
            closed[kind] += error.errno not in (errno.EBADF, errno.ESRCH)  # gone just now
    for kind, count in closed.items():
        total += count * _AS_MADE[kind] + max(count - _FEW, 0) * largest[kind]
    return total


def _kind(what: str) -> str:
    return what.partition(":")[0]


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []


def _queues(folder: str) -> Iterator[tuple[str, int]]:
    """Pipes and sockets in a table, such as `socket:[4711]`, each with a descriptor of it."""
    for name in _names(folder):
        with contextlib.suppress(OSError):
            what = os.readlink(f"{folder}/{name}")  # noqa: PTH115
            if what.startswith(("pipe:[", "socket:[")):
                yield what, int(name)


def _others(where: Where, seen: Iterable[str]) -> int:
    """Sockets of their network that no process has open: on their way, or waiting to be taken."""
    if not where.alone:
        return 0
    known = {what[len("socket:[") : -1] for what in seen}
    with contextlib.suppress(OSError), open(f"{where.root}/self/net/unix") as file:  # noqa: PTH123
        return sum(line.split()[6] not in known for line in file.readlines()[1:])
    return 0


@cache
def _largest(root: str) -> dict[str, int]:
    """The bytes that one pipe and one socket can hold here, when all has been asked for."""
    sent = 2 * _setting(root, "net/core/wmem_max", 2**22) + _AS_MADE["pipe"]
    return {"pipe": _setting(root, "fs/pipe-max-size", 2**20), "socket": sent}


@cache
def _streams(root: str) -> int:
    """The same for a socket of the internet."""
    return _setting(root, "net/ipv4/tcp_wmem", 0) + _setting(root, "net/ipv4/tcp_rmem", 0)


def _setting(root: str, name: str, usual: int) -> int:
    """The last number of a setting; *usual* where it isn't shown."""
    try:
        with open(f"{root}/sys/{name}") as file:  # noqa: PTH123
            return int(file.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return usual


def _inside(pid: int, descriptor: int, largest: dict[str, int]) -> int:
    """Bytes in a pipe or a socket of another process. Raises OSError."""
    itself = os.pidfd_open(pid)
    try:
        copy = syscalls.syscall(_PIDFD_GETFD, itself, descriptor, 0)
    finally:
        os.close(itself)
    if stat.S_ISSOCK(os.fstat(copy).st_mode):
        with socket.socket(fileno=copy) as sock:
            try:
                return _in_socket(sock, largest["socket"])
            finally:
                _let_go(sock)
    try:
        return fcntl.fcntl(copy, fcntl.F_GETPIPE_SZ) if _waiting(copy) else 0
    finally:
        os.close(copy)


def _in_socket(sock: socket.socket, largest: int) -> int:
    about = sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size)
    received, _, sent, _, _, queued, _, backlog, _ = _MEMINFO.unpack(about)
    total: int = received + max(sent, queued) + backlog
    # What was sent is in the account of who sent it, also when that one has been closed.
    if sock.family == socket.AF_UNIX and _waiting(sock.fileno()):
        poll = select.poll()
        poll.register(sock, select.POLLHUP)
        if sock.type == socket.SOCK_DGRAM or poll.poll(0):
            total += largest
    return total


def _waiting(file: int) -> int:
    """Bytes that can be read; 0 where there is nothing of the kind."""
    try:
        (count,) = struct.unpack("i", fcntl.ioctl(file, _FIONREAD, bytes(4)))
    except OSError:
        return 0
    return int(count)


def _let_go(sock: socket.socket) -> None:
    """Closes a copy. It may be the last, and of the internet: then that can take any time."""
    if sock.family == socket.AF_UNIX:
        sock.close()
        return
    import threading

    threading.Thread(target=os.close, args=(sock.detach(),), daemon=True).start()
