"""Applies a course's policies to grades: the attempt that counts, and its deductions.

The grader's marks, manual changes, and deductions are stored apart, and combined when they are
read. If a reason for a deduction goes, the deduction goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    course_to_plain,
    rules_for,
)
from grader.course.times import parse_time
from grader.gradebook import Gradebook
from grader.grading.tally import with_overrides
from grader.model import Grade, Override, Student, Submission
from grader.model.course import Course, Deduction, HandedIn, Rules, TimeSource
from grader.model.result import Row, Standing
from grader.words import counted, points

COURSE = "course"
"""The gradebook's key for the course whose policies count."""


@dataclass(frozen=True, kw_only=True)
class CoursePolicy:
    """The policies of a course for one set, and what they need to know of submissions."""

    course: Course
    set_id: str
    slip_days_used: Mapping[str, int] = field(default_factory=dict)
    """How many slip days each student used in other sets."""
    times: Sequence[HandedIn] = ()

    @cached_property
    def zone(self) -> ZoneInfo:
        """The course's time zone."""
        return ZoneInfo(self.course.time_zone)

    @property
    def needs_all_attempts(self) -> bool:
        """Whether every attempt must be graded, not only the newest.

        So an exception granted later needs no kernel. Files that can't be graded use up no attempt.
        """
        one = self.course.sets.get(self.set_id)
        policy = (one.attempts if one else None) or self.course.attempts
        return policy.count != "newest" or policy.limit is not None or policy.deduct > 0

    @cached_property
    def _times_by_file(self) -> Mapping[tuple[str, str], HandedIn]:
        return {(one.student, one.sha256): one for one in self.times}

    def shows_solutions(self, now: datetime) -> bool:
        """Returns whether students may see accepted answers and worked solutions at *now*."""
        feedback = self.course.sets[self.set_id].feedback
        return feedback is not None and parse_time(feedback, self.zone, opening=True) <= now

    def rules_of(self, student: Student) -> Rules:
        """Returns the rules that apply to *student*."""
        rules = rules_for(self.course, self.set_id, student)
        left = max(0, self.course.slip_days - self.slip_days_used.get(student.id, 0))
        return replace(rules, slip_days=min(rules.slip_days, left))

    def attempts_of(
        self, mine: Sequence[Submission], scores: Mapping[str, float]
    ) -> tuple[Attempt, ...]:
        """Returns the attempts of one student, by time if all are known, else as collected.

        *scores* are the points before deductions, by SHA-256 of the file.
        """
        return tuple(self._attempt(one, scores.get(one.sha256)) for one in self.by_time(mine))

    def by_time(self, mine: Sequence[Submission]) -> list[Submission]:
        """Returns the files of one student, by time if all are known, else in the given order."""
        times = {one: self._attempt(one, None).received for one in mine}
        if None in times.values():
            return list(mine)
        return sorted(mine, key=lambda one: times[one] or datetime.min)

    def _attempt(self, submission: Submission, score: float | None) -> Attempt:
        known = self._times_by_file.get((submission.student, submission.sha256))
        common = self._times_by_file.get((submission.student, ""))
        stated = known or common
        received = stated.received if stated else None
        source = stated.source if stated and received else None
        if received is None and self.course.file_dates:
            received, source = submission.received, TimeSource.FILE
        started = (known.started if known else None) or (common.started if common else None)
        return Attempt(
            sha256=submission.sha256,
            received=_instant(received),
            source=source if received else None,
            by_staff=bool(stated and stated.by),
            started=_instant(started),
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
    ) -> tuple[Submission, ...]:
        """Returns *mine* with the attempt that counts last."""
        if len(mine) < 2:
            return tuple(mine)
        every = self.count(student, mine, scores or {}, max_score)
        chosen = choose_attempt(self.rules_of(student), every)
        if chosen is None:
            return tuple(mine)
        return tuple(sorted(mine, key=lambda one: one.sha256 == chosen.attempt.sha256))

    def digest_data(self, student: Student) -> object:
        """Returns all that decides what the policies do to *student*, as data with a `repr`."""
        mine = [one for one in self.times if one.student == student.id]
        return self.rules_of(student), mine, self.course.time_zone, self.course.file_dates


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def policy_of(book: Gradebook, set_id: str) -> CoursePolicy | None:
    """Returns the policies that were stored in *book*; None if there are none for the set."""
    kept = book.setting(COURSE)
    if not isinstance(kept, dict):
        return None
    course = course_from_plain(kept["course"])
    if set_id not in course.sets:
        return None
    return CoursePolicy(
        course=course,
        set_id=set_id,
        slip_days_used=kept.get("slip_days_used", {}),
        times=book.times(),
    )


def store_course(
    book: Gradebook, course: Course, slip_days_used: Mapping[str, int], *, why: str = ""
) -> None:
    """Stores the course whose policies count from now on."""
    plain = {"course": course_to_plain(course), "slip_days_used": dict(slip_days_used)}
    book.set_setting(COURSE, plain, why=why)


