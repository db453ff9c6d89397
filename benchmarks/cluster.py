"""What a Dask cluster costs, and whether the cost grows in proportion.

    python benchmarks/cluster.py coordinator --submissions 20000 --workers 100
    python benchmarks/cluster.py growth
    python benchmarks/cluster.py local --submissions 100
    python benchmarks/cluster.py model

`coordinator` executes made-up notebooks on workers that only sleep. After each tenth of them, it
prints how many were received a second, the coordinator's CPU time for each, and its memory. The
workers are threads of a few processes of this machine, so the rate is that of one machine; CPU time
and memory are the coordinator's alone. `growth` does that for 100 to 20,000 submissions.

`local` grades two classes of real notebooks, one five times as large as the other, with two threads
of one process (`--jobs 2`) and with two local workers, alternately. It compares what each further
notebook takes, in wall time and in the CPU time of all processes; the rest is the start.

`model` measures the constants of docs/explanation/scaling.md on this machine, predicts how long
other numbers of notebooks and of workers take, and runs them. First come real notebooks of a set
of the bank, with two threads and with two local workers; then up to 100 workers that only sleep.
`set` does the first half.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from distributed.deploy.subprocess import SubprocessCluster

from grader.gradebook.evidence_files import pack_evidence
from grader.grading import batch
from grader.grading.settings import Settings
from grader.model import Answer, Evidence, Job, Limits, Outcome, Submission
from tests.helpers.batch import a_class
from tests.helpers.commands import ok
from tests.helpers.notebooks import a_notebook

SECONDS = 0.2
"""How long a made-up notebook runs."""
LONG_SECONDS = 2.0
"""How long it runs in `model`, where a hundred workers must not need more than two cores."""
ANSWERS = 40
OUTPUT = 20_000
"""Characters of made-up output in each evidence."""
SIZES = (100, 1_000, 5_000, 20_000)
REAL_SIZES = (20, 100, 60, 160)
"""Of `model`: the first two give the constants, the others are predicted."""
ROUNDS = 3
WORK = "import time\nbegan = time.process_time()\nwhile time.process_time() - began < 0.5: pass"
"""Half a second of work in each real notebook."""


def sleep_and_answer(job: Job, _more_follow: bool, data: bytes) -> bytes:
    """Returns made-up evidence of the usual size, as a worker sends it."""
    time.sleep(SECONDS)
    filler = random.Random(data).randbytes(OUTPUT // 2).hex()
    answers = {
        f"q{n}": Answer(name=f"q{n}", raw={"t": "str", "v": filler[: 20 + n]})
        for n in range(ANSWERS)
    }
    return pack_evidence(
        Evidence(
            submission_sha256=job.submission.sha256,
            outcome=Outcome.FINISHED,
            answers=answers,
            cells=(),
            seconds=SECONDS,
            environment={"filler": filler},
        )
    )


def make_submissions(folder: Path, count: int) -> list[Submission]:
    found = []
    for number in range(count):
        data = a_notebook(f"q1 = {number}")
        path = folder / f"s{number}.ipynb"
        path.write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        found.append(Submission(student=path.stem, path=str(path), sha256=digest))
    return found


def cpu_seconds(whose: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def run_sleepers(count: int, workers: int, processes: int) -> Iterator[tuple[int, float, float]]:
    """Yields, after each tenth of *count* submissions, their number and the coordinator's CPU
    seconds and memory."""
    vars(batch)["_execute_remotely"] = sleep_and_answer
    with (
        tempfile.TemporaryDirectory() as folder,
        SubprocessCluster(n_workers=processes, threads_per_worker=workers // processes) as cluster,
    ):
        todo = make_submissions(Path(folder), count)
        settings = Settings(limits=Limits(), executor=f"dask:{cluster.scheduler_address}")
        step = max(1, count // 10)
        before = cpu_seconds()
        for number, (_, evidence) in enumerate(batch.execute_all(todo, (), settings), start=1):
            if evidence.outcome is not Outcome.FINISHED:
                raise SystemExit(f"a made-up notebook failed: {evidence.note}")
            if number % step == 0:
                yield number, cpu_seconds() - before, resident_megabytes()


def coordinator(count: int, workers: int, processes: int) -> None:
    print("received   per second   CPU ms each   memory MB")
    begin, before, last = time.perf_counter(), 0.0, 0
    for number, used, memory in run_sleepers(count, workers, processes):
        now = time.perf_counter()
        rate, cost = (number - last) / (now - begin), 1000 * (used - before) / (number - last)
        print(f"{number:8}{rate:13.0f}{cost:14.2f}{memory:12.0f}", flush=True)
        begin, before, last = now, used, number


def growth(sizes: tuple[int, ...], workers: int, processes: int) -> None:
    print("submissions   seconds   CPU ms each   memory MB")
    for count in sizes:
        begin = time.perf_counter()
        # In a process of its own, so that no run inherits the memory of another.
        done = subprocess.run(
            [sys.executable, __file__, "coordinator", "--submissions", str(count),
             "--workers", str(workers), "--processes", str(processes)],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        rows = [line.split() for line in done.stdout.splitlines()[1:]]
        cost = statistics.fmean(float(row[2]) for row in rows)
        seconds = time.perf_counter() - begin
        print(f"{count:11}{seconds:10.1f}{cost:14.2f}{rows[-1][3]:>12}", flush=True)


def grade(folder: Path, out: str, *more: str) -> tuple[float, float]:
    """Grades the class in *folder*; returns wall seconds and the CPU seconds of all processes."""
    before, begin = cpu_seconds(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [
        sys.executable, "-m", "grader", "grade", str(folder / "submissions"),
        "--release", str(folder / "release"), "--bank", str(folder / "bank"),
        "--out", str(folder / out), *more,
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    wall = time.perf_counter() - begin
    return wall, cpu_seconds(resource.RUSAGE_CHILDREN) - before


def local(count: int) -> None:
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    sizes = (count // 5, count)
    with tempfile.TemporaryDirectory() as name:
        for size in sizes:
            folder = Path(name) / str(size)
            folder.mkdir()
            a_class(folder, size, extra=WORK)
            for number in range(ROUNDS):
                for executor in ("threads", "dask"):
                    used = grade(
                        folder, f"{executor}-{number}", "--executor", executor, "--jobs", "2"
                    )
                    found.setdefault((executor, size), []).append(used)
    few, many = sizes
    print(f"medians of {ROUNDS} runs      {few} notebooks  {many} notebooks   each further one")
    for column, what in enumerate(("wall s", "CPU s")):
        more = {}
        for executor, title in (("threads", "--jobs 2"), ("dask", "two local workers")):
            one, other = (statistics.median(u[column] for u in found[executor, n]) for n in sizes)
            more[executor] = (other - one) / (many - few)
            print(f"{title:18}{what:8}{one:12.1f}{other:15.1f}{more[executor]:15.3f}")
        print(f"each further notebook, two workers over --jobs 2, {what[:-2]}: "
              f"{more['dask'] / more['threads']:.2f}")  # fmt: skip


COORDINATE = """
import resource, sys
from grader.cli import main
try:
    main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print("coordinator", used.ru_utime + used.ru_stime, file=sys.stderr)
