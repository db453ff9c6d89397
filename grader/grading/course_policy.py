"""Applies a course's policies to grades: the attempt that counts, and its deductions.

The grader's marks, manual changes, and deductions are stored separately, and combined when they are
read. If the reason for a deduction no longer applies, neither does the deduction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from statistics import fmean
from zoneinfo import ZoneInfo

from grader.course import (
    Attempt,
    CountedAttempt,
    choose_attempt,
    count_attempts,
    course_from_plain,
    rules_for,
)
from grader.course.rules import usual_rules
from grader.course.times import parse_time
from grader.gradebook import Gradebook
from grader.gradebook.audit_log import ENGINE
from grader.grading.other_files import other_files_of
from grader.model import Student, Submission
from grader.model.course import UNTRUSTED, Course, Deduction, HandedIn, Rules, TimeSource
from grader.model.grouping import group_by_key
from grader.model.result import Row, Standing
from grader.release.papers import seats_of
from grader.text.words import count_of, points

COURSE = "course"
"""The gradebook's key for the course whose policies count."""


@dataclass(frozen=True, kw_only=True)
class CoursePolicy:
    """The policies of a course for one set, with the data about submissions that they need."""

    course: Course
    set_id: str
    slip_days_used: Mapping[str, int] = field(default_factory=dict)
    """How many slip days each student used in other sets."""
    times: Sequence[HandedIn] = ()
    other_files: Collection[tuple[str, str]] = frozenset()
    """Student and SHA-256 of each file that is not of the exam."""

    @cached_property
    def zone(self) -> ZoneInfo:
        """The course's time zone."""
        return ZoneInfo(self.course.time_zone)

    @cached_property
    def _usual(self) -> Rules:
        return usual_rules(self.course, self.set_id)

    @property
    def needs_all_attempts(self) -> bool:
        """Whether every attempt must be graded, not only the newest ones.

        Then a later exception needs no execution. Files that can't be graded are not attempts.
        """
        policy = self._usual.attempts
        return policy.count != "newest" or policy.limit is not None or policy.deduct > 0

    @property
    def may_choose_attempt(self) -> bool:
        """Whether another attempt than the newest may count."""
        may_refuse = not self._usual.late.accept or self._usual.closes is not None
        return self.needs_all_attempts or may_refuse

    @property
    def has_deadline(self) -> bool:
        """Whether a submission to the set can be late."""
        usual = self._usual
        return any(limit is not None for limit in (usual.due, usual.closes, usual.minutes))

    def lacks_time(self, student: Student, submission: Submission) -> bool:
        """Returns whether lateness matters for this file and its time is unknown."""
        rules = self.rules_of(student)
        attempt = self._attempt_of(submission, None)
        is_known = rules.received or attempt.received or attempt.by_staff
        return not is_known and not rules.exempt

    @cached_property
    def _times_by_file(self) -> Mapping[tuple[str, str], HandedIn]:
        return {(handed_in.student, handed_in.sha256): handed_in for handed_in in self.times}

    @cached_property
    def _times_by_student(self) -> Mapping[str, Sequence[HandedIn]]:
        return group_by_key((handed_in.student, handed_in) for handed_in in self.times)

    @cached_property
    def _rules(self) -> dict[Student, Rules]:
        return {}

    def shows_solutions(self, now: datetime) -> bool:
        """Returns whether students may see accepted answers and worked solutions at *now*."""
        feedback = self.course.sets[self.set_id].feedback
        return feedback is not None and parse_time(feedback, self.zone, opening=True) <= now

    def rules_of(self, student: Student) -> Rules:
        """Returns the rules that apply to *student*."""
        if student not in self._rules:
            rules = rules_for(self.course, self.set_id, student)
            remaining = max(0, self.course.slip_days - self.slip_days_used.get(student.id, 0))
            self._rules[student] = replace(rules, slip_days=min(rules.slip_days, remaining))
        return self._rules[student]

    def attempts_of(
        self, mine: Sequence[Submission], scores: Mapping[str, float]
    ) -> tuple[Attempt, ...]:
        """Returns the attempts of one student, by time if all are known, else as collected.

        *scores* are the points before deductions, by SHA-256 of the file.
        """
        return tuple(
            self._attempt_of(submission, scores.get(submission.sha256))
            for submission in self.by_time(mine)
        )

    def attempts_among(self, graded: Sequence[Submission]) -> Sequence[Submission]:
        """Returns those of one student's *graded* files that are attempts. If every attempt is
        graded, a file that can't be read or is not of the exam is no attempt, unless it is the only
        file."""
        files = (one for one in graded if (one.student, one.sha256) not in self.other_files)
        fitting = [submission for submission in files if submission.refusal is None]
        return fitting if fitting and self.needs_all_attempts else graded

    def by_time(self, mine: Sequence[Submission]) -> list[Submission]:
        """Returns the files of one student, by time if all are known, else in the given order.

        A file that was handed in or collected several times is a single attempt, from its first
        time on. If a time is unknown, its last place counts, as for any newer file.
        """
        times = {submission: self._attempt_of(submission, None).received for submission in mine}
        attempts: dict[str, Submission] = {}
        if None in times.values():
            for submission in mine:
                attempts.pop(submission.sha256, None)  # so that it gets the last place
                attempts[submission.sha256] = submission
        else:
            for submission in sorted(mine, key=lambda one: times[one] or datetime.min):
                attempts.setdefault(submission.sha256, submission)
        return list(attempts.values())

    def _attempt_of(self, submission: Submission, score: float | None) -> Attempt:
        """Returns *submission* as an attempt, with the time at which it was handed in, if known."""
        digests = (submission.sha256, "")  # of the file, or else of all files of the student
        times = [t for d in digests if (t := self._times_by_file.get((submission.student, d)))]
        # A line about the file may have only its start.
        stated = next((time for time in times if time.received), times[0] if times else None)
        received = stated.received if stated else None
        source = stated.source if stated and received else None
        if source in UNTRUSTED and not self.course.file_dates:
            received = None
            source = None
        if received is None and self.course.file_dates:
            received = submission.received
            source = TimeSource.FILE
        starts = [time.started for time in times if time.started]
        return Attempt(
            sha256=submission.sha256,
            received=_instant(received),
            source=source if received else None,
            by_staff=bool(stated and stated.by),
            started=_instant(starts[0] if starts else None),
            score=score,
        )

    def count(
        self,
        student: Student,
        mine: Sequence[Submission],
        scores: Mapping[str, float],
        max_score: float,
    ) -> tuple[CountedAttempt, ...]:
        """Returns the student's attempts with their deductions, oldest first."""
        rules = self.rules_of(student)
        return count_attempts(rules, self.attempts_of(mine, scores), max_score, self.zone)

    def order(
        self,
        student: Student,
        mine: Sequence[Submission],
        scores: Mapping[str, float] | None = None,
        max_score: float = 0.0,
        unsettled: Collection[str] = (),
    ) -> tuple[Submission, ...]:
        """Returns *mine* with the attempt that counts last; see `choose_attempt`."""
        if len(mine) < 2:
            return tuple(mine)
        attempts = self.count(student, mine, scores or {}, max_score)
        chosen = choose_attempt(self.rules_of(student), attempts, unsettled)
        if chosen is None:
            return tuple(mine)
        return tuple(
            sorted(mine, key=lambda submission: submission.sha256 == chosen.attempt.sha256)
        )

    def to_grade(self, student: Student, mine: Sequence[Submission]) -> list[Submission]:
        """Returns those of *mine*, oldest first, that must be graded: all, or the one that counts
        and newer ones, which may count after an exception is granted."""
        ordered = self.by_time(mine)
        if self.needs_all_attempts:
            return ordered
        if not self.may_choose_attempt:
            return ordered[-1:]
        attempts = self.count(student, ordered, {}, 0.0)
        counting = [place for place, attempt in enumerate(attempts) if attempt.deduction.counts]
        return ordered[counting[-1] if counting else -1 :]

    def digest_data(self, student: Student) -> object:
        """Returns all that decides what the policies do to *student*, as data with a `repr`."""
        times = self._times_by_student.get(student.id, ())
        others = sorted(file for file in self.other_files if file[0] == student.id)
        return self.rules_of(student), times, others, self.course.time_zone, self.course.file_dates


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def policy_of(book: Gradebook, set_id: str) -> CoursePolicy | None:
    """Returns the policies that were stored in *book*, or None if there are none for the set."""
    course, slip_days_used = _stored_course(book)
    if course is None or set_id not in course.sets:
        return None
    return policy_with(book, set_id, course, slip_days_used)


