"""Profiles of machines for tests: valid by default; a test changes one thing."""

from __future__ import annotations

from typing import Any

from grader.runtime.machine.records import (
    CacheLevel,
    Hardware,
    MachineProfile,
    MeasuredFigure,
    Software,
    unit_of,
)

GB = 1e9
KIB, MIB = 1 << 10, 1 << 20


def a_figure(name: str = "matmul.fp32", value: float = 100 * GB, **changes: Any) -> MeasuredFigure:
    best = value * (0.9 if unit_of(name) == "s" else 1.1)
    given_: dict[str, Any] = {
        "name": name, "unit": unit_of(name), "median": value, "low": value, "high": value,
        "q1": value, "q3": value, "best": best, "count": 9, "settled": True, "how": "made up",
    }  # fmt: skip
    return MeasuredFigure(**{**given_, **changes})


def a_profile(*figures: MeasuredFigure, **changes: Any) -> MachineProfile:
    hard = Hardware(
        cpu="Test (R) [bold]CPU", architecture="x86_64", logical_cpus=4, usable_cpus=4,
        caches=(
            CacheLevel(level=1, size=32 * KIB, instances=4),
            CacheLevel(level=2, size=MIB, instances=4),
            CacheLevel(level=3, size=16 * MIB),
        ),
    )  # fmt: skip
    soft = Software(system="Linux", kernel="6.1", python="CPython 3.12.1", grader="0.1.0")
    given_: dict[str, Any] = {
        "taken": "2026-01-02T03:04:05+00:00", "seconds": 12.5, "device": "cpu", "quick": False,
        "hardware": hard, "software": soft, "figures": figures or (a_figure(),),
    }  # fmt: skip
    return MachineProfile(**{**given_, **changes})


def a_roof() -> MachineProfile:
    """100 and 50 GFLOP/s a thread; 20 GB/s of memory."""
    return a_profile(
        a_figure("matmul.fp32", 90 * GB, threads=1, best=100 * GB),
        a_figure("matmul.fp64", 45 * GB, threads=1, best=50 * GB),
        a_figure("matmul.fp16", 2 * GB, threads=1, best=3 * GB),
        a_figure("memory.read", 18 * GB, threads=1, best=20 * GB),
        a_figure("memory.read", 28 * GB, threads=4, best=30 * GB),
    )
