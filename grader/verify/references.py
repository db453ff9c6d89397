"""Runs the right answers to problems in a kernel, as a student's notebook would run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed, standalone_paper
from grader.errors import GraderError
from grader.grading.score import score
from grader.kinds import kinds, ratios
from grader.kinds.attempts import required_packages
from grader.kinds.measurement import MeasurementKey
from grader.model import Job, Key, Limits, Raw, Submission
from grader.notebook import write
from grader.notebook.render import metadata, render, solution
from grader.runtime.execute import execute
from grader.runtime.kernels import LaunchSpec, start_early
from grader.runtime.sandbox import choose_sandbox
from grader.verify.answers import is_deferred

MARGIN = 1.5
"""The ratio of the right answer's speed-up to the largest that the points require, at least.

Speed-ups differ between machines: with less, a right answer could miss the points elsewhere.
"""


def start_kernels_early(bank: Bank, name: str) -> None:
    """Starts the process that kernels are forked from while the problem *name* is checked."""
    with suppress(GraderError):  # the check reports what is wrong with the problem
        problem = bank.problem(name)
        needed = {m for part in problem.parts for m in required_packages(part, problem.solution)}
        spec = LaunchSpec(
            sandbox=choose_sandbox("auto").sandbox,
            loopback="loopback" in problem.needs,
            imports=("numpy", "torch") if "torch" in needed else (),
        )
        start_early(spec)


def run_references(
    bank: Bank, names: Sequence[str], preload: Sequence[str] = ()
) -> tuple[str, ...]:
    """Executes one notebook with the right answers to problems; returns a sentence for each part
    that does not earn full marks, or only by a narrow margin.

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
    evidence = execute(job, data, preload=preload)
    keys = dict(paper.named_keys())

    wrong = []
    for mark in score(paper, evidence).marks:
        key = keys[mark.name]
        if mark.points == mark.max_points:
            narrow = _narrow_margin(key, evidence.answers[mark.name].raw)
            if narrow:
                wrong.append(f"{mark.problem}: '{mark.part}': {narrow}")
        elif not is_deferred(mark, key):
            wrong.append(
                f"{mark.problem}: '{mark.part}' earns {mark.points} of {mark.max_points:g} when a "
                f"kernel runs its right answer: {mark.feedback}"
            )
    return tuple(wrong)


def _narrow_margin(key: Key, raw: Raw | None) -> str | None:
    """Returns a sentence if *raw*, which earns full marks, is barely fast enough for them."""
    measured = (raw or {}).get("race")
    if not isinstance(key, MeasurementKey) or not isinstance(measured, dict):
        return None
    needed = max(step.ratio for step in key.part.speed)
    middle = ratios.measured_ratio(measured).middle
    if middle >= MARGIN * needed:
        return None
    return (
        f"the right answer has a speed-up of {middle:.3g}, and full marks require {needed:g}: on "
        f"another machine, it may be too slow; require less, or enlarge the inputs"
    )