def policy_with(
    book: Gradebook, set_id: str, course: Course, slip_days_used: Mapping[str, int]
) -> CoursePolicy:
    """Returns the policies of *course* for the set *set_id*, or those of an empty course if
    *course* does not list the set."""
    counts = course if set_id in course.sets else Course(id=course.id)
    if seats_of(book) is not None:
        # On paper, another attempt is the same paper, typed in again with a correction.
        sets = {id_: replace(course_set, attempts=None) for id_, course_set in counts.sets.items()}
        counts = replace(counts, attempts=Course(id=course.id).attempts, sets=sets)
    return CoursePolicy(
        course=counts,
        set_id=set_id,
        slip_days_used=slip_days_used,
        times=book.times(),
        other_files=other_files_of(book),
    )


def _stored_course(book: Gradebook) -> tuple[Course | None, Mapping[str, int]]:
    """Returns the course in *book*, if any, and how many slip days each student used elsewhere."""
    stored = book.setting(COURSE)
    if not isinstance(stored, dict):
        return None, {}
    return course_from_plain(stored["course"]), stored.get("slip_days_used", {})


def zone_of(book: Gradebook, course: Course | None) -> ZoneInfo:
    """Returns the time zone of *course* or, if None, of the course in *book*, or else UTC."""
    course = course or _stored_course(book)[0]
    return ZoneInfo(course.time_zone if course else "UTC")


