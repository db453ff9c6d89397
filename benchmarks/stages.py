"""How fast the stages without kernels are: verify, render, score, report. Prints a table.

    python benchmarks/stages.py [--students 300]

Everything runs in one process on one core. Figures depend on the machine; the last column does not:
it is the time of a stage over the time of drawing the same papers, measured side by side.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from grader import probe
from grader.draw import paper
from grader.gradebook import Gradebook
from grader.load import Bank, new_release
from grader.model import Answer, Evidence, Outcome, Paper, Student
from grader.notebook import write
from grader.pipeline.papers import bind
from grader.pipeline.releases import make_release
from grader.pipeline.results import write_results
from grader.render import metadata, render
from grader.score import score
from grader.verify import verify_problem


def timed(what: Callable[[], object]) -> float:
    started = time.perf_counter()
    what()
    return time.perf_counter() - started


def evidence_for(mine: Paper, number: int) -> Evidence:
    """Evidence of answers that are all readable, and mostly wrong."""
    answers = {}
    for index, (name, key) in enumerate(mine.named_keys()):
        value: object = 1.0 + number + index
        if key.part.kind not in ("numeric", "integer"):
            value = "A"
        answers[name] = Answer(name=name, raw=probe.encode(value))
    return Evidence(
        submission_sha256=f"{number:064x}",
        outcome=Outcome.FINISHED,
        answers=answers,
        cells=(),
        seconds=1.0,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--set", default="midterm")
    chosen = parser.parse_args()
    bank = Bank.open()
    students = tuple(Student(id=f"s{i}") for i in range(chosen.students))
    exam = bank.exam(chosen.set)
    release = new_release(bank, exam, students, b"k" * 32)
    for student in students[:3]:  # templates and expressions are compiled once
        mine = paper(release, student)
        write(render(mine, bank.templates), metadata(mine))
    papers: list[Paper] = []
    rows: list[tuple[str, float]] = []

    def draw_all() -> None:
        papers.extend(paper(release, s) for s in students)

    rows.append(("draw the papers", timed(draw_all)))
    rows.append(
        (
            "render to notebooks",
            timed(lambda: [write(render(p, bank.templates), metadata(p)) for p in papers]),
        )
    )
    evidence = [evidence_for(p, i) for i, p in enumerate(papers)]
    rows.append(
        (
            "score evidence, most of it wrong",
            timed(lambda: [score(p, e) for p, e in zip(papers, evidence, strict=True)]),
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        made = make_release(bank, chosen.set, students, Path(folder), "benchmark").release
        grades = [score(paper(made, s), e) for s, e in zip(students, evidence, strict=True)]
        results = Path(folder) / "results"
        with Gradebook.open(results, create=True) as book:
            bind(book, made, Path(folder))
            book.add_students(students)
            rows.append(
                (
                    "file grades in the gradebook",
                    timed(lambda: book.put_grades(grades, why="benchmark")),
                )
            )
        rows.append(("write all result files", timed(lambda: write_results(results, bank))))
    drawn = rows[0][1]
    print(f"{chosen.students} students, set '{chosen.set}', {len(evidence[0].answers)} parts each")
    print(f"{'stage':34}{'ms each':>9}{'each s':>9}{'of drawing':>12}")
    for what, seconds in rows:
        each = seconds / chosen.students
        print(f"{what:34}{each * 1e3:9.2f}{1 / each:9.0f}{seconds / drawn:11.1f}x")
    seconds = timed(lambda: [verify_problem(bank, name, 50) for name in bank.paths])
    print(f"verify the bank, {len(bank.paths)} problems over 50 seeds: {seconds:.1f} s on one core")


if __name__ == "__main__":
    main()
