"""What the system says about the machine: processor, caches, memory, versions, settings."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from grader import __version__
from grader.runtime.machine.records import Cache, Hardware, Software

_CPUS = Path("/sys/devices/system/cpu")
_GROUPS = Path("/sys/fs/cgroup")
# Vector and matrix instructions; the rest of a processor's flags says nothing about peak rates.
_FEATURES = re.compile(
    r"sse4_2|avx\w*|fma|f16c|amx_\w+|asimd\w*|neon|fphp|sve\w*|i8mm|bf16|sme2?|sme_\w+", re.ASCII
)
_VARIABLES = (
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "CUDA_VISIBLE_DEVICES",
)
_LONGEST = 200


def look_at_hardware() -> Hardware:
    """The machine as the system describes it; it measures nothing and takes no time."""
    facts = _cpu_facts()
    usable = usable_cpus()
    return Hardware(
        cpu=(facts.get("model name") or platform.processor() or platform.machine())[:_LONGEST],
        architecture=platform.machine(),
        logical_cpus=os.cpu_count() or 1,
        usable_cpus=usable,
        physical_cores=_physical_cores(),
        numa_nodes=len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
        features=_features(facts),
        caches=tuple(caches()),
        memory_bytes=_memory("MemTotal"),
        available_bytes=available_bytes(),
        governor=_text(_CPUS / "cpu0/cpufreq/scaling_governor"),
        max_mhz=_max_mhz(),
        virtual="hypervisor" in facts["flags"].split() if "flags" in facts else None,
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    )


def look_at_software() -> Software:
    """Versions and settings, without importing what is heavy."""
    return Software(
        system=platform.system(),
        kernel=platform.release(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        grader=__version__,
        numpy=_version("numpy"),
        torch=_version("torch"),
        variables={n: os.environ[n][:_LONGEST] for n in _VARIABLES if n in os.environ},
    )


def usable_cpus() -> int:
    """CPUs that this process may use at a time, by its affinity and by its cgroup's quota."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    quota = (_text(_GROUPS / "cpu.max") or "").split()
    if len(quota) == 2 and all(part.isdecimal() for part in quota):
        count = min(count, max(1, round(int(quota[0]) / max(1, int(quota[1])))))
    return max(1, count)


def available_bytes() -> int | None:
    """Memory that can be had without swapping, by the system and by the cgroup's limit."""
    free = _memory("MemAvailable")
    limit, used = _text(_GROUPS / "memory.max"), _text(_GROUPS / "memory.current")
    if limit and used and limit.isdecimal() and used.isdecimal():
        left = max(0, int(limit) - int(used))
        free = left if free is None else min(free, left)
    return free


def caches() -> Iterator[Cache]:
    """The caches for data from level 1 on, as far as the CPUs that may be used share in them."""
    if sys.platform == "darwin":
        yield from _caches_of_a_mac()
        return
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}
    found: dict[int, dict[str, int]] = {}
    for cpu in sorted(mine):
        for folder in (_CPUS / f"cpu{cpu}/cache").glob("index[0-9]*"):
            words, size = _text(folder / "level"), _size(_text(folder / "size"))
            if words and words.isdecimal() and size and _text(folder / "type") != "Instruction":
                shared = _text(folder / "shared_cpu_list") or str(cpu)
                found.setdefault(int(words), {})[shared] = size
    for level in sorted(found):
        sizes = found[level].values()
        # Where cores differ, the largest cache: what bounds the rest from above.
        yield Cache(level=level, size=max(sizes), instances=len(sizes))


def _size(text: str | None) -> int:
    """Bytes of a size as /sys writes it, such as `32K`; 0 where it says nothing."""
    match = re.fullmatch(r"(\d{1,12})([KMG]?)", text or "", re.ASCII)
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]] if match else 0


def _caches_of_a_mac() -> Iterator[Cache]:
    cpus = usable_cpus()
    for level, name in ((1, "hw.l1dcachesize"), (2, "hw.l2cachesize"), (3, "hw.l3cachesize")):
        size = _sysctl(name)
        if size:
            yield Cache(level=level, size=size, instances=cpus if level == 1 else 1)


def _sysctl(name: str) -> int:
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - one of our own names
            ["/usr/sbin/sysctl", "-n", name],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    return int(done.stdout) if done.stdout.strip().isdecimal() else 0


def _cpu_facts() -> dict[str, str]:
    """The first processor in /proc/cpuinfo: name to value."""
    text = _text(Path("/proc/cpuinfo")) or ""
    first = text.split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _features(facts: dict[str, str]) -> tuple[str, ...]:
    flags = (facts.get("flags") or facts.get("Features") or "").split()
    return tuple(sorted({flag for flag in flags if _FEATURES.fullmatch(flag)}))


def _physical_cores() -> int | None:
    cores = {_text(path) for path in _CPUS.glob("cpu[0-9]*/topology/core_cpus_list")} - {None}
    return len(cores) or None


def _max_mhz() -> float | None:
    khz = _text(_CPUS / "cpu0/cpufreq/cpuinfo_max_freq")
    return int(khz) / 1000 if khz and khz.isdecimal() else None


def _memory(name: str) -> int | None:
    match = re.search(rf"^{name}:\s+(\d+) kB", _text(Path("/proc/meminfo")) or "", re.MULTILINE)
    if match:
        return int(match[1]) * 1024
    if name == "MemTotal" and sys.platform == "darwin":
        return _sysctl("hw.memsize") or None
    return None


def _text(path: Path) -> str | None:
    """What one of the system's files says; None where it is not there."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
