"""Code that communicates between processes, where the container can't isolate a network."""

from __future__ import annotations

from dataclasses import replace

from grader.model import Release, Verdict
from grader.model.exported import Result
from grader.model.result import ShownPart
from grader.runtime.sandbox import choose

_WHY = (
    "Your code communicates between processes over 127.0.0.1, which is not possible in this "
    "autograder. No points are deducted; your instructor grades this part elsewhere."
)


def network_problems(release: Release) -> frozenset[str]:
    """Returns the ids of problems whose code communicates between processes."""
    return frozenset(
        name for name, problem in release.problems.items() if "loopback" in problem.needs
    )


def has_loopback(sandbox: str) -> bool:
    """Returns whether student code in the sandbox *sandbox* can use 127.0.0.1.

    Without a network of its own it can't, because it would be the whole container's.
    """
    plan = choose(sandbox).sandbox.plan(loopback=True)
    return plan["loopback"] or plan["filter"] is None


def leave_open(result: Result, release: Release) -> Result:
    """Returns *result* with code parts left open that may have lost points without a network."""
    feedback, needing = result.feedback, network_problems(release)
    problems = tuple(
        replace(p, parts=tuple(map(_leave_part_open, p.parts))) if p.id in needing else p
        for p in feedback.problems
    )
    lost = sum(p.points for p in feedback.problems) - sum(p.points for p in problems)
    feedback = replace(
        feedback,
        problems=problems,
        score=round(feedback.score - lost, 6),
        complete=feedback.complete and problems == feedback.problems,
    )
    return replace(result, feedback=feedback)


def _leave_part_open(part: ShownPart) -> ShownPart:
    judged = part.kind == "code" and part.verdict is not Verdict.ABSENT
    if not judged or part.points is None or part.points >= part.max_points:
        return part
    return replace(part, points=None, verdict=Verdict.UNSETTLED, why=_WHY, look_at="")
