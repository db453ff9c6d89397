"""What a runner without a GPU or a package put off, filled in from a run on one that has it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from grader.execute.waiting import waits_for
from grader.kinds import kinds
from grader.measured import is_final
from grader.model import Answer, Evidence, Grade, Mark, Part, Trial, packages
from grader.model.evidence import DISTURBED


def puts_off(evidence: Evidence, grade: Grade | None) -> frozenset[str]:
    """The answers whose open marks wait for another machine; a blank one is settled without."""
    waiting = {name for name, answer in evidence.answers.items() if _waits(answer)}
    marks = grade.marks if grade is not None else ()
    return frozenset(m.name for m in marks if m.points is None and m.name in waiting)


def _waits(answer: Answer) -> bool:
    return answer.raw is not None and "deferred" in answer.raw


def fillable(trials: tuple[Trial, ...], device: str) -> tuple[Trial, ...]:
    """Those that another runner may have put off, and this one can make."""
    return tuple(
        trial
        for trial in trials
        if (trial.device != "cpu" or trial.needs) and not waits_for(trial, device)
    )


def needed(parts: Iterable[Part]) -> tuple[str, ...]:
    """The packages that *parts* need, each once."""
    names = (name for part in parts for name in getattr(part, "needs", ()))
    return tuple(dict.fromkeys(names))


def why_nothing(parts: Iterable[Part], device: str) -> tuple[str, str] | None:
    """Why no part can be filled in on this machine, and what to do; None where one can."""
    wanted = needed(parts)
    lacking = packages.missing(wanted)
    if device != "cpu" or len(lacking) < len(wanted):
        return None
    if not wanted:
        return "nothing is put off for a CPU", "add --device cuda, on a machine that has a GPU"
    return (
        f"what is put off here needs {' and '.join(lacking)}, which this machine lacks",
        f"pip install {' '.join(lacking)}, or go on where it is installed",
    )


def filled(before: Evidence, new: Evidence, made: frozenset[str]) -> Evidence:
    """*before* with those answers of *made* that it had put off as *new* has them."""
    answers = {
        name: new.answers.get(name, answer) if name in made and _waits(answer) else answer
        for name, answer in before.answers.items()
    }
    environment = {**before.environment, "filled_in": dict(new.environment)}
    environment[DISTURBED] = {**before.disturbed} | {
        name: why for name, why in new.disturbed.items() if name in made
    }
    return replace(before, answers=answers, environment=environment)


def to_run_again(grade: Grade, evidence: Evidence) -> bool:
    """Whether a mark is open that another run may settle.

    The machine may have disturbed the run, or a measurement was not clear and was not made alone.
    """
    return any(_may_settle(mark, evidence) for mark in grade.marks if mark.points is None)


def _may_settle(mark: Mark, evidence: Evidence) -> bool:
    if mark.name in evidence.disturbed:
        return True
    answer = evidence.answers.get(mark.name)
    final = answer is not None and is_final(answer.raw)
    return mark.kind in kinds and kinds.find(mark.kind).is_measured and not final
