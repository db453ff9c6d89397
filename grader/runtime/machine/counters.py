"""What the processor and the system count of a process, read from outside of it (Linux).

`perf_event_open(2)` attaches to the threads that a process has, and to all threads and processes
that will come of them. The process knows nothing of it, and can neither stop nor change it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.errors import SetupError

_HARDWARE, _SOFTWARE = 0, 1
_INSTRUCTIONS, _PAGE_FAULTS = 1, 2
# Of user space alone: what the system does for a process differs from kernel to kernel.
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
_TIMES = 3
"""A reading is the count, and the nanoseconds that it was wanted and was there."""
_ENABLE, _DISABLE = 0x2400, 0x2401
_CLOSE_ON_EXEC = 1 << 3
_ATTRIBUTE_BYTES = 64
"""The first version of `struct perf_event_attr`, which every kernel takes."""
_SYSCALLS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_DEVICES = Path("/sys/bus/event_source/devices")
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_SHARED = 0.98
"""The least share of its time that a counter must have been there for."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that is counted."""

    name: str
    words: str
    kind: int
    number: int
    excluded: int = 0


EVENTS = {
    each.name: each
    for each in (
        Event(
            "instructions",
            "instructions in user space",
            _HARDWARE,
            _INSTRUCTIONS,
            _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR,
        ),
        Event("page_faults", "page faults", _SOFTWARE, _PAGE_FAULTS, _EXCLUDE_KERNEL),
    )
}
"""What a measurement may go by, by its name there."""


class UncountedError(SetupError):
    """This machine, or this user of it, can't count that."""


class Counter:
    """One event in a process, its threads, and all that will come of them, from now on.

    Counts between `start` and `stop`; each adds to what was counted before. Raises UncountedError
    when the system refuses, and when the process is gone.
    """

    def __init__(self, event: str, pid: int):
        self._event = EVENTS[event]
        self._files: list[int] = []
        try:
            for thread in _threads(pid):
                for kind in _kinds(self._event, _DEVICES):
                    self._files.append(_opened(self._event, kind, thread))
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Counts from here."""
        self._tell(_ENABLE)

    def stop(self) -> None:
        """Counts no more."""
        self._tell(_DISABLE)

    def read(self) -> int:
        """All that was counted. Raises UncountedError when something was missed."""
        total = wanted = there = 0
        for file in self._files:
            count, enabled, running = struct.unpack("QQQ", os.read(file, 24))
            total, wanted, there = total + count, wanted + enabled, there + running
        # On processors with two kinds of cores each has a counter, and a thread runs on one.
        kinds = len(_kinds(self._event, _DEVICES))
        if there * kinds < _SHARED * wanted:
            raise UncountedError(
                f"another program used the counter of {self._event.words} for part of the time",
                fix="end other programs that use counters, such as perf, and the NMI watchdog "
                "(sysctl kernel.nmi_watchdog=0)",
            )
        return total

    def close(self) -> None:
        """Lets go of the process."""
        while self._files:
            os.close(self._files.pop())

    def _tell(self, request: int) -> None:
        import fcntl

        for file in self._files:
            fcntl.ioctl(file, request, 0)


@contextmanager
def counting(event: str, pid: int) -> Iterator[Counter]:
    """A Counter, for as long as it is needed. Raises UncountedError."""
    counter = Counter(event, pid)
    try:
        yield counter
    finally:
        counter.close()


@cache
def uncounted(event: str) -> SetupError | None:
    """Why this process can't count *event* here, and what would help; None when it can.

    It is tried on this process itself: a counter that opens and stays at zero is none.
    """
    try:
        with counting(event, os.getpid()) as counter:
            counter.start()
            touched = bytearray(1 << 22)
            touched[:: 1 << 12] = b"x" * (1 << 10)
            counter.stop()
            if counter.read() > 0:
                return None
    except SetupError as error:
        return error
    what = EVENTS[event].words
    return UncountedError(f"the counter of {what} stays at zero here", fix=_OTHER_MACHINE)


_OTHER_MACHINE = (
    "grade these parts on a physical machine, or on a virtual one whose host exposes its "
    "performance counters"
)


def _threads(pid: int) -> list[int]:
    try:
        return [int(entry) for entry in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208
    except OSError:
        if sys.platform != "linux":
            raise UncountedError(
                f"{platform.system()} can't count this from outside of a process",
                fix="grade these parts on Linux",
            ) from None
        raise UncountedError("the process to count in has ended") from None


def _kinds(event: Event, devices: Path) -> tuple[int, ...]:
    """What stands in the upper half of the event's number: one for each kind of cores.

    Where all cores are alike that is nothing. Elsewhere each kind is a device that says which
    processors are of it.
    """
    if event.kind != _HARDWARE:
        return (0,)
    # Devices beside the cores, such as memory controllers, have a `cpumask` instead.
    cores = (one for one in sorted(devices.glob("*")) if (one / "cpus").is_file())
    found = [int((one / "type").read_text()) for one in cores if (one / "type").is_file()]
    return tuple(found) if len(found) > 1 else (0,)


def _opened(event: Event, kind: int, thread: int) -> int:
    number = _SYSCALLS.get(platform.machine())
    if number is None or sys.platform != "linux":
        raise UncountedError(
            f"{event.words} are not counted on {platform.system()} {platform.machine()}",
            fix=_OTHER_MACHINE,
        )
    attribute = struct.pack(
        "IIQQQQQ",
        event.kind,
        _ATTRIBUTE_BYTES,
        kind << 32 | event.number,
        0,
        0,
        _TIMES,
        _DISABLED | _INHERIT | event.excluded,
    ).ljust(_ATTRIBUTE_BYTES, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    asked = ctypes.create_string_buffer(attribute, _ATTRIBUTE_BYTES)
    minus = ctypes.c_int(-1)
    file = int(libc.syscall(number, asked, thread, minus, minus, ctypes.c_ulong(_CLOSE_ON_EXEC)))
    if file < 0:
        raise _refusal(event, ctypes.get_errno())
    return file


def _refusal(event: Event, number: int) -> UncountedError:
    """What `perf_event_open` says no with, in words."""
    what = event.words
    if number in (errno.EACCES, errno.EPERM):
        try:
            level = _PARANOID.read_text().strip()
        except OSError:
            level = "unknown"
        return UncountedError(
            f"this user may not count {what} (kernel.perf_event_paranoid is {level})",
            fix="run sysctl kernel.perf_event_paranoid=1, or grade as root, or give the container "
            "CAP_PERFMON and a seccomp profile that allows perf_event_open",
        )
    if number in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return UncountedError(
            f"the processor can't count {what} here, as in most virtual machines",
            fix=_OTHER_MACHINE,
        )
    if number == errno.ESRCH:
        return UncountedError("the process to count in has ended")
    if number == errno.ENOSYS:
        return UncountedError(
            f"the system's build or security policy does not allow counting {what}",
            fix=_OTHER_MACHINE,
        )
    return UncountedError(f"{what} can't be counted: {os.strerror(number)}", fix=_OTHER_MACHINE)
