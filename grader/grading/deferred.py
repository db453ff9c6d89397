"""Fills in what a runner without a GPU or a package deferred."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from grader.kinds import kinds
from grader.kinds.attempts import required_packages
from grader.kinds.ratios import is_final
from grader.model import Answer, CallPlan, Evidence, Grade, Mark, Problem, packages
from grader.model.evidence import CUT_SHORT, DISTURBED
from grader.model.grouping import group_by_key
from grader.model.packages import PACKAGES, install_command
from grader.runtime.execute.deferral import missing_requirement
from grader.text.words import join_names

_NAMED = 5


def deferred_names(evidence: Evidence, grade: Grade | None) -> frozenset[str]:
    """Returns the answers whose open marks wait for another machine, except blank ones."""
    waiting = {name for name, answer in evidence.answers.items() if answer.missing_requirement}
    marks = grade.marks if grade is not None else ()
    return frozenset(m.name for m in marks if m.points is None and m.name in waiting)


def runnable_call_plans(call_plans: tuple[CallPlan, ...], device: str) -> tuple[CallPlan, ...]:
    """Returns the call plans that another runner may have deferred and that this one can run."""
    return tuple(
        call_plan
        for call_plan in call_plans
        if (call_plan.device != "cpu" or call_plan.needs)
        and not missing_requirement(call_plan, device)
    )


def can_fill_in(waiting: Iterable[str], evidence: Evidence, call_plans: Sequence[CallPlan]) -> bool:
    """Returns whether this machine can fill in one of the answers *waiting*."""
    made = {call_plan.name for call_plan in call_plans}
    return any(name in made or _can_run_now(evidence.answers[name]) for name in waiting)


def _can_run_now(answer: Answer) -> bool:
    """Returns whether the answer's cell stopped because of a package that is installed here."""
    return answer.is_unexecuted and not packages.missing_packages([answer.missing_requirement])


def has_run_more(evidence: Evidence, call_plans: Iterable[CallPlan], device: str) -> bool:
    """Returns whether the machine of *evidence* ran a call that this one would defer."""
    answers = (evidence.answers.get(t.name) for t in call_plans if missing_requirement(t, device))
    return any(a is not None and a.raw is not None and not a.missing_requirement for a in answers)


def missing_packages(problems: Mapping[str, Problem]) -> dict[str, tuple[str, ...]]:
    """Returns the packages that are missing here, each with the problems that wait for it."""
    missing = group_by_key(
        (package, name)
        for name, problem in problems.items()
        for package in packages.missing_packages(_needed_packages([problem]))
    )
    return {package: tuple(names) for package, names in missing.items()}


def missing_package_notes(problems: Mapping[str, Problem]) -> Iterator[str]:
    """Yields a sentence per missing package: what waits for it, and what to do."""
    for package, names in missing_packages(problems).items():
        yield (
            f"{PACKAGES[package].title} is not installed here, and code in these problems needs "
            f"it: {join_names(names, _NAMED)}. Those marks stay open, and no points are deducted. "
            f"To fill them in: {install_command([package])}, then run the same command with --only "
            "deferred"
        )


def blocking_reason(problems: Iterable[Problem], device: str) -> tuple[str, str] | None:
    """Returns why nothing can be filled in on this machine, and what to do, or None if something
    can."""
    needed = _needed_packages(problems)
    missing = packages.missing_packages(needed)
    if device != "cpu" or len(missing) < len(needed):
        return None
    if not needed:
        return "nothing is deferred for a CPU", "add --device cuda, on a machine that has a GPU"
    return (
        f"the deferred parts need {' and '.join(missing)}, which this machine lacks",
        f"{install_command(missing)}, or run on a machine that has it",
    )


def _needed_packages(problems: Iterable[Problem]) -> tuple[str, ...]:
    """Returns the packages that *problems* need, each once."""
    names = (
        n
        for problem in problems
        for part in problem.parts
        for n in required_packages(part, problem.solution)
    )
    return tuple(dict.fromkeys(names))


def fill_in(before: Evidence, new: Evidence, made: frozenset[str]) -> Evidence:
    """Returns *before* with the answers that *new* could settle on this machine.

    Those are the answers whose call plans ran, which *made* names, and those whose cells stopped
    because of a package that is installed here.
    """
    here = {
        name
        for name, answer in before.answers.items()
        if _can_run_now(answer) or (name in made and answer.missing_requirement)
    }
    answers = {
        name: new.answers.get(name, answer) if name in here else answer
        for name, answer in before.answers.items()
    }
    environment = {**before.environment, "filled_in": dict(new.environment)}
    for which, old, now in (
        (DISTURBED, before.disturbances, new.disturbances),
        (CUT_SHORT, before.cut_short, new.cut_short),
    ):
        reasons = {name: why for name, why in now.items() if name in made or name in here}
        environment[which] = {**old} | reasons
    return replace(before, answers=answers, environment=environment)


def needs_rerun(grade: Grade, evidence: Evidence) -> bool:
    """Returns whether a mark is open that another run may settle.

    The machine may have disturbed the run, or a measurement was inconclusive and not made alone.
    """
    return any(_can_settle(mark, evidence) for mark in grade.marks if mark.points is None)


def _can_settle(mark: Mark, evidence: Evidence) -> bool:
    """Returns whether *mark* was disturbed, or measured without a final result."""
    if mark.name in evidence.disturbances:
        return True
    answer = evidence.answers.get(mark.name)
    final = answer is not None and is_final(answer.raw)
    return mark.kind in kinds and kinds.find(mark.kind).is_measured and not final
