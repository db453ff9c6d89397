"""Counts events of another process, such as its instructions (Linux only).

`perf_event_open(2)` attaches to the threads of a process, and to all threads and processes that
they will start. The process can neither notice it nor stop or change it.
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
from grader.runtime.worker.process_tree import list_threads

_HARDWARE, _SOFTWARE = 0, 1
_INSTRUCTIONS, _PAGE_FAULTS = 1, 2
# In user space only: what the system does for a process differs between its versions.
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
_TIMES = 3
"""Makes a reading contain the count, and the nanoseconds enabled and running."""
_ENABLE, _DISABLE = 0x2400, 0x2401
_CLOSE_ON_EXEC = 1 << 3
_ATTRIBUTE_BYTES = 64
"""The first version of `struct perf_event_attr`, which every kernel takes."""
_SYSCALLS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_DEVICES = Path("/sys/bus/event_source/devices")
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_SHARED = 0.98
"""The least share of the enabled time for which a counter must have run."""


@dataclass(frozen=True, slots=True)
class CounterEvent:
    """An event that the processor or the system counts."""

    name: str
    words: str
    kind: int
    number: int
    excluded: int = 0


EVENTS = {
    each.name: each
    for each in (
        CounterEvent(
            "instructions",
            "instructions in user space",
            _HARDWARE,
            _INSTRUCTIONS,
            _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR,
        ),
        CounterEvent("page_faults", "page faults", _SOFTWARE, _PAGE_FAULTS, _EXCLUDE_KERNEL),
    )
}
"""The events that a measurement can compare, by name."""


class CounterError(SetupError):
    """This machine can't count an event, or does not allow this user to."""


class Counter:
    """Counts one event in a process, its threads, and all that they will start.

    Counts between `start` and `stop`, and adds to the earlier count. Raises CounterError if the
    system refuses or the process has ended.
    """

    def __init__(self, event: str, pid: int):
        self._event = EVENTS[event]
        self._files: list[int] = []
        try:
            for thread in _list_threads(pid):
                for kind in _core_types(self._event, _DEVICES):
                    self._files.append(_open_counter(self._event, kind, thread))
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Starts counting."""
        self._control(_ENABLE)

    def stop(self) -> None:
        """Stops counting."""
        self._control(_DISABLE)

    def read(self) -> int:
        """Returns the count so far. Raises CounterError if some of it was missed."""
        total = wanted = there = 0
        for file in self._files:
            count, enabled, running = struct.unpack("QQQ", os.read(file, 24))
            total, wanted, there = total + count, wanted + enabled, there + running
        # On processors with two kinds of cores each has a counter, and a thread runs on one.
        kinds = len(_core_types(self._event, _DEVICES))
        if there * kinds < _SHARED * wanted:
            raise CounterError(
                f"another program used the counter of {self._event.words} for part of the time",
                fix="end other programs that use counters, such as perf, and the NMI watchdog "
                "(sysctl kernel.nmi_watchdog=0)",
            )
        return total

    def close(self) -> None:
        """Detaches from the process."""
        while self._files:
            os.close(self._files.pop())

    def _control(self, request: int) -> None:
        import fcntl

        for file in self._files:
            fcntl.ioctl(file, request, 0)


@contextmanager
def open_counter(event: str, pid: int) -> Iterator[Counter]:
    """Yields a Counter, for as long as it is needed. Raises CounterError."""
    counter = Counter(event, pid)
    try:
        yield counter
    finally:
        counter.close()


@cache
def find_counter_error(event: str) -> SetupError | None:
    """Returns why *event* can't be counted on this machine, and a fix; None if it can.

    Counts it in this process, since some machines offer a counter that stays at zero.
    """
    try:
        with open_counter(event, os.getpid()) as counter:
            counter.start()
            touched = bytearray(1 << 22)
            touched[:: 1 << 12] = b"x" * (1 << 10)
            counter.stop()
            if counter.read() > 0:
                return None
    except SetupError as error:
        return error
    what = EVENTS[event].words
    return CounterError(f"the counter of {what} stays at zero here", fix=_OTHER_MACHINE)


_OTHER_MACHINE = (
    "grade these parts on a physical machine, or on a virtual one whose host exposes its "
    "performance counters"
)


def _list_threads(pid: int) -> list[int]:
    if sys.platform != "linux":
        raise CounterError(
            f"{platform.system()} can't count this from outside of a process",
            fix="grade these parts on Linux",
        )
    found = list_threads(pid)
    if not found:
        raise CounterError("the process to count in has ended")
    return found


def _core_types(event: CounterEvent, devices: Path) -> tuple[int, ...]:
    """Returns the number of each type of cores, for the upper half of an event's number.

    If all cores are alike, that is only 0. Otherwise each type is a device in *devices*.
    """
    if event.kind != _HARDWARE:
        return (0,)
    # Devices beside the cores, such as memory controllers, have a `cpumask` instead.
    cores = (one for one in sorted(devices.glob("*")) if (one / "cpus").is_file())
    found = [int((one / "type").read_text()) for one in cores if (one / "type").is_file()]
    return tuple(found) if len(found) > 1 else (0,)


def _open_counter(event: CounterEvent, kind: int, thread: int) -> int:
    number = _SYSCALLS.get(platform.machine())
    if number is None:
        raise CounterError(
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
        raise _refusal_error(event, ctypes.get_errno())
    return file


def _refusal_error(event: CounterEvent, number: int) -> CounterError:
    """Returns the error for an errno of `perf_event_open`."""
    what = event.words
    if number in (errno.EACCES, errno.EPERM):
        try:
            level = _PARANOID.read_text().strip()
        except OSError:
            level = "unknown"
        return CounterError(
            f"this user may not count {what} (kernel.perf_event_paranoid is {level})",
            fix="run sysctl kernel.perf_event_paranoid=1, or grade as root, or give the container "
            "CAP_PERFMON and a seccomp profile that allows perf_event_open",
        )
    if number in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return CounterError(
            f"the processor can't count {what} here, as in most virtual machines",
            fix=_OTHER_MACHINE,
        )
    if number == errno.ESRCH:
        return CounterError("the process to count in has ended")
    if number == errno.ENOSYS:
        return CounterError(
            f"the system's build or security policy does not allow counting {what}",
            fix=_OTHER_MACHINE,
        )
    return CounterError(f"{what} can't be counted: {os.strerror(number)}", fix=_OTHER_MACHINE)
