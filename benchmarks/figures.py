"""Reads the results and works out what tables and plots show: medians, ratios, costs a notebook."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MB = 1e6


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One contender on one class."""

    name: str
    label: str
    students: int
    rounds: int = 0
    wall: float = 0.0
    """Seconds, the median of the rounds; as is `cpu`."""
    cpu: float = 0.0
    failed: str | None = None

    @property
    def wall_each(self) -> float:
        """Seconds a notebook."""
        return self.wall / self.students

    @property
    def cpu_each(self) -> float:
        """CPU-seconds a notebook."""
        return self.cpu / self.students


@dataclass(frozen=True, kw_only=True)
class Memory:
    """One contender's memory on a small class, in MB."""

    name: str
    label: str
    students: int
    peak: float
    dirty: float | None
    """Of the median kernel: what is its own alone and is no page of a file."""
    private: float | None
    """With pages of files that only it has mapped."""


def read(folder: Path, name: str) -> dict[str, Any]:
    """One of the result files; empty when it is not there."""
    try:
        found: dict[str, Any] = json.loads((folder / name).read_text())
    except FileNotFoundError:
        return {}
    return found


def sizes(runs: Sequence[dict[str, Any]]) -> list[int]:
    """The classes that were graded, upwards."""
    return sorted({r["students"] for r in runs if not r["memory"]})


def throughput(runs: Sequence[dict[str, Any]], size: int) -> list[Figure]:
    """Every contender that was run on the class of that size, or had failed before it could."""
    found = []
    for name in dict.fromkeys(r["contender"] for r in runs):
        mine = [r for r in runs if r["contender"] == name]
        here = [r for r in mine if r["students"] == size and not r["memory"]]
        good = [r for r in here if "failed" not in r]
        failed = next((r["failed"] for r in mine if "failed" in r), None)
        base = {"name": name, "label": mine[0]["label"], "students": size}
        if good:
            wall, cpu = (statistics.median(r[k] for r in good) for k in ("wall", "cpu"))
            found.append(Figure(**base, rounds=len(good), wall=wall, cpu=cpu, failed=failed))
        elif failed is not None:
            found.append(Figure(**base, failed=failed))
    return found


def largest(runs: Sequence[dict[str, Any]]) -> list[Figure]:
    """Every contender on the largest class that it graded, or with why it has graded none."""
    found: dict[str, Figure] = {}
    for size in sizes(runs):
        for figure in throughput(runs, size):
            if figure.rounds or figure.name not in found:
                found[figure.name] = figure
    return list(found.values())


def memory(runs: Sequence[dict[str, Any]]) -> list[Memory]:
    """Every contender whose memory was sampled."""
    found = []
    for run in runs:
        if not run["memory"] or "failed" in run:
            continue
        # A kernel that was made ready and never used holds less than one that ran a notebook.
        used = [k for k in run["kernels"] if k["dirty"] > 15 * MB]
        middle = {
            kind: statistics.median(k[kind] for k in used) / MB if used else None
            for kind in ("dirty", "private")
        }
        found.append(
            Memory(
                name=run["contender"],
                label=run["label"],
                students=run["students"],
                peak=run["peak_pss"] / MB,
                dirty=middle["dirty"],
                private=middle["private"],
            )
        )
    return found


def each_further(runs: Sequence[dict[str, Any]], name: str, what: str) -> float | None:
    """Seconds that one more notebook costs: the slope from the smallest class to the largest."""
    points = [
        (size, getattr(figure, what))
        for size in sizes(runs)
        for figure in throughput(runs, size)
        if figure.name == name and figure.rounds
    ]
    if len(points) < 2:
        return None
    (small, less), (large, more) = points[0], points[-1]
    return float(more - less) / (large - small)


def elsewhere(runs: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """CPU-seconds a second that others used meanwhile: the median run, and the worst."""
    seen = [r["busy_elsewhere"] for r in runs if "busy_elsewhere" in r]
    return (statistics.median(seen), max(seen)) if seen else (0.0, 0.0)
