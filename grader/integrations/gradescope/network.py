"""What a container without a network of its own can't judge."""

from __future__ import annotations

from dataclasses import replace

from grader.model import Release, Verdict
from grader.model.exported import Result
from grader.model.result import ShownPart, ShownProblem
from grader.runtime.sandbox import choose

_WHY = (
    "Your code talks between processes over 127.0.0.1, which is not possible where this was "
    "graded. This costs no points: your instructor grades it elsewhere."
)


def talking(release: Release) -> frozenset[str]:
    """The problems whose code talks between processes."""
    return frozenset(name for name, one in release.problems.items() if "loopback" in one.needs)


def has_loopback(sandbox: str) -> bool:
    """Whether student code that is kept in by *sandbox* can talk to itself over 127.0.0.1.

    It can in a network of its own. Where there is none, it would be that of the whole container,
    and so the filter refuses it. Raises SetupError when the sandbox lacks what it must have.
    """
    plan = choose(sandbox).sandbox.plan(loopback=True)
    return plan["loopback"] or plan["filter"] is None


def left_open(result: Result, release: Release) -> Result:
    """*result* without the points of code that lost some, perhaps for lack of a network.

    Of problems that need it alone. What is right stays so, and what was left blank is worth
    nothing anywhere.
    """
    needing = talking(release)
    feedback = result.feedback
    problems = tuple(_opened(p) if p.id in needing else p for p in feedback.problems)
    lost = sum(p.points for p in feedback.problems) - sum(p.points for p in problems)
    opened = any(a != b for a, b in zip(problems, feedback.problems, strict=True))
    return replace(
        result,
        feedback=replace(
            feedback,
            problems=problems,
            score=round(feedback.score - lost, 6),
            complete=feedback.complete and not opened,
        ),
    )


def _opened(problem: ShownProblem) -> ShownProblem:
    parts = tuple(
        replace(part, points=None, verdict=Verdict.UNSETTLED, why=_WHY, look_at="")
        if _may_be_ours(part)
        else part
        for part in problem.parts
    )
    return replace(problem, parts=parts)


def _may_be_ours(part: ShownPart) -> bool:
    return (
        part.kind == "code"
        and part.verdict is not Verdict.ABSENT
        and part.points is not None
        and part.points < part.max_points
    )
