"""The minimum time that work can take on a machine, by its profile."""

from __future__ import annotations

from grader.errors import SetupError
from grader.runtime.machine.records import FIX, MachineProfile, MeasuredFigure

# Wider types may stand in for narrower ones if they are faster on this machine. Products of int8
# are exact in all of them.
_STAND_INS = {
    "fp64": ("fp64",),
    "fp32": ("fp32", "fp64"),
    "tf32": ("tf32", "fp32", "fp64"),
    "bf16": ("bf16", "tf32", "fp32", "fp64"),
    "fp16": ("fp16", "tf32", "fp32", "fp64"),
    "int8": ("int8", "fp16", "bf16", "tf32", "fp32", "fp64"),
}
_UNKNOWN_CACHE = 256 << 20
"""Assumed bytes of all caches if the system does not tell their sizes."""


def roofline_seconds(
    profile: MachineProfile,
    *,
    flops: float,
    bytes_moved: float,
    dtype: str = "fp32",
    threads: int | None = None,
    device: str = "cpu",
) -> float:
    """Returns the minimum time in seconds for *flops* operations over *bytes_moved* bytes.

    That is the larger of both terms of the roofline model (Williams, Waterman, and Patterson,
    "Roofline: an insightful visual performance model", 2009): operations over the peak rate, and
    bytes over the bandwidth. *bytes_moved* counts each byte that must be read or written once.
    Bytes that fit in the caches may come from there, so only the others need memory.

    Every rate is the best sample of its figure, not the median, because a bound must hold on an
    idle machine too. *threads* is the number of threads that may work (None: all CPUs of the
    profile); it is ignored on `cuda`. Raises SetupError if the profile lacks the figures.
    """
    cpus = profile.hardware.usable_cpus
    workers = min(threads or cpus, cpus)
    compute = flops / peak_rate(profile, dtype, workers, device=device) if flops else 0.0
    from_memory = max(0.0, bytes_moved - _cache_bytes(profile, device))
    if not from_memory:
        return compute
    return max(compute, from_memory / peak_bandwidth(profile, workers, device=device))


def peak_rate(
    profile: MachineProfile, dtype: str, threads: int = 1, *, device: str = "cpu"
) -> float:
    """Returns the peak rate of *dtype* with *threads* threads, in FLOP/s (op/s for int8).

    It is the highest measured rate of *dtype* or of any type that can stand in for it, and at least
    the rate of one thread times *threads*: a profile from a busy machine must not make honest work
    look too fast. Raises SetupError if the profile has no such figure.
    """
    if dtype not in _STAND_INS:
        raise ValueError(f"dtype is '{dtype}', but must be one of {', '.join(_STAND_INS)}")
    names = {f"matmul.{one}" for one in _STAND_INS[dtype]}
    figures = [f for f in profile.figures if f.device == device and f.name in names]
    if not figures:
        raise SetupError(f"the profile has no peak rate for {dtype} on {device}", fix=FIX)
    return max(_reachable_rate([f for f in figures if f.name == name], threads) for name in names)


def peak_bandwidth(profile: MachineProfile, threads: int = 1, *, device: str = "cpu") -> float:
    """Returns the peak memory bandwidth with *threads* threads, in B/s.

    Raises SetupError if the profile has no such figure.
    """
    figures = [f for f in profile.figures if f.device == device and f.name.startswith("memory.")]
    if not figures:
        raise SetupError(f"the profile has no memory bandwidth of {device}", fix=FIX)
    names = {f.name for f in figures}
    return max(
        _reachable_rate([f for f in figures if f.name == name], threads, shared=True)
        for name in names
    )


def _reachable_rate(figures: list[MeasuredFigure], threads: int, *, shared: bool = False) -> float:
    """Returns the most that *threads* threads can reach, by the figures of one name.

    The rate of one thread times *threads* is always a bound. The rate of a team is a tighter one
    for memory, which is *shared*, but only if it is certain: another program that used memory at
    the time would have made it too low.
    """
    best = max((f.best for f in figures), default=0.0)
    if not figures or figures[0].device != "cpu":
        return best
    small = [f for f in figures if (f.threads or 1) <= threads]
    scaled = max((f.best * threads / (f.threads or 1) for f in small), default=best)
    is_certain = any(f.settled and (f.threads or 1) >= threads for f in figures)
    return min(scaled, best) if shared and is_certain else scaled


def _cache_bytes(profile: MachineProfile, device: str) -> int:
    """Returns the total size of the caches of *device*, or an assumed one if it is unknown."""
    if device == "cpu":
        return sum(cache.total for cache in profile.hardware.caches) or _UNKNOWN_CACHE
    return (profile.gpu.l2_bytes if profile.gpu else None) or _UNKNOWN_CACHE
