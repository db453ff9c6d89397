"""Gradescope's `results.json`, and how often a student may ask for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from grader.errors import SetupError
from grader.integrations.base import StudentExporter, option
from grader.integrations.results import (
    VERDICT_TEXTS,
    deduction_text,
    json_bytes,
    open_parts,
    reason_text,
    warning_notes,
)
from grader.model.exported import Exported, Result
from grader.model.result import Feedback, ShownPart, ShownProblem, Standing
from grader.text.escape import escape_controls, to_one_line
from grader.text.words import count_of as count
from grader.text.words import join_names

FILE = "results.json"
HIDDEN_TOTAL = "Gradescope hides the total from students while any test is hidden from them"


class Visibility(StrEnum):
    """Who may see an entry, and when."""

    ALWAYS = "visible"
    AFTER_DUE = "after_due_date"
    AFTER_PUBLISHED = "after_published"
    STAFF = "hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiers:
    """Who sees what. While any test is hidden from students, Gradescope hides the total too."""

    marks: Visibility = Visibility.ALWAYS
    """Points, verdicts, and reasons."""
    solutions: Visibility = Visibility.AFTER_PUBLISHED
    """Accepted answers and worked solutions, which exist once the feedback is published."""
    output: Visibility = Visibility.STAFF


@dataclass(frozen=True, kw_only=True)
class Gradescope(StudentExporter):
    """Write Gradescope's results.json for every student, or for one."""

    examples = (
        "grader export gradescope results",
        "grader export gradescope results --student ada --out /autograder/results",
    )
    marks: Visibility = option(Visibility.ALWAYS, help="When students see points and reasons.")
    solutions: Visibility = option(
        Visibility.AFTER_PUBLISHED,
        help="When students see accepted answers, once the exam's feedback is published.",
    )

    def export(self, subject: Result) -> Exported:
        """Returns `results.json`, in which open parts have no score."""
        tiers = Tiers(marks=self.marks, solutions=self.solutions)
        return Exported(
            files={FILE: results_json(subject, tiers=tiers)}, notes=export_notes(subject, tiers)
        )


def results_json(
    result: Result,
    *,
    tiers: Tiers | None = None,
    counted: tuple[str, ...] = (),
    above: tuple[str, ...] = (),
) -> bytes:
    """Returns `results.json` of one submission, in which open parts have no score.

    *above* is plain text that precedes everything else. *counted* are the times of the runs that
    count toward the limit, with this one. Raises SetupError if it is not graded yet.
    """
    feedback = result.feedback
    tiers = tiers or Tiers()
    if not feedback.problems and feedback.standing is Standing.WAITING:
        raise SetupError(
            f"the submission of '{feedback.student.id}' is not graded yet", fix="grade it first"
        )
    if feedback.standing is Standing.EXEMPT:
        # Gradescope would add up the scores of tests if there were any.
        sentence = " ".join(("You are exempt, so there is no score.", *feedback.policy_notes))
        return ungraded_result(sentence, exempt=True)
    tests: list[dict[str, object]] = []
    for problem in feedback.problems:
        tests += [
            _part_test(problem, place, part, tiers) for place, part in enumerate(problem.parts, 1)
        ]
        if feedback.is_published and _has_solution(problem):
            tests.append(_solution_test(problem, tiers))
    data: dict[str, object] = {
        **({} if feedback.total is None else {"score": feedback.score}),
        "execution_time": round(result.seconds, 3),
        "output": escape_controls("\n".join((*above, _heading(feedback))).strip()),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": Visibility.ALWAYS.value,
        "stdout_visibility": tiers.output.value,
        "extra_data": {
            "release": feedback.release,
            "submission_sha256": result.submission_sha256,
            "complete": feedback.complete,
            "max_score": feedback.max_score,
            "counted": list(counted),
        },
        "tests": tests,
    }
    return json_bytes(data)