"""


@dataclass(frozen=True)
class Run:
    """What one run of `grader grade` took."""

    wall: float
    """Seconds, without the time that the host took."""
    cpu: float
    """CPU seconds of all processes."""
    coordinator: float
    """CPU seconds of the command's own process, which runs no notebooks."""


def stolen_seconds() -> float:
    """Returns how long the host of a virtual machine has kept its cores from it."""
    fields = Path("/proc/stat").read_text(encoding="utf-8").split(maxsplit=9)
    return float(fields[8]) / os.sysconf("SC_CLK_TCK")


def run_set(home: Path, out: Path, count: int, executor: str) -> Run:
    """Grades the first *count* submissions in *home* with two kernels at once."""
    some = home / f"first-{count}"
    some.mkdir(exist_ok=True)
    for path in sorted((home / "submissions").glob("*.ipynb"))[:count]:
        shutil.copy(path, some)
    before, begin = cpu_seconds(resource.RUSAGE_CHILDREN), time.perf_counter()
    stolen = stolen_seconds()
    done = subprocess.run(
        [sys.executable, "-c", COORDINATE, "grade", str(some), "--release", str(home / "release"),
         "--out", str(out), "--executor", executor, "--jobs", "2"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    wall = time.perf_counter() - begin - (stolen_seconds() - stolen) / (os.cpu_count() or 1)
    said = re.search(r"^coordinator (.*)$", done.stderr, re.MULTILINE)
    assert said is not None
    return Run(wall, cpu_seconds(resource.RUSAGE_CHILDREN) - before, float(said[1]))


def model_of_set(exam: str) -> None:
    """Compares predicted and measured times of real notebooks on this machine."""
    few, more, *others = REAL_SIZES
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        roster = home / "roster.csv"
        roster.write_text("id\n" + "".join(f"s{n:03}\n" for n in range(max(REAL_SIZES))))
        ok("render", exam, "--roster", roster, "--out", home / "release")
        for number in range(max(REAL_SIZES)):
            out = home / "submissions" / f"s{number:03}.ipynb"
            ok("solve", home / "release", "--student", f"s{number:03}", "--out", out)
        run_set(home, home / "warm-up", few, "threads")  # reads everything from the disk once
        for executor in ("threads", "dask"):
            first, second = (run_set(home, home / f"{executor}-{n}", n, executor)
                             for n in (few, more))  # fmt: skip
            each = (second.cpu - first.cpu) / (more - few)
            k = (second.coordinator - first.coordinator) / (more - few)
            pace = max(each / 2, k)
            start = first.wall - few * pace
            print(f"{exam}, {executor}: t0 = {start:.1f} s, s = {each - k:.3f} s, "
                  f"k = {1000 * k:.1f} ms")  # fmt: skip
            print("notebooks   predicted s   measured s")
            for count in others:
                measured = run_set(home, home / f"{executor}-{count}", count, executor).wall
                predicted = start + count * pace
                print(f"{count:9}{predicted:14.1f}{measured:13.1f}", flush=True)


def model_of_workers() -> None:
    """Compares the predicted and measured times of workers that only sleep."""
    globals()["SECONDS"] = LONG_SECONDS
    cores = os.cpu_count() or 1
    used = {}
    for count in (200, 1_000):
        others = cpu_seconds(resource.RUSAGE_CHILDREN)
        *_, (_, mine, _) = run_sleepers(count, 100, 2)
        used[count] = mine, cpu_seconds(resource.RUSAGE_CHILDREN) - others
    k, others = ((after - before) / 800 for before, after in zip(*used.values(), strict=True))
    print(f"k = {1000 * k:.2f} ms; scheduler and workers: {1000 * others:.2f} ms on the same "
          f"{cores} cores; s = {LONG_SECONDS} s (a sleep, so each worker is a core)")  # fmt: skip
    print("submissions   workers   predicted s   measured s")
    for workers in (10, 20, 40, 100):
        count = 10 * workers
        times = [(number, time.perf_counter()) for number, *_ in run_sleepers(count, workers, 2)]
        (first, begin), (last, end) = times[0], times[-1]
        each = max(LONG_SECONDS / workers, k, (k + others) / cores)
        predicted = (last - first) * each
        print(f"{last - first:11}{workers:10}{predicted:14.1f}{end - begin:13.1f}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument(
        "what",
        choices=("coordinator", "growth", "local", "model", "set"),
        default="coordinator",
        nargs="?",
    )
    options.add_argument("--submissions", type=int)
    options.add_argument("--set", default="midterm-1", help="of `model`")
    options.add_argument("--workers", type=int, default=100)
    options.add_argument("--processes", type=int, default=2)
    asked = options.parse_args()
    if asked.what == "coordinator":
        coordinator(asked.submissions or 2_000, asked.workers, asked.processes)
    elif asked.what == "growth":
        growth(SIZES, asked.workers, asked.processes)
    elif asked.what == "local":
        local(asked.submissions or 100)
    elif asked.what == "set":
        model_of_set(asked.set)
    else:
        model_of_set(asked.set)
        model_of_workers()


if __name__ == "__main__":
    main()
