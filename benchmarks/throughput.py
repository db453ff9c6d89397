"""Grading throughput: the same class graded by everybody, one after another, again and again.

    python benchmarks/throughput.py [--students 20 60 200] [--repeats 3] [--only ours,nbclient]

Each round runs every contender once, in an order that turns from round to round, so that whatever
else the machine does hits all of them alike; the median of the rounds counts. Slow contenders take
part in two rounds on the smallest class, and with `--full` in one on the others. A contender that
fails, or gives one wrong mark, is a row that says so. Memory is sampled in a run of its own on a
small class.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import machine
from classes import Class, make_class
from contenders import (
    BY_NAME,
    CONTENDERS,
    Contender,
    FailedError,
    differences,
    environment_of,
    last_line,
)
from exam import POINTS

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
FILE = "throughput.json"
_MEMORY_STUDENTS = 8


@dataclass(frozen=True)
class Turn:
    """One run that is to be made."""

    contender: Contender
    students: int
    round: int
    memory: bool = False

    def __str__(self) -> str:
        what = "memory" if self.memory else f"round {self.round + 1}"
        return f"{self.contender.label}, {self.students} students, {what}"


def plan(
    chosen: Sequence[Contender], sizes: Sequence[int], repeats: int, *, full: bool, memory: bool
) -> list[Turn]:
    """All runs, in order: sizes upwards, and within a size the contenders in turn."""
    turns = []
    if memory:
        turns += [Turn(c, min(_MEMORY_STUDENTS, *sizes), 0, memory=True) for c in chosen]
    for size in sorted(sizes):
        for number in range(repeats):
            fit = [c for c in chosen if not c.slow or number < _slow_rounds(size, sizes, full=full)]
            shift = number % max(len(fit), 1)
            turns += [Turn(c, size, number) for c in fit[shift:] + fit[:shift]]
    return turns


def _slow_rounds(size: int, sizes: Sequence[int], *, full: bool) -> int:
    """How many rounds those take part in that need minutes for one."""
    return 2 if size == min(sizes) else int(full)


class Bench:
    """One call of this benchmark: its classes, and what was measured so far."""

    def __init__(self, folder: Path, out: Path):
        self._folder, self._out = folder, out
        self._failed: set[str] = set()
        self._first: set[str] = set()
        self.found: dict[str, object] = {"machine": machine.describe(), "runs": []}

    def take(self, turn: Turn) -> None:
        """Makes one run and keeps what it gave, unless its contender has failed before."""
        contender = turn.contender
        if contender.name in self._failed:
            return
        record: dict[str, object] = {
            "contender": contender.name,
            "label": contender.label,
            "students": turn.students,
            "round": turn.round,
            "memory": turn.memory,
        }
        try:
            self._install(contender)
            made = make_class(turn.students, self._folder / f"class-{turn.students}")
            self._warm(contender)
            record |= self._run(turn, made)
        except (FailedError, RuntimeError, OSError, ValueError) as error:
            record["failed"] = str(error)
            self._failed.add(contender.name)
        self._keep(record)

    def _install(self, contender: Contender) -> None:
        if contender.peer is not None:
            contender.peer.install()

    def _warm(self, contender: Contender) -> None:
        """One run that does not count, so that everything is compiled and in the disk's cache."""
        if contender.name not in self._first:
            self._first.add(contender.name)
            made = make_class(2, self._folder / "class-2")
            self._run(Turn(contender, 2, -1), made)

    def _run(self, turn: Turn, made: Class) -> dict[str, object]:
        with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as name:
            work = Path(name)
            usage = _measured(turn, made, work)
            wrong = differences(turn.contender.marks(made, work), made)
            if wrong:
                all_of_them = len(POINTS) * made.size
                raise FailedError(f"{len(wrong)} of {all_of_them} marks are wrong: {wrong[0]}")
            if turn.contender.loop:
                usage |= json.loads((work / "out.json").read_bytes())["loop"]
            if turn.contender.name.startswith("ours"):
                usage["environment"] = environment_of(work)
            return usage

    def _keep(self, record: dict[str, object]) -> None:
        runs = self.found["runs"]
        assert isinstance(runs, list)
        runs.append(record)
        self._out.mkdir(parents=True, exist_ok=True)
        (self._out / FILE).write_text(json.dumps(self.found, indent=1))
        print("  " + _line(record), flush=True)


def _measured(turn: Turn, made: Class, work: Path) -> dict[str, object]:
    """What the contender used; raises FailedError when it did not come to its end."""
    out, log = work / "usage.json", work / "log.txt"
    timeout = 300 + 60 * made.size
    measure = [
        sys.executable,
        str(HERE / "measure.py"),
        "--out",
        str(out),
        "--timeout",
        str(timeout),
    ]
    memory = ["--memory"] if turn.memory else []
    command = turn.contender.command(made, work)
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*measure, *memory, "--", *command],
            cwd=work, env=turn.contender.environment(), stdin=subprocess.DEVNULL,
            stdout=file, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            process.wait()
        except BaseException:  # what it has started is ended by it
            process.terminate()
            process.wait()
            raise
    usage: dict[str, object] = json.loads(out.read_bytes()) if out.exists() else {}
    code = usage.get("code")
    if code != 0:
        why = f"exit status {code}" if code is not None else f"not done after {timeout} s"
        raise FailedError(f"{why}: {last_line(log.read_text(errors='replace'))}")
    return usage


def _line(record: dict[str, object]) -> str:
    if "failed" in record:
        return f"{record['label']}: failed: {record['failed']}"
    wall, cpu, size = record["wall"], record["cpu"], record["students"]
    assert isinstance(wall, float)
    assert isinstance(cpu, float)
    assert isinstance(size, int)
    more = ""
    if record["memory"]:
        kernels = [k["private"] for k in record["kernels"]]  # type: ignore[attr-defined]
        private = f"{sorted(kernels)[len(kernels) // 2] / 1e6:.0f} MB a kernel" if kernels else ""
        more = f"  {record['peak_pss'] / 1e6:.0f} MB in all  {private}"  # type: ignore[operator]
    return (
        f"{record['label']:32}{size:5d} students {wall:8.2f} s wall {cpu:8.2f} s CPU "
        f"{cpu / size * 1e3:8.0f} ms each{more}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--students", type=int, nargs="+", default=[20, 60, 200])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default=",".join(BY_NAME), help="names, with commas")
    parser.add_argument("--full", action="store_true", help="slow contenders on all classes")
    parser.add_argument("--no-memory", action="store_true", help="leave the memory runs out")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    unknown = set(chosen.only.split(",")) - set(BY_NAME)
    if unknown:
        parser.error(f"no such contender: {', '.join(unknown)}; there are {', '.join(BY_NAME)}")
    fit = [c for c in CONTENDERS if c.name in chosen.only.split(",")]
    turns = plan(
        fit, chosen.students, chosen.repeats, full=chosen.full, memory=not chosen.no_memory
    )
    folder = Path(tempfile.mkdtemp(prefix="bench-classes-"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bench, began = Bench(folder, chosen.out), time.monotonic()
    try:
        for number, turn in enumerate(turns, 1):
            print(f"[{number}/{len(turns)}, {time.monotonic() - began:.0f} s] {turn}", flush=True)
            bench.take(turn)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
