"""The stages without kernels, each on one core: draw, render, score, the gate; and `--help`.

    python benchmarks/stages.py [--students 300] [--many 10000] [--repeats 5]

Times are CPU-seconds of this process, so that others on the machine matter little; the median of
the repeats counts. `--help` is wall time of whole processes, in turn with a Python that does
nothing. Memory is this process's own, while it renders as many notebooks as --many says.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import machine
import synthetic
from classes import BANK
from synthetic import forty_parts, students

from grader.bank.folders import Bank
from grader.draw import paper
from grader.grading.score import score
from grader.model import Release, Student
from grader.notebook import write
from grader.notebook.render import metadata, render
from grader.release.file import new_release
from grader.release.rendering import write_notebooks
from grader.verify import verify_problem

RESULTS = Path(__file__).resolve().parent / "results"
FILE = "stages.json"
_HELP_RUNS = 20
TEN = "lab"
"""The set of the exam in `bank/`."""


def cpu(what: Callable[[], object], repeats: int) -> float:
    """CPU-seconds, the median of *repeats*."""
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        what()
        taken.append(time.process_time() - began)
    return statistics.median(taken)


def per_core(bank: Bank, release: Release, size: int, repeats: int) -> list[dict[str, object]]:
    """Submissions a second a core, stage by stage."""
    group = list(release.students.values())
    drawn = [paper(release, s) for s in group]  # also compiles templates and expressions
    found = [synthetic.evidence(mine) for mine in drawn]
    pairs = list(zip(drawn, found, strict=True))
    parts = len(found[0].answers)

    def notebook(student: Student) -> bytes:
        mine = paper(release, student)
        return write(render(mine, bank.templates), metadata(mine))

    stages: tuple[tuple[str, Callable[[], object]], ...] = (
        ("draw a paper", lambda: [paper(release, s) for s in group]),
        ("draw and render a notebook", lambda: [notebook(s) for s in group]),
        ("score evidence", lambda: [score(p, e) for p, e in pairs]),
        (
            "draw a paper and score evidence",
            lambda: [score(paper(release, p.student), e) for p, e in pairs],
        ),
    )
    rows = []
    for name, what in stages:
        what()
        seconds = cpu(what, repeats) / size
        rows.append({"stage": name, "parts": parts, "ms": seconds * 1e3, "per_second": 1 / seconds})
        print(
            f"  {name:34}{parts:4} parts {seconds * 1e3:8.2f} ms {1 / seconds:8.0f} each s",
            flush=True,
        )
    return rows


def help_time() -> dict[str, float]:
    """Wall milliseconds of whole processes, in turn: the command, and Python alone."""
    commands = {
        "help": [sys.executable, "-m", "grader", "--help"],
        "python": [sys.executable, "-c", "pass"],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(_HELP_RUNS):
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            taken[name].append((time.perf_counter() - began) * 1e3)
    return {name: statistics.median(times) for name, times in taken.items()}


def memory_while_rendering(bank: Bank, wanted: str, many: int) -> list[dict[str, float]]:
    """Resident memory after so many notebooks; each is removed when it is written."""
    group = students(many)
    release = new_release(bank, bank.exam(wanted), group, b"k" * 32)
    seen: list[dict[str, float]] = []
    began = time.process_time()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        written = 0

        def done(student: str) -> None:
            nonlocal written
            written += 1
            (folder / "notebooks" / f"{student}.ipynb").unlink()
            if written in (many // 100, many // 10, many // 2, many):
                seen.append({"notebooks": written, "resident_mb": _resident_mb()})

        write_notebooks(release, group, folder, bank, done)
    seconds = time.process_time() - began
    for line in seen:
        print(f"  {line['notebooks']:6.0f} notebooks: {line['resident_mb']:.0f} MB", flush=True)
    print(f"  {many / seconds:.0f} notebooks a CPU-second, with writing them to disk", flush=True)
    return [*seen, {"per_second": many / seconds}]


def _resident_mb() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:  # not Linux: the highest so far
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--many", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-gate", action="store_true", help="leave out verifying the bank")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    bank = Bank.open()
    found: dict[str, Any] = {"machine": machine.describe()}
    chosen.out.mkdir(parents=True, exist_ok=True)

    def keep(name: str, value: object) -> None:
        found[name] = value
        (chosen.out / FILE).write_text(json.dumps(found, indent=1))

    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        forty = str(forty_parts(Path(folder)))
        # The exam of ten questions that the throughput is measured with, and two longer ones.
        for source, wanted in ((Bank.open([BANK]), TEN), (bank, "midterm"), (bank, forty)):
            exam = source.exam(wanted)
            release = new_release(source, exam, students(chosen.students), b"k" * 32)
            print(f"set '{exam.id}', {chosen.students} students:", flush=True)
            keep(exam.id, per_core(source, release, chosen.students, chosen.repeats))
    print("start of `grader --help`:", flush=True)
    keep("help", help_time())
    print("  {help:.0f} ms, Python alone {python:.0f} ms".format(**found["help"]))
    print("memory while rendering:", flush=True)
    keep("memory", memory_while_rendering(bank, "midterm", chosen.many))
    if not chosen.no_gate:
        seconds = cpu(lambda: [verify_problem(bank, name, 50) for name in bank.paths], 1)
        keep("gate", {"problems": len(bank.paths), "seeds": 50, "seconds": seconds})
        print(f"the gate: {len(bank.paths)} problems over 50 seeds in {seconds:.1f} CPU-s")


if __name__ == "__main__":
    main()
