"""The reference answers through the whole pipeline, in a real kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grader.draw import draw, loose_paper, sample_seed
from grader.execute import execute
from grader.kinds import kinds
from grader.load import Bank
from grader.machine.counters import EVENTS, uncounted
from grader.model import Job, Limits, Mark, Submission, Verdict, packages
from grader.notebook import write
from grader.render import metadata, render, solution
from grader.score import score


def run_references(
    bank: Bank, wanted: Sequence[str] | None, sound: Iterable[str], seed: int = 0
) -> tuple[str, ...]:
    """What does not hold when one notebook with all *sound* problems, solved, is really run.

    Only the first variant of each: what differs between variants needs no kernel and is checked
    over all seeds.
    """
    names = [n for n in (wanted or bank.listed) if bank.problem(n).id in set(sound)]
    problems = [bank.problem(name) for name in names]
    variants = [draw(p, sample_seed(p.id, seed), bank.facts) for p in problems]
    paper = loose_paper(variants, "reference")
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
        loopback=any("loopback" in problem.needs for problem in problems),
    )
    grade = score(paper, execute(job, data))
    keys = dict(paper.named_keys())

    def lacks(mark: Mark) -> bool:
        part = keys[mark.name].part
        by = getattr(part, "by", "")
        if by in EVENTS and uncounted(by) is not None:
            return True
        return bool(packages.missing(getattr(part, "needs", ())))

    return tuple(
        f"{mark.problem}: '{mark.part}' earns {mark.points} of {mark.max_points:g} when its right "
        f"answer is run in a kernel: {mark.feedback}"
        for mark in grade.marks
        if mark.points != mark.max_points
        and not (mark.verdict is Verdict.UNSETTLED and (mark.kind == "explanation" or lacks(mark)))
    )
