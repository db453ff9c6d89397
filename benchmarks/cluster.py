"""The coordinator's cost of a submission on a Dask cluster whose workers only sleep.

    python benchmarks/cluster.py --submissions 20000 --workers 100

Prints, after each tenth of the submissions, how many were filed a second, the coordinator's CPU
milliseconds for each, and its memory. The workers are threads of a few processes of this machine,
so the rate is that of one machine; CPU and memory are the coordinator's alone.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import tempfile
import time
from pathlib import Path

from distributed.deploy.subprocess import SubprocessCluster

from grader.grading import batch
from grader.grading.settings import Settings
from grader.model import Answer, Evidence, Job, Limits, Outcome, Submission
from tests.helpers.notebooks import a_notebook

SECONDS = 0.2
"""How long a made-up notebook runs."""
ANSWERS = 40
OUTPUT = 20_000
"""Characters of made-up output in each evidence."""


def sleep_and_answer(job: Job, _more_follow: bool, data: bytes) -> Evidence:
    """Returns made-up evidence of the usual size."""
    time.sleep(SECONDS)
    filler = random.Random(data).randbytes(OUTPUT // 2).hex()
    answers = {
        f"q{n}": Answer(name=f"q{n}", raw={"t": "str", "v": filler[: 20 + n]})
        for n in range(ANSWERS)
    }
    return Evidence(
        submission_sha256=job.submission.sha256,
        outcome=Outcome.FINISHED,
        answers=answers,
        cells=(),
        seconds=SECONDS,
        environment={"filler": filler},
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


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--submissions", type=int, default=2_000)
    options.add_argument("--workers", type=int, default=100)
    options.add_argument("--processes", type=int, default=2)
    asked = options.parse_args()

    threads = asked.workers // asked.processes
    vars(batch)["_execute_remotely"] = sleep_and_answer
    with (
        tempfile.TemporaryDirectory() as folder,
        SubprocessCluster(n_workers=asked.processes, threads_per_worker=threads) as cluster,
    ):
        todo = make_submissions(Path(folder), asked.submissions)
        settings = Settings(limits=Limits(), executor=f"dask:{cluster.scheduler_address}")
        step = max(1, asked.submissions // 10)
        begin, before, last = time.perf_counter(), cpu_seconds(), 0
        print("filed   per second   CPU ms each   memory MB")
        for number, _ in enumerate(batch.execute_all(todo, (), settings), start=1):
            if number % step == 0:
                now, used = time.perf_counter(), cpu_seconds()
                rate = (number - last) / (now - begin)
                cost = 1000 * (used - before) / (number - last)
                memory = resident_megabytes()
                print(f"{number:6}{rate:12.0f}{cost:14.2f}{memory:12.0f}", flush=True)
                begin, before, last = now, used, number


if __name__ == "__main__":
    main()