def attempt_grades(book: Gradebook) -> Mapping[tuple[str, str], Grade]:
    """Returns the newest grade of every attempt, by student and SHA-256 of the file, with manual
    changes."""
    by_hand: dict[str, dict[str, Override]] = {}
    for override in book.overrides():
        by_hand.setdefault(override.student, {})[override.name] = override
    return {
        (grade.student, grade.submission_sha256 or ""): with_overrides(
            grade, by_hand.get(grade.student, {})
        )
        for grade in book.attempt_grades()
    }


def in_counting_order(
    policy: CoursePolicy,
    students: Mapping[str, Student],
    submissions: Sequence[Submission],
    grades: Mapping[tuple[str, str], Grade],
) -> list[Submission]:
    """Returns *submissions*, which have each student's latest last, with the attempt that counts
    last instead; *grades* are those of `attempt_grades`."""
    by_student: dict[str, list[Submission]] = {}
    for one in submissions:
        by_student.setdefault(one.student, []).append(one)
    found: list[Submission] = []
    for id_, mine in by_student.items():
        graded = {s.sha256: grades[id_, s.sha256] for s in mine if (id_, s.sha256) in grades}
        if mine[-1].sha256 not in graded:
            found += mine  # the newest waits for its grade
            continue
        others = [one for one in mine if one.sha256 not in graded]
        scores = {file: grade.score for file, grade in graded.items()}
        most = graded[mine[-1].sha256].max_score
        student = students.get(id_, Student(id=id_))
        valid = [one for one in mine if one.sha256 in graded]
        found += (*others, *policy.order(student, valid, scores, most))
    return found


def counting_grades(
    current: Iterable[Grade],
    ordered: Iterable[Submission],
    grades: Mapping[tuple[str, str], Grade],
) -> Iterator[Grade]:
    """Yields the grade of the attempt that counts for each student of *current*.

    *ordered* has that attempt last, as `in_counting_order` returns it.
    """
    counting = {one.student: one.sha256 for one in ordered}
    for grade in current:
        yield grades.get((grade.student, counting.get(grade.student, "")), grade)


def apply_policy(
    policy: CoursePolicy,
    rows: Iterable[Row],
    submissions: Iterable[Submission],
    grades: Mapping[tuple[str, str], Grade],
) -> Iterator[Row]:
    """Yields *rows* with what the course deducts.

    *grades* are those of every attempt, by student and SHA-256 of the file; only policies that need
    all attempts use them.
    """
    attempts: dict[str, list[Submission]] = {}
    for one in submissions:
        attempts.setdefault(one.student, []).append(one)
    for row in rows:
        yield _with_policy(policy, row, attempts.get(row.student.id, []), grades)


def _with_policy(
    policy: CoursePolicy,
    row: Row,
    mine: Sequence[Submission],
    grades: Mapping[tuple[str, str], Grade],
) -> Row:
    rules = policy.rules_of(row.student)
    row = replace(row, policy_notes=rules.notes)
    if rules.exempt:
        return replace(row, standing=Standing.EXEMPT, complete=True)
    if row.grade is None or row.grade.submission_sha256 is None:
        return row
    current, id_ = row.grade.submission_sha256, row.student.id
    scores = {s.sha256: grades[id_, s.sha256].score for s in mine if (id_, s.sha256) in grades}
    scores[current] = row.score
    graded = [one for one in mine if one.sha256 in scores]
    every = policy.count(row.student, graded, scores, row.max_score)
    if rules.attempts.count == "mean":
        return _with_mean(row, every)
    found = next((one for one in every if one.attempt.sha256 == current), None)
    if found is None:
        return row
    return _with_deduction(row, found.deduction)


def _with_deduction(row: Row, deduction: Deduction) -> Row:
    if not deduction.counts:
        deduction = replace(deduction, points=row.score)
    if not deduction.why:
        return row
    final = round(max(0.0, row.score - deduction.points), 6)
    return replace(row, score=final, raw_score=row.score, deduction=deduction)


def _with_mean(row: Row, every: Sequence[CountedAttempt]) -> Row:
    valid = [one for one in every if one.final is not None]
    if not valid:
        why = " ".join(one.deduction.why for one in every[-1:])
        return _with_deduction(row, Deduction(points=row.score, why=why, counts=False))
    if len(valid) == 1:
        return _with_deduction(row, valid[0].deduction)
    finals = [one.final or 0.0 for one in valid]
    said = [one.deduction.why for one in valid if one.deduction.why]
    listed = ", ".join(points(final) for final in finals)
    why = " ".join([f"Mean of {counted(len(valid), 'attempt')}: {listed}.", *said])
    mean = round(fmean(finals), 6)
    lost = Deduction(points=round(row.score - mean, 6), why=why)
    return replace(row, score=mean, raw_score=row.score, deduction=lost)
