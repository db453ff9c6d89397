"""Shared by exporters of results: which parts count, and notes about the rest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from grader.errors import SetupError
from grader.model.exported import Result
from grader.model.grade import Verdict
from grader.model.result import Feedback, ShownPart, ShownProblem, Standing
from grader.text.words import count_of, count_points, join_names, points

VERDICT_TEXTS: Mapping[Verdict, str] = {
    Verdict.CORRECT: "correct",
    Verdict.PARTIAL: "partly right",
    Verdict.MISTAKE: "a known mistake",
    Verdict.INCORRECT: "not right",
    Verdict.ABSENT: "no answer",
    Verdict.UNREADABLE: "can't be read",
    Verdict.UNSETTLED: "open",
}


def json_bytes(data: object) -> bytes:
    """Returns *data* as indented JSON in UTF-8, with a line break at the end."""
    return (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def graded_problems(result: Result, *, leave_out: bool) -> tuple[ShownProblem, ...]:
    """Returns the problems of *result*.

    Raises SetupError if there is no grade, or if "not yet" would have to be exported as a zero.
    """
    feedback = result.feedback
    if feedback.standing is Standing.EXEMPT:
        raise SetupError(
            f"'{feedback.student.id}' is exempt from this set", fix="leave this student out"
        )
    if not feedback.problems:
        raise SetupError(
            f"'{feedback.student.id}' has no grade: {feedback.standing.value}",
            fix="collect and grade a submission first",
        )
    if feedback.standing is Standing.WAITING and not leave_out:
        raise SetupError(
            f"a newer submission of '{feedback.student.id}' is not graded yet",
            fix="grade it first, or export the settled parts with --leave-out",
        )
    if feedback.standing is Standing.REFUSED and not leave_out:
        raise SetupError(
            f"the submission of '{feedback.student.id}' can't be read: {feedback.refusal}",
            fix="collect a readable file, or settle the marks with `grader mark`",
        )
    if feedback.unsettled and not leave_out:
        raise SetupError(
            f"{count_of(feedback.unsettled, 'part is', 'parts are')} still open for "
            f"'{feedback.student.id}', which this format can't represent",
            fix="settle them with `grader mark`, or leave them out with --leave-out",
        )
    return feedback.problems


def settled_parts(problem: ShownProblem) -> tuple[ShownPart, ...]:
    """Returns the parts of *problem* that have points."""
    return tuple(part for part in problem.parts if part.points is not None)


def open_parts(problems: Iterable[ShownProblem]) -> tuple[str, ...]:
    """Returns the names of the parts that have no points yet."""
    return tuple(p.name for problem in problems for p in problem.parts if p.points is None)


def omission_notes(result: Result) -> tuple[str, ...]:
    """Returns notes on a refusal, on open parts, on a newer ungraded submission, and warnings."""
    feedback = result.feedback
    names = open_parts(feedback.problems)
    notes = []
    if feedback.standing is Standing.REFUSED and feedback.refusal:
        notes.append(f"the submission can't be read: {feedback.refusal}")
    if names:
        notes.append(f"left out of points and maximum because they are open: {join_names(names)}")
    if feedback.standing is Standing.WAITING:
        notes.append("these are the points of an earlier submission; the latest is not graded yet")
    notes += warning_notes([result])
    return tuple(notes)


def deduction_text(feedback: Feedback) -> str:
    """Returns what the course's policies take from the points, and why; empty if nothing."""
    taken, raw = feedback.deduction, feedback.raw_score
    if taken is None or raw is None:
        return ""
    if taken.points > 0:
        verb = "is" if points(raw) == "1" else "are"
        return f"{points(taken.points)} of {count_points(raw)} {verb} deducted. {taken.why}"
    if taken.points == 0:
        return taken.why
    return f"This attempt earned {points(raw)}. {taken.why}"


def warning_notes(results: Iterable[Result]) -> Iterator[str]:
    """Yields the warnings about graded files, such as that one names another student."""
    for result in results:
        for text in result.feedback.warnings:
            yield f"{result.feedback.student.id}: {text}"


def reason_text(part: ShownPart) -> str:
    """Returns why a part has its points and what to review, maybe with text from the student."""
    return "\n\n".join(text for text in (part.why, part.look_at) if text)
