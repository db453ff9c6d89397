"""What a runner without a GPU put off, filled in from a run on one that has it."""

from __future__ import annotations

from dataclasses import replace

from grader.kinds import kinds
from grader.model import Answer, Evidence, Grade, Trial, Verdict


def puts_off(evidence: Evidence, grade: Grade | None) -> bool:
    """Whether an open mark waits for another device; one that is blank is settled without."""
    waiting = {name for name, answer in evidence.answers.items() if _waits(answer)}
    marks = grade.marks if grade is not None else ()
    return any(mark.points is None and mark.name in waiting for mark in marks)


def _waits(answer: Answer) -> bool:
    return answer.raw is not None and "deferred" in answer.raw


def of_device(trials: tuple[Trial, ...], device: str) -> tuple[Trial, ...]:
    """Those that need *device*."""
    return tuple(trial for trial in trials if trial.device == device)


def filled(before: Evidence, new: Evidence) -> Evidence:
    """*before* with the answers that it had put off as *new* has them; all else stays."""
    answers = {
        name: new.answers.get(name, answer) if _waits(answer) else answer
        for name, answer in before.answers.items()
    }
    environment = {**before.environment, "filled_in": dict(new.environment)}
    return replace(before, answers=answers, environment=environment)


def to_measure(grade: Grade) -> bool:
    """Whether a mark is open that another measurement may settle."""
    return any(
        mark.verdict is Verdict.UNSETTLED
        and mark.kind in kinds
        and kinds.find(mark.kind).is_measured
        for mark in grade.marks
    )
