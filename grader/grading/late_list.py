"""Lists when submissions were handed in, and what lateness costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from grader.course.times import duration_text, local_text
from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading.course_policy import CoursePolicy, policy_of
from grader.grading.sources import rows_of, source_of
from grader.model import Submission
from grader.model.course import HandedIn, TimeSource
from grader.model.result import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class LateLine:
    """One student's submission that counts."""

    student: str
    received: str | None
    """In the course's time zone; None if no trusted time is known."""
    source: str
    """Where the time comes from; empty if unknown."""
    late: bool
    late_by: str
    slip_days: int
    raw: float | None
    deduction: float
    total: float | None
    why: str


def list_lateness(out: Path) -> tuple[LateLine, ...]:
    """Returns a line for every student with a grade, sorted by student."""
    with Gradebook.open(out) as book:
        graded = source_of(book)
        policy = policy_of(book, graded.exam)
        if policy is None:
            raise SetupError(
                "these results have no course with dates for their set",
                where=str(out),
                fix="add one with `grader score RESULTS --course FILE`",
            )
        files = {
            (submission.student, submission.sha256): submission for submission in book.submissions()
        }
        lines = [_late_line(policy, row, files) for row in rows_of(book, graded) if row.grade]
    return tuple(sorted(lines, key=lambda line: line.student))


def _late_line(
    policy: CoursePolicy, row: Row, files: dict[tuple[str, str], Submission]
) -> LateLine:
    """Returns when the attempt that counts in *row* was handed in, and what lateness costs. *files*
    are all submissions by student and SHA-256."""
    sha256 = (row.grade.submission_sha256 if row.grade else None) or ""
    submission = files.get((row.student.id, sha256))
    attempts = policy.attempts_of([submission], {}) if submission else ()
    stated = policy.rules_of(row.student).received
    received = stated or (attempts[0].received if attempts else None)
    source = TimeSource.STAFF if stated else attempts[0].source if attempts else None
    deduction = row.deduction
    seconds = deduction.late_seconds if deduction else 0.0
    return LateLine(
        student=row.student.id,
        received=local_text(received, policy.zone) if received else None,
        source=source.value if source else "",
        late=seconds > 0,
        late_by=duration_text(timedelta(seconds=seconds)) if seconds else "",
        slip_days=deduction.slip_days if deduction else 0,
        raw=row.total if row.raw_score is None else row.raw_score,
        deduction=deduction.points if deduction else 0.0,
        total=row.total,
        why=deduction.why if deduction else "",
    )


def minutes_with_paper(times: Iterable[HandedIn]) -> list[float]:
    """Returns the minutes from when a student got the paper until the last file came, for each
    student of whom both are known."""
    started: dict[str, datetime] = {}
    received: dict[str, datetime] = {}
    for handed_in in times:
        if handed_in.started is not None:
            begins = datetime.fromisoformat(handed_in.started)
            started[handed_in.student] = min(begins, started.get(handed_in.student, begins))
        if handed_in.received is not None:
            ends = datetime.fromisoformat(handed_in.received)
            received[handed_in.student] = max(ends, received.get(handed_in.student, ends))
    spans = ((received[who] - begins) for who, begins in started.items() if who in received)
    return [span.total_seconds() / 60 for span in spans if span > timedelta(0)]