def ungraded_result(sentence: str, **extra: object) -> bytes:
    """Returns `results.json` without any score; *sentence* tells the student why.

    Gradescope has no other way to say "no grade yet", and a 0 would claim that it was judged.
    """
    text = escape_controls(sentence)
    test = {
        "name": "Not graded",
        "name_format": "text",
        "output": text,
        "output_format": "text",
        "status": "failed",
        "visibility": Visibility.ALWAYS.value,
    }
    return _message_json(text, {"not_graded": True, "counted": [], **extra}, tests=[test])


def _message_json(text: str, extra: Mapping[str, object], **more: object) -> bytes:
    """Returns `results.json` with the message *text*, *extra* data for later runs, and *more*."""
    return json_bytes(
        {
            "output": text,
            "output_format": "text",
            "visibility": Visibility.ALWAYS.value,
            "stdout_visibility": Visibility.STAFF.value,
            "extra_data": extra,
            **more,
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRefusal:
    """A submission that exceeds the limit on submissions per period."""

    submission_times: tuple[str, ...]
    """The times of the submissions that used up the limit."""
    score: float | None
    sentence: str

    def results_json(self) -> bytes:
        """Returns `results.json` with the last score, if any, and when to submit again."""
        extra = {"too_soon": True, "counted": list(self.submission_times), "score": self.score}
        if self.score is None:
            return ungraded_result(self.sentence, **extra)
        return _message_json(self.sentence, extra, score=self.score, tests=[])


def rate_refusal(metadata: Mapping[str, Any], *, most: int, minutes: float) -> RateRefusal | None:
    """Returns the refusal of a submission that exceeds *most* within *minutes*, or None.

    Compares the times of submissions, so a queue or a regrade changes nothing. Submissions that
    were themselves too soon, or failed because of an internal error, do not count. *metadata* is
    the content of `submission_metadata.json`; raises SetupError if its times can't be read.
    """
    recent = counted_runs(metadata, minutes=minutes)[:-1]
    if len(recent) < most:
        return None
    until = _parse_time(recent[-most]) + timedelta(minutes=minutes)
    score = _last_score(metadata)
    limit = f"the limit is {count(most, 'submission')} within {minutes:g} minutes"
    return RateRefusal(
        submission_times=recent,
        score=score,
        sentence=f"Not graded: {limit}. Submit again after {until.isoformat(timespec='seconds')}."
        + ("" if score is None else " Your last score stays."),
    )


def counted_runs(metadata: Mapping[str, Any], *, minutes: float) -> tuple[str, ...]:
    """Returns the times of the submissions that count toward the limit, this one last."""
    now = _parse_time(metadata.get("created_at"))
    past = ((when, now - _parse_time(when)) for when in earlier_counted_runs(metadata))
    recent = (when for when, ago in past if timedelta(0) < ago < timedelta(minutes=minutes))
    return (*recent, str(metadata["created_at"]))


def earlier_counted_runs(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the times of earlier submissions that count toward the limit, oldest first.

    These are the ones that the newest result lists, and submissions after it that have no list.
    """
    later: list[str] = []
    for submission in reversed(_previous_submissions(metadata)):
        results = submission.get("results")
        extra = results.get("extra_data") if isinstance(results, Mapping) else None
        extra = extra if isinstance(extra, Mapping) else {}
        if extra.get("unfinished"):
            continue
        if isinstance(extra.get("counted"), list):
            return (*map(str, extra["counted"]), *reversed(later))
        if not submission.get("autograder_error"):
            later.append(str(submission["submission_time"]))
    return tuple(reversed(later))


def _previous_submissions(metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the earlier submissions that have a time, oldest first; empty if there are none."""
    listing = metadata.get("previous_submissions")
    if not isinstance(listing, list):
        return []
    previous = [one for one in listing if isinstance(one, Mapping) and one.get("submission_time")]
    return sorted(previous, key=lambda one: _parse_time(one["submission_time"]))


def _last_score(metadata: Mapping[str, Any]) -> float | None:
    """Returns the score of the latest graded submission; None if there is none."""
    for submission in reversed(_previous_submissions(metadata)):
        try:
            if submission.get("score") is not None and not submission.get("autograder_error"):
                return float(submission["score"])
        except (TypeError, ValueError):
            continue
    return None


def _parse_time(value: object) -> datetime:
    """Returns the time *value*, by default in UTC. Raises SetupError if it can't be read."""
    try:
        when = datetime.fromisoformat(str(value))
    except ValueError:
        raise SetupError(
            f"'{to_one_line(str(value), 60)}' in submission_metadata.json is not a time",
            fix="run this in Gradescope's container, which provides the file",
        ) from None
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when


def _heading(feedback: Feedback) -> str:
    """Returns the plain text above all tests."""
    lines = []
    if feedback.refusal:
        lines.append(feedback.refusal)
    elif feedback.standing is Standing.MISSING:
        lines.append("Your submission contains no notebook.")
    lines += [f"Warning: {text}." for text in feedback.warnings]
    lines += [text for text in (deduction_text(feedback), *feedback.policy_notes) if text]
    if feedback.standing is Standing.WAITING:
        lines.append("A newer submission is not graded yet.")
    waiting = open_parts(feedback.problems)
    if waiting:
        lines.append(f"Still open and not counted in the score: {join_names(waiting)}.")
    if feedback.run:
        lines.append(feedback.run.sentence)
        lines += [f"Code cell {t.number}: {t.error}" for t in feedback.run.troubles]
    return "\n".join(lines)


def _part_test(problem: ShownProblem, place: int, part: ShownPart, who: Tiers) -> dict[str, object]:
    """Returns the test that shows a part; without a score if the part is still open."""
    answer = f"Read as: {to_one_line(part.answer)}" if part.answer else ""
    texts = (VERDICT_TEXTS[part.verdict], answer, escape_controls(reason_text(part)))
    data: dict[str, object] = {
        "name": to_one_line(f"{part.name} ({problem.title})"),
        "name_format": "text",
        "number": f"{problem.number}.{place}",
        "output": "\n\n".join(filter(None, texts)),
        "output_format": "text",
        "visibility": who.marks.value,
        "tags": [part.kind],
        "extra_data": {"name": part.name, "problem": problem.id, "verdict": part.verdict.value},
        "max_score": part.max_points,
    }
    if part.points is not None:
        data["score"] = part.points
        data["status"] = "passed" if part.points >= part.max_points else "failed"
    return data


def _has_solution(problem: ShownProblem) -> bool:
    return bool(problem.solution) or any(part.accepted_answer for part in problem.parts)


def _solution_test(problem: ShownProblem, who: Tiers) -> dict[str, object]:
    """Returns the test that shows a problem's accepted answers and its solution, without points."""
    accepted = [f"{p.name}: {p.accepted_answer}" for p in problem.parts if p.accepted_answer]
    text = "\n\n".join([*accepted, *([problem.solution] if problem.solution else [])])
    return {
        "name": f"q{problem.number}, solution",
        "name_format": "text",
        "number": f"{problem.number}.{len(problem.parts) + 1}",
        "output": escape_controls(text),
        "output_format": "text",
        "visibility": who.solutions.value,
    }


def export_notes(result: Result, tiers: Tiers) -> tuple[str, ...]:
    """Returns what the file does not show to everyone, and which parts have no score."""
    feedback = result.feedback
    notes = []
    waiting = open_parts(feedback.problems)
    if waiting:
        notes.append(f"still open, so they have no score: {join_names(waiting)}")
    notes += warning_notes([result])
    if feedback.standing is Standing.EXEMPT:
        return (*notes, "exempt, so there is no score")
    shown = [tiers.marks] if feedback.problems else []
    if feedback.is_published and any(_has_solution(problem) for problem in feedback.problems):
        shown.append(tiers.solutions)
    if any(tier is not Visibility.ALWAYS for tier in shown):
        notes.append(HIDDEN_TOTAL)
    return tuple(notes)