def compares_answers(book: Gradebook, set_id: str) -> bool:
    """Returns whether the course in *book* turns on the comparison of answers between students."""
    course, _ = _stored_course(book)
    if course is None:
        return False
    own = course.sets[set_id].shared_answers if set_id in course.sets else None
    return course.shared_answers if own is None else own


def store_course(
    book: Gradebook,
    course: Course,
    slip_days_used: Mapping[str, int],
    *,
    by: str = ENGINE,
    why: str = "",
) -> None:
    """Stores the course whose policies count from now on."""
    plain = {"course": asdict(course), "slip_days_used": dict(slip_days_used)}
    book.set_setting(COURSE, plain, by=by, why=why)


def apply_policy(
    policy: CoursePolicy,
    rows: Iterable[Row],
    submissions: Iterable[Submission],
    scores: Mapping[tuple[str, str], float],
) -> Iterator[Row]:
    """Yields *rows* with what the course deducts.

    *scores* maps student and SHA-256 of the file to the points before deductions, for students with
    several graded attempts. Only policies that choose between attempts use them.
    """
    attempts = group_by_key((submission.student, submission) for submission in submissions)
    for row in rows:
        yield _apply_to_row(policy, row, attempts.get(row.student.id, []), scores)


def _apply_to_row(
    policy: CoursePolicy,
    row: Row,
    mine: Sequence[Submission],
    scores: Mapping[tuple[str, str], float],
) -> Row:
    """Returns *row* with notes on exceptions, and as exempt or with the deductions for lateness and
    further attempts.

    *mine* are the student's files, of which only those with points in *scores* count.
    """
    rules = policy.rules_of(row.student)
    row = replace(row, policy_notes=rules.notes)
    if rules.exempt:
        return replace(row, standing=Standing.EXEMPT, complete=False)
    if row.grade is None or row.grade.submission_sha256 is None:
        return row
    current = row.grade.submission_sha256
    id_ = row.student.id
    earned = {s.sha256: scores[id_, s.sha256] for s in mine if (id_, s.sha256) in scores}
    earned[current] = row.score
    graded = policy.attempts_among([s for s in mine if s.sha256 in earned])
    attempts = policy.count(row.student, graded, earned, row.max_score)
    if rules.attempts.count == "mean":
        return _with_mean(row, attempts)
    counted = next((counted for counted in attempts if counted.attempt.sha256 == current), None)
    if counted is None:
        return row
    return _with_deduction(row, counted.deduction)


def _with_deduction(row: Row, deduction: Deduction) -> Row:
    """Returns *row* with *deduction* taken from its score, which is all of the score if the attempt
    doesn't count. Returns *row* itself if the deduction has no reason."""
    if not deduction.counts:
        deduction = replace(deduction, points=row.score)
    if not deduction.why:
        return row
    final = round(max(0.0, row.score - deduction.points), 6)
    return replace(row, score=final, raw_score=row.score, deduction=deduction)


def _with_mean(row: Row, attempts: Sequence[CountedAttempt]) -> Row:
    """Returns *row* with the mean of the attempts that count as its score."""
    valid = [attempt for attempt in attempts if attempt.final is not None]
    if not valid:
        why = " ".join(attempt.deduction.why for attempt in attempts[-1:])
        return _with_deduction(row, Deduction(points=row.score, why=why, counts=False))
    if len(valid) == 1:
        return _with_deduction(row, valid[0].deduction)
    finals = [attempt.final or 0.0 for attempt in valid]
    reasons = [attempt.deduction.why for attempt in valid if attempt.deduction.why]
    listed = ", ".join(points(final) for final in finals)
    why = " ".join([f"Mean of {count_of(len(valid), 'attempt')}: {listed}.", *reasons])
    mean = round(fmean(finals), 6)
    lost = Deduction(
        points=round(row.score - mean, 6),
        why=why,
        late_seconds=max(attempt.deduction.late_seconds for attempt in valid),
        slip_days=max(attempt.deduction.slip_days for attempt in valid),
    )
    return replace(row, score=mean, raw_score=row.score, deduction=lost)
