"""Runs the reference answers through the whole pipeline, in a real kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from grader.bank.folders import Bank
from grader.draw import draw, loose_paper, sample_seed
from grader.grading.score import score
from grader.kinds import kinds
from grader.kinds.attempts import needs_of
from grader.model import Job, Limits, Mark, Problem, Submission, Verdict, packages
from grader.notebook import write
from grader.notebook.render import metadata, render, solution
from grader.runtime.execute import execute
from grader.runtime.machine.counters import EVENTS, uncounted


def run_references(
    bank: Bank,
    wanted: Sequence[str] | None,
    sound: Iterable[str],
    seed: int = 0,
    done: Callable[[str], None] = lambda _: None,
) -> tuple[str, ...]:
    """Executes a solved notebook for each of the *sound* problems; returns what went wrong.

    Runs only the first variant of each, since differences between variants are checked without a
    kernel. Each problem has a separate notebook, so that notebooks are no longer than students' and
    solutions do not share names. Calls *done* with the id of each.
    """
    there = set(sound)
    names = [name for name in (wanted or bank.listed) if Path(name).stem in there]
    found: list[str] = []
    for name in names:
        found += _run(bank, bank.problem(name), seed)
        done(name)
    return tuple(found)


def _run(bank: Bank, problem: Problem, seed: int) -> Iterator[str]:
    paper = loose_paper([draw(problem, sample_seed(problem.id, seed), bank.facts)], "reference")
    data = write(render(paper, bank.templates, solution(paper)), metadata(paper))
    job = Job(
        submission=Submission(student="reference", path="reference.ipynb", sha256="0" * 64),
        names=tuple(name for name, _ in paper.named_keys()),
        trials=tuple(
            found
            for name, key in paper.named_keys()
            if (found := kinds.find(key.part.kind).trial(name, key)) is not None
        ),
        limits=Limits(),
        loopback="loopback" in problem.needs,
    )
    grade = score(paper, execute(job, data))
    keys = dict(paper.named_keys())

    def lacks(mark: Mark) -> bool:
        part = keys[mark.name].part
        by = getattr(part, "by", "")
        if by in EVENTS and uncounted(by) is not None:
            return True
        return bool(packages.missing(needs_of(part, keys[mark.name].draw.solution)))

    for mark in grade.marks:
        waits = mark.kind == "explanation" or lacks(mark)
        if mark.points == mark.max_points or (mark.verdict is Verdict.UNSETTLED and waits):
            continue
        yield (
            f"{mark.problem}: '{mark.part}' earns {mark.points} of {mark.max_points:g} when a "
            f"kernel runs its right answer: {mark.feedback}"
        )
