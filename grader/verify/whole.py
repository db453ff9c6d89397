"""Runs the reference answers through the whole pipeline, in a real kernel."""

from __future__ import annotations

from collections.abc import Sequence

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed, standalone_paper
from grader.grading.score import score
from grader.kinds import kinds
from grader.model import Job, Limits, Mark, Submission
from grader.notebook import write
from grader.notebook.render import metadata, render, solution
from grader.runtime.execute import execute
from grader.verify.answers import is_deferred

TORCH = ("numpy", "torch", "torch._dynamo")
"""Modules that the kernels of many problems import."""


def run_references(
    bank: Bank, names: Sequence[str], preload: Sequence[str] = ()
) -> tuple[str, ...]:
    """Executes one notebook with the right answers to problems; returns a sentence for each part
    that does not earn full marks.

    One variant is enough, since differences between variants are checked without a kernel. If the
    notebook imports one of the modules in *preload*, kernels have all of them, so that later
    problems can use the same fork server.
    """
    problems = [bank.problem(name) for name in names]
    variants = [draw(problem, sample_seed(problem.id, 0), bank.facts) for problem in problems]
    paper = standalone_paper(variants, "reference")
    data = write(render(paper, bank.templates, solution(paper)), metadata(paper))
    job = Job(
        submission=Submission(student="reference", path="reference.ipynb", sha256="0" * 64),
        names=tuple(name for name, _ in paper.named_keys()),
        call_plans=tuple(
            found
            for name, key in paper.named_keys()
            if (found := kinds.find(key.part.kind).call_plan(name, key)) is not None
        ),
        limits=Limits(),
        loopback=any("loopback" in problem.needs for problem in problems),
    )
    grade = score(paper, execute(job, data, preload=preload))
    keys = dict(paper.named_keys())

    def waits(mark: Mark) -> bool:
        return is_deferred(mark, keys[mark.name])

    return tuple(
        f"{mark.problem}: '{mark.part}' earns {mark.points} of {mark.max_points:g} when a "
        f"kernel runs its right answer: {mark.feedback}"
        for mark in grade.marks
        if mark.points != mark.max_points and not waits(mark)
    )
