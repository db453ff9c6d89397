"""Turns the results into a Markdown table, and with `--docs` into the documentation.

python benchmarks/report.py [--results benchmarks/results] [--docs]
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import figures
from figures import Figure

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
FILE = "results.md"
_NONE = "–"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    rule = ["---", *["--:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def text(results: Path) -> str:
    """Everything there are results for."""
    return "\n\n".join(_sections(results)) + "\n"


def _sections(results: Path) -> Iterator[str]:
    graded = figures.read(results, "throughput.json")
    if graded:
        yield _machine(graded["machine"], graded["runs"])
        yield from _throughput(graded["runs"])
        yield from _memory(graded["runs"])
    staged = figures.read(results, "stages.json")
    if staged:
        yield from _stages(staged)
    grown = figures.read(results, "growth.json")
    if grown:
        yield from _growth(grown)


def _machine(found: dict[str, Any], runs: Sequence[dict[str, Any]]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in found["packages"].items())
    middle, worst = figures.elsewhere(runs)
    return (
        f"{found['date']}, {found['cores']} cores ({found['processor']}), "
        f"{found['memory_gb']:.0f} GB, {found['system']}, Python {found['python']}, {versions}. "
        f"Other work on the machine took {middle:.2f} of its cores during the median run, and "
        f"{worst:.2f} during the worst."
    )


def _throughput(runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield _summary(figures.largest(runs))
    for size in figures.sizes(runs):
        found = figures.throughput(runs, size)
        ours = next((f for f in found if f.name == "ours" and f.rounds), None)
        head = (
            f"A class of {size}", "wall s", "CPU s", "ms CPU each",
            "wall, × ours", "CPU, × ours", "runs",
        )  # fmt: skip
        yield table(head, [_row(f, ours) for f in found])
    further = [
        (f.label, *(_ms(figures.each_further(runs, f.name, what)) for what in ("wall", "cpu")))
        for f in figures.throughput(runs, figures.sizes(runs)[-1])
    ]
    if any(cell != _NONE for _, *cells in further for cell in cells):
        yield table(("One notebook more", "wall ms", "CPU ms"), further)
    layers = next((r["environment"] for r in runs if r.get("environment")), None)
    if layers:
        sandbox = layers["sandbox"]
        yield (
            f"`grader grade` ran {layers['kernel']} kernels behind these layers: "
            f"{', '.join(sandbox['layers'])}."
        )


def _summary(found: Sequence[Figure]) -> str:
    """What a notebook costs in the largest class that each has graded."""
    head = (
        "Cost of a notebook",
        "in a class of",
        "wall ms",
        "CPU ms",
        "wall, × ours",
        "CPU, × ours",
    )
    ours = next((f for f in found if f.name == "ours" and f.rounds), None)
    rows = []
    for figure in found:
        if not figure.rounds:
            rows.append([figure.label, f"failed: {figure.failed}", *[_NONE] * 4])
            continue
        ratios = [_NONE, _NONE]
        if ours is not None:
            ratios = [
                _times(figure.wall_each / ours.wall_each),
                _times(figure.cpu_each / ours.cpu_each),
            ]
        each = (f"{figure.wall_each * 1e3:.0f}", f"{figure.cpu_each * 1e3:.0f}")
        rows.append([figure.label, str(figure.students), *each, *ratios])
    return table(head, rows)


def _row(figure: Figure, ours: Figure | None) -> list[str]:
    if not figure.rounds:
        return [figure.label, f"failed: {figure.failed}", *[_NONE] * 5]
    ratios = [_NONE, _NONE]
    if ours is not None:
        ratios = [_times(figure.wall / ours.wall), _times(figure.cpu / ours.cpu)]
    note = f" (then failed: {figure.failed})" if figure.failed else ""
    return [
        figure.label + note,
        f"{figure.wall:.2f}",
        f"{figure.cpu:.2f}",
        f"{figure.cpu_each * 1e3:.0f}",
        *ratios,
        str(figure.rounds),
    ]


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.1f}" if ratio >= 0.95 else f"{ratio:.2f}"


def _ms(seconds: float | None) -> str:
    return _NONE if seconds is None else f"{seconds * 1e3:.0f}"


def _memory(runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    found = figures.memory(runs)
    if not found:
        return
    rows = [
        (
            m.label,
            f"{m.peak:.0f}",
            _NONE if m.dirty is None else f"{m.dirty:.0f}",
            _NONE if m.private is None else f"{m.private:.0f}",
        )
        for m in found
    ]
    head = (
        f"Memory, a class of {found[0].students}", "MB at the peak, all processes",
        "MB private to a kernel", "with pages of files that it alone has mapped",
    )  # fmt: skip
    yield table(head, rows)


def _stages(found: dict[str, Any]) -> Iterator[str]:
    rows = [
        (f"{row['stage']}, {row['parts']} parts", f"{row['ms']:.2f}", f"{row['per_second']:.0f}")
        for name in ("lab", "midterm", "forty")
        for row in found.get(name, ())
    ]
    yield table(("One core, no kernels", "CPU ms each", "each second"), rows)
    lines = []
    if "help" in found:
        both = found["help"]
        lines.append(
            f"`grader --help` takes {both['help']:.0f} ms, Python alone {both['python']:.0f} ms."
        )
    if "memory" in found:
        *seen, rate = found["memory"]
        first, last = seen[0], seen[-1]
        lines.append(
            f"Rendering {last['notebooks']:,} notebooks to disk one after another goes at "
            f"{rate['per_second']:.0f} a CPU-second, with {first['resident_mb']:.0f} MB resident "
            f"after the first {first['notebooks']:,} and {last['resident_mb']:.0f} MB at the end."
        )
    if "gate" in found:
        gate = found["gate"]
        lines.append(
            f"The gate verifies {gate['problems']} problems over {gate['seeds']} seeds in "
            f"{gate['seconds']:.1f} CPU-seconds."
        )
    yield " ".join(lines)


def _growth(found: dict[str, Any]) -> Iterator[str]:
    rows = {
        what: [r for r in found["rows"] if r["what"] == what] for what in ("executed", "grown")
    }  # fmt: skip
    for what, title in (("executed", "Executed for real"), ("grown", "Evidence made up")):
        good = [r for r in rows[what] if r.get("cpu")]
        if not good:
            continue
        last = good[-1]
        head = (
            f"{title}: CPU s", *(f"{r['students']:,}" for r in good), "grows as",
            f"wall s at {last['students']:,}",
        )  # fmt: skip
        yield table(
            head,
            [
                (
                    step,
                    *(f"{r['cpu'].get(step, math.nan):.3g}" for r in good),
                    _power(found["exponents"].get(step)),
                    f"{last['wall'][step]:.3g}",
                )
                for step in last["cpu"]
            ],
        )
    for row in found["rows"]:
        if "failed" in row:
            yield f"{row['students']:,} submissions, {row['what']}: failed: {row['failed']}"


def _power(exponent: float | None) -> str:
    return _NONE if exponent is None else f"n^{exponent:.2f}"


def into_docs(results: Path) -> None:
    """Puts the tables between the marks of the page, and the plots beside it."""
    page = DOCS / "reference" / "benchmarks.md"
    marked = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)
    old = page.read_text(encoding="utf-8")
    new = marked.sub(lambda m: f"{m[1]}\n{text(results)}\n{m[2]}", old)
    page.write_text(new, encoding="utf-8")
    for plot in results.glob("bench-*.svg"):
        shutil.copy(plot, DOCS / "images" / plot.name)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--docs", action="store_true", help="also write docs/")
    chosen = parser.parse_args()
    written = text(chosen.results)
    (chosen.results / FILE).write_text(written, encoding="utf-8")
    print(written)
    if chosen.docs:
        into_docs(chosen.results)


if __name__ == "__main__":
    main()
