"""What exporters of results share: who has something to export, and which parts count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from grader.errors import SetupError
from grader.model.exported import Result
from grader.model.grade import Verdict
from grader.model.result import ShownPart, ShownProblem, Standing
from grader.words import counted

SAID: Mapping[Verdict, str] = {
    Verdict.CORRECT: "correct",
    Verdict.PARTIAL: "partly right",
    Verdict.MISTAKE: "a known mistake",
    Verdict.INCORRECT: "not right",
    Verdict.ABSENT: "no answer",
    Verdict.UNREADABLE: "can't be read",
    Verdict.UNSETTLED: "open",
}


def graded(result: Result, *, partial: bool) -> tuple[ShownProblem, ...]:
    """The problems of *result*; without its open parts where *partial* allows to leave them out.

    Raises SetupError when nothing was graded, and when parts are open and *partial* is False: a
    format without a place for "not yet" would have to say zero.
    """
    feedback = result.feedback
    if not feedback.problems:
        raise SetupError(
            f"nothing of '{feedback.student.id}' was graded: {feedback.standing.value}",
            fix="collect and grade a submission first",
        )
    if feedback.standing is Standing.WAITING and not partial:
        raise SetupError(
            f"a newer submission of '{feedback.student.id}' is not graded yet",
            fix="grade it first, or export what is settled with --partial",
        )
    if feedback.standing is Standing.REFUSED and not partial:
        raise SetupError(
            f"the submission of '{feedback.student.id}' can't be read: {feedback.refusal}",
            fix="collect a file that can be read, or settle its marks with `grader mark`",
        )
    if feedback.unsettled and not partial:
        raise SetupError(
            f"{counted(feedback.unsettled, 'part is', 'parts are')} still open for "
            f"'{feedback.student.id}', and this format can't say so",
            fix="settle them with `grader mark`, or leave them out with --partial",
        )
    return feedback.problems


def settled(problem: ShownProblem) -> tuple[ShownPart, ...]:
    """The parts that have points."""
    return tuple(part for part in problem.parts if part.points is not None)


def open_parts(problems: Iterable[ShownProblem]) -> tuple[str, ...]:
    """The names of the parts that have none yet."""
    return tuple(p.name for problem in problems for p in problem.parts if p.points is None)


def left_out(result: Result) -> tuple[str, ...]:
    """Notes on open parts, and on a newer submission that waits, where there are any."""
    feedback = result.feedback
    names = open_parts(feedback.problems)
    notes = []
    if feedback.standing is Standing.REFUSED and feedback.refusal:
        notes.append(f"the submission can't be read: {feedback.refusal}")
    if names:
        notes.append(
            f"left out of the points and of their sum, as they are still open: {listed(names)}"
        )
    if feedback.standing is Standing.WAITING:
        notes.append("of the submission before the latest, which is not graded yet")
    notes += warnings([result])
    return tuple(notes)


def warnings(results: Iterable[Result]) -> Iterator[str]:
    """A note for everything odd about a graded file, such as that it is another student's."""
    for result in results:
        for text in result.feedback.warnings:
            yield f"{result.feedback.student.id}: {text}"


def reason(part: ShownPart) -> str:
    """Why the points are what they are, and what to look at; may hold text from the student."""
    return "\n\n".join(text for text in (part.why, part.look_at) if text)


def listed(names: Iterable[str], most: int = 8) -> str:
    """Some names as a sentence has them.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    every = list(names)
    shown = ", ".join(every[:most])
    return f"{shown} and {len(every) - most} more" if len(every) > most else shown
