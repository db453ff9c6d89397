"""Runs the reference answers through the whole pipeline, in a real kernel."""

from __future__ import annotations

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed, standalone_paper
from grader.grading.score import score
from grader.kinds import kinds
from grader.model import Job, Limits, Mark, Submission
from grader.notebook import write
from grader.notebook.render import metadata, render, solution
from grader.runtime.execute import execute
from grader.verify.answers import is_deferred


def run_reference(bank: Bank, name: str, seed: int = 0) -> tuple[str, ...]:
    """Executes a notebook with the right answers to a problem; returns a sentence for each part
    that does not earn full marks.

    One variant is enough, since differences between variants are checked without a kernel.
    """
    problem = bank.problem(name)
    paper = standalone_paper(
        [draw(problem, sample_seed(problem.id, seed), bank.facts)], "reference"
    )
    data = write(render(paper, bank.templates, solution(paper)), metadata(paper))
    job = Job(
        submission=Submission(student="reference", path="reference.ipynb", sha256="0" * 64),
        names=tuple(name for name, _ in paper.named_keys()),
        trials=tuple(
            found
            for name, key in paper.named_keys()
            if (found := kinds.find(key.part.kind).call_plan(name, key)) is not None
        ),
        limits=Limits(),
        loopback="loopback" in problem.needs,
    )
    grade = score(paper, execute(job, data))
    keys = dict(paper.named_keys())

    def waits(mark: Mark) -> bool:
        return is_deferred(mark, keys[mark.name])

    return tuple(
        f"{mark.problem}: '{mark.part}' earns {mark.points} of {mark.max_points:g} when a "
        f"kernel runs its right answer: {mark.feedback}"
        for mark in grade.marks
        if mark.points != mark.max_points and not waits(mark)
    )
