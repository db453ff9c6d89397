"""The least time that work can take on a machine, by its profile."""

from __future__ import annotations

import math

from grader.errors import SetupError
from grader.runtime.machine.records import Cache, Figure, MachineProfile

# What may stand in for what: whoever must compute in fp16 may as well do it in fp32, if that is
# faster here, but not the other way round. Products of int8 are exact in all the others.
_STAND_INS = {
    "fp64": ("fp64",),
    "fp32": ("fp32", "fp64"),
    "tf32": ("tf32", "fp32", "fp64"),
    "bf16": ("bf16", "tf32", "fp32", "fp64"),
    "fp16": ("fp16", "tf32", "fp32", "fp64"),
    "int8": ("int8", "fp16", "bf16", "tf32", "fp32", "fp64"),
}
# Where the system says nothing of its caches, whatever may fit in some cache is not held against
# the bandwidth of memory.
_UNKNOWN = (Cache(level=1, size=256 << 20),)
_FIX = "measure this machine again with `grader calibrate`"


def roofline_seconds(
    profile: MachineProfile,
    *,
    flops: float,
    bytes_moved: float,
    dtype: str = "fp32",
    threads: int | None = None,
    device: str = "cpu",
) -> float:
    """The least time in seconds for *flops* operations over *bytes_moved* bytes of memory.

    That is the larger of both terms of the roofline model (Williams, Waterman and Patterson,
    "Roofline: an insightful visual performance model", 2009): operations over the peak rate, and
    bytes over the bandwidth. *bytes_moved* counts each byte once that must be read, and each once
    that must be written, however often the program really goes over it. What fits in the caches
    may come from there: of B bytes, at least B - C must come from beyond caches of C bytes
    altogether, so the memory term is the largest of (B - C) / bandwidth beyond C over all levels.

    Every rate is the best sample of its figure, not the median: a bound has to hold on a quiet
    machine too. *threads* is how many threads may work (None: all CPUs of the profile); it means
    nothing on `cuda`. Raises SetupError when the profile lacks the figures.
    """
    for name, value in (("flops", flops), ("bytes_moved", bytes_moved)):
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name} is {value}, which is not an amount of work")
    if threads is not None and threads < 1:
        raise ValueError(f"threads is {threads}, and one is the least")
    cpus = profile.hardware.usable_cpus
    workers = min(threads or cpus, cpus)
    compute = flops / peak_rate(profile, dtype, workers, device=device) if flops else 0.0
    return max(compute, _memory_seconds(profile, bytes_moved, workers, device))


def peak_rate(
    profile: MachineProfile, dtype: str, threads: int = 1, *, device: str = "cpu"
) -> float:
    """The most operations of *dtype* a second that *threads* threads can do, in FLOP/s.

    It is the best of what was measured, of *dtype* or of any other that can stand in for it, and
    never less than so many times what one thread reached: cores do not disturb each other much
    here, and a profile from a busy machine must not call honest work too fast.
    """
    if dtype not in _STAND_INS:
        raise ValueError(f"dtype is '{dtype}', which is none of {', '.join(_STAND_INS)}")
    names = {f"matmul.{one}" for one in _STAND_INS[dtype]}
    found = [f for f in profile.figures if f.device == device and f.name in names]
    if not found:
        raise SetupError(f"the profile has no peak rate for {dtype} on {device}", fix=_FIX)
    return max(_reach([f for f in found if f.name == name], threads, linear=True) for name in names)


def peak_bandwidth(
    profile: MachineProfile, threads: int = 1, *, level: int | None = None, device: str = "cpu"
) -> float:
    """The most bytes a second from the cache of *level*, or from memory for None, in B/s.

    A level's bandwidth is never less than that of what lies beyond it: what was measured of slow
    things bounds the fast ones too.
    """
    caches = _caches(profile, device)
    families = {"memory", *(f"cache.L{c.level}" for c in caches if level and c.level >= level)}
    if level and caches == _UNKNOWN:
        families.add("sweep")
    found = [
        f for f in profile.figures if f.device == device and f.name.rpartition(".")[0] in families
    ]
    if not found:
        raise SetupError(f"the profile has no memory bandwidth of {device}", fix=_FIX)
    return max(
        _reach([f for f in found if f.name == name], threads, linear=not name.startswith("memory."))
        for name in {f.name for f in found}
    )


def _reach(figures: list[Figure], threads: int, *, linear: bool) -> float:
    """The most that *threads* threads can reach, by the figures of one name.

    So many times what one thread did is always a bound. What a team really did is a tighter one
    for memory, which is shared (not *linear*), but only where it is well known: another program
    that used memory at the time would have made it too low.
    """
    if not figures:
        return 0.0
    best = max(f.best for f in figures)
    if figures[0].device != "cpu":
        return best
    small = [f for f in figures if (f.threads or 1) <= threads]
    scaled = max((f.best * threads / (f.threads or 1) for f in small), default=best)
    known = any(f.settled and (f.threads or 1) >= threads for f in figures)
    return min(scaled, best) if known and not linear else scaled


def _memory_seconds(
    profile: MachineProfile, bytes_moved: float, threads: int, device: str
) -> float:
    if not bytes_moved:
        return 0.0
    caches = _caches(profile, device)
    held, most = 0.0, 0.0
    # By and by outwards: what the caches passed so far can hold need not come from further out.
    for level in [*(c.level for c in caches), None]:
        beyond = max(0.0, bytes_moved - held)
        most = max(most, beyond / peak_bandwidth(profile, threads, level=level, device=device))
        held += sum(c.total for c in caches if c.level == level)
    return most


def _caches(profile: MachineProfile, device: str) -> tuple[Cache, ...]:
    """The caches of *device* whose bandwidth is known; or one that is surely large enough."""
    if device == "cpu":
        known = profile.hardware.caches
    elif profile.gpu and profile.gpu.l2_bytes:
        known = (Cache(level=2, size=profile.gpu.l2_bytes),)
    else:
        known = ()
    levels = {
        f.name.split(".")[1]
        for f in profile.figures
        if f.device == device and f.name.startswith("cache.")
    }
    return tuple(c for c in known if f"L{c.level}" in levels) or _UNKNOWN
