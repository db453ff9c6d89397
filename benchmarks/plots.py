"""The plots: bars for throughput and memory, lines for growth. Plain SVG on an opaque ground.

    python benchmarks/plots.py [--results benchmarks/results] [--format svg]

Needs matplotlib: `pip install -e ".[bench]"`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import figures
import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

INK, SOFT, GRID = "#1f2328", "#59636e", "#d1d9e0"
OURS, OTHERS, BARE = "#0969da", "#8c959f", "#bf8700"
_STYLE: Any = {
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.edgecolor": GRID,
    "axes.labelcolor": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": INK,
    "svg.hashsalt": "bench",
    "svg.fonttype": "path",
}
_SHOWN = ("ours", "ours-cold", "nbclient-two", "otter-two", "nbgrader", "floor-apart", "floor")
_STEPS = {
    "grader grade": "grader grade, 20 parts",
    "all pages and the report": "write all pages, 40 parts",
    "grader score": "grader score",
    "grader report, nothing new": "grader report, nothing new",
    "read all grades": "read all grades",
}


def colour(name: str) -> str:
    """Ours stands out; the floor is no grader."""
    return OURS if name.startswith("ours") else BARE if name.startswith("floor") else OTHERS


def _bars(axes: Axes, names: Sequence[str], values: Sequence[float], texts: Sequence[str]) -> None:
    places = range(len(values))
    axes.barh(places, values, color=[colour(n) for n in names], height=0.62)
    for place, value, text in zip(places, values, texts, strict=True):
        axes.annotate(
            text, (value, place), xytext=(5, 0), textcoords="offset points", va="center"
        )  # fmt: skip
    axes.set_yticks(places)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.set_xlim(0, max(values) * 1.32)
    axes.spines["left"].set_visible(False)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{value * 1e3:.0f} ms"


def throughput(runs: Sequence[dict[str, Any]], path: Path) -> None:
    """Wall and CPU time a notebook, everybody on the largest class that they graded."""
    found = {f.name: f for f in figures.largest(runs) if f.rounds}
    shown = [found[n] for n in _SHOWN if n in found]
    ours = found.get("ours")
    if ours is None or len(shown) < 2:
        return
    figure, both = plt.subplots(1, 2, figsize=(9.6, 0.42 * len(shown) + 1.3), sharey=True)
    for axes, what, title in (
        (both[0], "wall_each", "Time a notebook (size of the class)"),
        (both[1], "cpu_each", "CPU time a notebook"),
    ):
        values = [getattr(f, what) for f in shown]
        mine = getattr(ours, what)
        texts = [_seconds(v) + (f"  ({v / mine:.0f}×)" if v > 1.5 * mine else "") for v in values]
        _bars(axes, [f.name for f in shown], values, texts)
        axes.set_title(title, loc="left", fontsize=11, color=INK)
        axes.set_xlabel("seconds")
    both[0].set_yticklabels([f"{f.label} ({f.students})" for f in shown])
    figure.tight_layout()
    _save(figure, path)


def memory(runs: Sequence[dict[str, Any]], path: Path) -> None:
    """Private memory of one kernel."""
    found = {m.name: m for m in figures.memory(runs) if m.dirty is not None}
    shown = [found[n] for n in _SHOWN if n in found]
    if len(shown) < 2:
        return
    figure, axes = plt.subplots(figsize=(6.4, 0.42 * len(shown) + 1.3))
    values = [m.dirty or 0.0 for m in shown]
    _bars(axes, [m.name for m in shown], values, [f"{v:.0f} MB" for v in values])
    axes.set_yticklabels([m.label for m in shown])
    axes.set_title("Private memory of one kernel", loc="left", fontsize=11)
    axes.set_xlabel("MB that no other process shares")
    figure.tight_layout()
    _save(figure, path)


def growth(rows: Sequence[dict[str, Any]], fitted: dict[str, float | None], path: Path) -> None:
    """CPU-seconds by size of the class, both logarithmic."""
    figure, axes = plt.subplots(figsize=(8.4, 4.6))
    ends = []
    for step, label in _STEPS.items():
        points = sorted(
            (row["students"], row["cpu"][step])
            for row in rows
            if step in row.get("cpu", {})
        )  # fmt: skip
        if len(points) < 2:
            continue
        sizes, seconds = zip(*points, strict=True)
        line = OURS if step == "grader grade" else INK
        axes.plot(sizes, seconds, color=line, marker="o", markersize=4, linewidth=1.6)
        slope = fitted.get(step)
        ends.append(
            (sizes[-1], seconds[-1], label + (f"  $n^{{{slope:.2f}}}$" if slope else ""), line)
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    _label_ends(axes, ends)
    axes.set_xlabel("submissions")
    axes.set_ylabel("CPU-seconds")
    axes.grid(visible=True, which="major", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(which="minor", length=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    figure.tight_layout()
    _save(figure, path)


def _label_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """A label right of each line's last point, moved up where two would touch."""
    low, high = axes.get_ylim()
    apart = (high / low) ** 0.055  # of the height of a logarithmic axis
    last = None
    for x, y, text, line in sorted(ends, key=lambda end: (end[0], end[1])):
        place = y if last is None or last[0] != x else max(y, last[1] * apart)
        axes.annotate(
            text, (x, place), xytext=(8, 0), textcoords="offset points", va="center", color=line,
            fontsize=9,
        )  # fmt: skip
        last = (x, place)


def _save(figure: Any, path: Path) -> None:
    metadata = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, metadata=metadata, dpi=160)
    plt.close(figure)
    print(f"  {path.name}")


def draw(results: Path, kind: str = "svg") -> None:
    """All plots for which there are results."""
    with mpl.rc_context(_STYLE):
        runs = figures.read(results, "throughput.json").get("runs", [])
        if figures.sizes(runs):
            throughput(runs, results / f"bench-throughput.{kind}")
        memory(runs, results / f"bench-memory.{kind}")
        grown = figures.read(results, "growth.json")
        if grown:
            growth(grown["rows"], grown["exponents"], results / f"bench-growth.{kind}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--format", default="svg", choices=["svg", "png"])
    chosen = parser.parse_args()
    draw(chosen.results, chosen.format)


if __name__ == "__main__":
    main()
