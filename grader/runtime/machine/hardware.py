"""Reads what the system tells about the machine: processor, caches, memory, versions."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from grader import __version__
from grader.runtime.machine.records import CacheLevel, Hardware, Software
from grader.runtime.worker.process_tree import read_system_file

_CPUS = Path("/sys/devices/system/cpu")
_GROUPS = Path("/sys/fs/cgroup")
_LONGEST = 200


def read_hardware() -> Hardware:
    """Returns the machine as the system describes it, without measuring anything."""
    name = _find_in_file("/proc/cpuinfo", r"^model name\s*:\s*(.+)$")
    return Hardware(
        cpu=(name or platform.processor() or platform.machine())[:_LONGEST],
        architecture=platform.machine(),
        logical_cpus=os.cpu_count() or 1,
        usable_cpus=usable_cpus(),
        caches=tuple(iter_caches()),
        memory_bytes=_read_memory("MemTotal"),
        available_bytes=available_bytes(),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    )


def read_software() -> Software:
    """Returns versions, without importing anything large."""
    return Software(
        system=platform.system(),
        kernel=platform.release(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        grader=__version__,
        numpy=_package_version("numpy"),
        torch=_package_version("torch"),
    )


def usable_cpus() -> int:
    """Returns the number of CPUs that this process may use, by its affinity and cgroup quota."""
    count = len(_own_cpus())
    quota = read_system_file(_GROUPS / "cpu.max").split()
    if len(quota) == 2 and all(part.isdecimal() for part in quota):
        count = min(count, max(1, round(int(quota[0]) / max(1, int(quota[1])))))
    return max(1, count)


def available_bytes() -> int | None:
    """Returns the memory available without swapping, within the cgroup's limit; None if unknown."""
    free = _read_memory("MemAvailable")
    names = ("memory.max", "memory.current")
    limit, used = (read_system_file(_GROUPS / name).strip() for name in names)
    if limit.isdecimal() and used.isdecimal():
        unused = max(0, int(limit) - int(used))
        free = unused if free is None else min(free, unused)
    return free


def iter_caches() -> Iterator[CacheLevel]:
    """Yields the data caches that the usable CPUs share, from level 1 on."""
    caches: dict[int, dict[str, int]] = {}
    for cpu in sorted(_own_cpus()):
        for folder in (_CPUS / f"cpu{cpu}/cache").glob("index[0-9]*"):
            names = ("level", "size", "type", "shared_cpu_list")
            level, size, kind, shared = (read_system_file(folder / name).strip() for name in names)
            match = re.fullmatch(r"(\d{1,12})([KMG]?)", size, re.ASCII)
            if match and level.isdecimal() and kind != "Instruction":
                bits = {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]
                caches.setdefault(int(level), {})[shared or str(cpu)] = int(match[1]) << bits
    for number, sizes in sorted(caches.items()):
        # If cores differ, the largest cache, because it is an upper bound.
        yield CacheLevel(level=number, size=max(sizes.values()), instances=len(sizes))


def _own_cpus() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _read_memory(name: str) -> int | None:
    """Returns an amount in /proc/meminfo in bytes; None if unknown."""
    kilobytes = _find_in_file("/proc/meminfo", rf"^{name}:\s+(\d+) kB")
    return int(kilobytes) * 1024 if kilobytes else None


def _find_in_file(path: str, pattern: str) -> str | None:
    match = re.search(pattern, read_system_file(path), re.MULTILINE)
    return match[1].strip() if match else None


def _package_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def has_cuda() -> bool:
    """Returns whether this machine has an NVIDIA device, without importing a library for it."""
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None
