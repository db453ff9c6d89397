"""How the work grows with the class: real executions up to 500, stored evidence up to 10,000.

    python benchmarks/growth.py [--sizes 10 100 1000 10000] [--execute 10 100 500]

Beyond what is executed, evidence is made up and put into the gradebook through its own API; the
exam has forty parts. Every size runs in a process of its own. `grader score` and `grader report`
are the real commands, started as a person starts them. Exponents are of CPU time, which others on
the machine change least.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import machine
import synthetic
from classes import BANK, make_class
from synthetic import forty_parts, students

from grader.bank.folders import Bank
from grader.gradebook import Gradebook
from grader.grading.manual import list_waiting
from grader.grading.results import write_results
from grader.grading.score import score
from grader.model import Release
from grader.release.papers import bind
from grader.release.rendering import make_release

RESULTS = Path(__file__).resolve().parent / "results"
FILE = "growth.json"
_FIT_FROM = 100


@dataclass
class Clock:
    """Names what is timed, and remembers what it took of the wall clock and of the CPU."""

    wall: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Adds what happens inside to the step of that name, with processes that it waits for."""
        wall, cpu = time.perf_counter(), _cpu()
        yield
        self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - wall
        self.cpu[name] = self.cpu.get(name, 0.0) + _cpu() - cpu


def _cpu() -> float:
    waited = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + waited.ru_utime + waited.ru_stime


def grown(size: int, folder: Path, clock: Clock) -> None:
    """Every step with a class of *size*."""
    bank = Bank.open()
    exam, out = str(forty_parts(folder)), folder / "results"
    release = make_release(bank, exam, students(size), folder / "release", "benchmark").release
    with Gradebook.open(out, create=True) as book:
        bind(book, release, folder / "release")
        book.add_students(release.students.values())
        book.add_submissions(synthetic.submission(s) for s in release.students)
        for _, mine in synthetic.papers(release):
            made = synthetic.evidence(mine)
            with clock("store evidence"):
                book.put_evidence(made, "synthetic")
        with clock("score and file"):
            _score(book, release)
    with clock("all pages and the report"):
        write_results(out, bank)
    with clock("grader score"):
        _command("score", str(out))
    with clock("grader report, nothing new"):
        _command("report", str(out))
    some = f"s{size // 2 + 1:05d}"
    with Gradebook.open(out) as book:
        grade = book.grade(some)
        assert grade is not None
        name = grade.marks[0].name
    with clock("grader mark, one by hand"):
        _command(
            "mark", str(out), "--student", some, "--answer", name, "--points", "0", "--why", "test"
        )
    _queries(out, some, clock)


def _queries(out: Path, some: str, clock: Clock) -> None:
    with Gradebook.open(out) as book:
        with clock("read all grades"):
            sum(1 for _ in book.grades())
        with clock("read all submissions"):
            book.submissions()
        with clock("sum up all evidence"):
            book.evidence_summaries()
        with clock("one student's history"):
            book.history(some)
    with clock("what needs manual grading"):
        list_waiting(out)


def _score(book: Gradebook, release: Release) -> None:
    def grades() -> Iterator[object]:
        for student, mine in synthetic.papers(release):
            found = book.find_evidence(synthetic.submission(student).sha256)
            assert found is not None
            yield score(mine, found)

    book.put_grades(grades(), why="benchmark")  # type: ignore[arg-type]


def _command(*arguments: str) -> None:
    command = [sys.executable, "-m", "grader", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"grader {arguments[0]}: {done.stderr.strip()[-200:]}")


def executed(size: int, folder: Path, clock: Clock) -> None:
    """`grader grade` for a class of *size* of the computer exam."""
    made = make_class(size, folder / "class")
    out = str(folder / "results")
    with clock("grader grade"):
        _command(
            "grade", str(made.submissions), "--release", str(made.release), "--out", out,
            "--bank", str(BANK),
        )  # fmt: skip


def exponent(seconds: Mapping[int, float]) -> float | None:
    """The slope of the line through log(size), log(seconds), from classes of 100 on."""
    points = [(math.log(n), math.log(s)) for n, s in seconds.items() if n >= _FIT_FROM and s > 0]
    if len(points) < 2:
        return None
    mean_x, mean_y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    over = sum((x - mean_x) ** 2 for x, _ in points)
    slope: float = sum((x - mean_x) * (y - mean_y) for x, y in points) / over
    return slope


def _in_a_process(what: str, size: int) -> dict[str, object]:
    """The figures of one size; `failed` says why there are none."""
    command = [sys.executable, __file__, "--worker", what, str(size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    try:
        found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"failed": f"exit status {done.returncode}"}
    return found


def worker(what: str, size: int) -> None:
    """Prints the figures of one size as JSON."""
    clock = Clock()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        found: dict[str, object] = {}
        try:
            (grown if what == "grown" else executed)(size, Path(name), clock)
        except Exception as error:  # noqa: BLE001 - a row says what went wrong
            found = {"failed": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps({"wall": clock.wall, "cpu": clock.cpu, **found}))


def fits(rows: Sequence[Mapping[str, object]]) -> dict[str, float | None]:
    """Step to the exponent of its CPU time."""
    by_step: dict[str, dict[int, float]] = {}
    for row in rows:
        cpu, size = row.get("cpu"), row["students"]
        if isinstance(cpu, Mapping) and isinstance(size, int):
            for step, taken in cpu.items():
                by_step.setdefault(step, {})[size] = taken
    return {step: exponent(taken) for step, taken in by_step.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 100, 1000, 10_000])
    parser.add_argument("--execute", type=int, nargs="*", default=[10, 100, 500])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        worker(chosen.worker[0], int(chosen.worker[1]))
        return
    rows: list[dict[str, object]] = []
    chosen.out.mkdir(parents=True, exist_ok=True)
    wanted = [("executed", n) for n in chosen.execute] + [("grown", n) for n in chosen.sizes]
    for what, size in wanted:
        row = {"what": what, "students": size, **_in_a_process(what, size)}
        rows.append(row)
        found = {"machine": machine.describe(), "rows": rows, "exponents": fits(rows)}
        (chosen.out / FILE).write_text(json.dumps(found, indent=1))
        print(f"{size} students, {what}: {row.get('failed', '')}", flush=True)
        wall, cpu = row.get("wall", {}), row.get("cpu", {})
        assert isinstance(wall, dict)
        assert isinstance(cpu, dict)
        for step, taken in cpu.items():
            each = taken / size * 1e3
            print(
                f"  {step:28}{wall[step]:9.3f} s wall {taken:9.3f} s CPU {each:9.2f} ms CPU each",
                flush=True,
            )


if __name__ == "__main__":
    main()
