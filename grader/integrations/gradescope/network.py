"""Code that communicates between processes, where the container can't isolate a network."""

from __future__ import annotations

from dataclasses import replace

from grader.model import Release, Verdict
from grader.model.exported import Result
from grader.model.result import ShownPart, ShownProblem
from grader.runtime.sandbox import choose

_WHY = (
    "Your code communicates between processes over 127.0.0.1, which is not possible in this "
    "autograder. No points are deducted; your instructor grades this part elsewhere."
)


def network_problems(release: Release) -> frozenset[str]:
    """The ids of problems whose code communicates between processes."""
    return frozenset(name for name, one in release.problems.items() if "loopback" in one.needs)


def has_loopback(sandbox: str) -> bool:
    """Whether student code in the sandbox *sandbox* can use 127.0.0.1.

    It can if the sandbox has its own network. Otherwise the system-call filter refuses it,
    because the network would be the whole container's. Raises SetupError if a required layer of
    the sandbox is missing.
    """
    plan = choose(sandbox).sandbox.plan(loopback=True)
    return plan["loopback"] or plan["filter"] is None


def leave_open(result: Result, release: Release) -> Result:
    """*result* with code parts left open that may have lost points for lack of a network.

    Changes only problems that need a network. Full marks stay, and blank parts stay at zero.
    """
    needing = network_problems(release)
    feedback = result.feedback
    problems = tuple(_leave_parts_open(p) if p.id in needing else p for p in feedback.problems)
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


def _leave_parts_open(problem: ShownProblem) -> ShownProblem:
    parts = tuple(
        replace(part, points=None, verdict=Verdict.UNSETTLED, why=_WHY, look_at="")
        if _may_lack_network(part)
        else part
        for part in problem.parts
    )
    return replace(problem, parts=parts)


def _may_lack_network(part: ShownPart) -> bool:
    return (
        part.kind == "code"
        and part.verdict is not Verdict.ABSENT
        and part.points is not None
        and part.points < part.max_points
    )
