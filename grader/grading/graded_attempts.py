"""The grades of students with several attempts, and which of them counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.gradebook import Gradebook
from grader.grading.adjustments import Adjustments, adjustments_of, drop_parts
from grader.grading.course_policy import CoursePolicy
from grader.grading.tally import overrides_by_student, with_overrides
from grader.model import Grade, Student, Submission, Verdict
from grader.model.grouping import group_by_key


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedAttempts:
    """The newest grade of each attempt, by student and SHA-256 of the file.

    Students with a single graded attempt are left out: their current grade is all there is.
    """

    grades: Mapping[tuple[str, str], Grade] = field(default_factory=dict)
    """Without manual changes."""
    scores: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """The points with manual changes, before deductions."""
    highest_scores: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """The points if every open mark earns all of its points."""
    max_scores: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """The maximum points of the parts that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradePreview:
    """Grades and adjustments that would count after a change."""

    grades: Mapping[tuple[str, str], Grade] = field(default_factory=dict)
    """Grades that replace those in the gradebook, by student and SHA-256 of the file."""
    adjustments: Adjustments

    def grade(self, stored: Grade) -> Grade:
        """Returns the grade that would replace *stored*."""
        return self.grades.get((stored.student, stored.submission_sha256 or ""), stored)


def read_attempts(book: Gradebook, preview: GradePreview | None = None) -> GradedAttempts:
    """Returns the graded attempts in *book*, as *preview* changes them."""
    preview = preview or GradePreview(adjustments=adjustments_of(book))
    dropped = preview.adjustments.dropped
    grades = {
        (grade.student, grade.submission_sha256 or ""): preview.grade(grade)
        for grade in book.attempt_grades(of_several=True)
    }
    by_hand = overrides_by_student(book.overrides())
    counted = {
        key: drop_parts(with_overrides(grade, by_hand.get(grade.student, {})), dropped)
        for key, grade in grades.items()
    }
    return GradedAttempts(
        grades=grades,
        scores={key: grade.score for key, grade in counted.items()},
        highest_scores={key: _highest_score(grade) for key, grade in counted.items()},
        max_scores={key: grade.max_score for key, grade in counted.items()},
    )


def _highest_score(grade: Grade) -> float:
    """Returns the points of *grade* if all its open marks earn their maximum, except those of a
    file that can't be read, where other files may count instead."""
    open_marks = (mark for mark in grade.marks if mark.points is None)
    unsettled = (mark.max_points for mark in open_marks if mark.verdict is Verdict.UNSETTLED)
    return grade.score + sum(unsettled)


def in_counting_order(
    policy: CoursePolicy,
    students: Mapping[str, Student],
    submissions: Sequence[Submission],
    attempts: GradedAttempts,
) -> list[Submission]:
    """Returns *submissions*, which have each student's latest last, with the attempt that counts
    last instead.

    If an attempt with open marks may be the best, or is one of those whose mean counts, its marks
    are shown, so that somebody settles them.
    """
    by_student = group_by_key((submission.student, submission) for submission in submissions)
    order: list[Submission] = []
    for id_, mine in by_student.items():
        graded = [attempt for attempt in mine if (id_, attempt.sha256) in attempts.grades]
        if not graded or graded[-1] is not mine[-1]:
            order += mine  # the only one, or the newest waits for its grade
            continue
        graded = [*policy.attempts_among(graded)]
        scores = {one.sha256: attempts.highest_scores[id_, one.sha256] for one in graded}
        max_score = attempts.max_scores[id_, mine[-1].sha256]
        student = students.get(id_, Student(id=id_))
        others = [attempt for attempt in mine if attempt.sha256 not in scores]
        unsettled = {sha256 for sha256 in scores if scores[sha256] > attempts.scores[id_, sha256]}
        order += (*others, *policy.order(student, graded, scores, max_score, unsettled))
    return order


def counting_grades(
    current: Iterable[Grade], ordered: Iterable[Submission], attempts: GradedAttempts
) -> Iterator[Grade]:
    """Yields the grade of the attempt that counts for each student of *current*.

    *ordered* has that attempt last, as `in_counting_order` returns it.
    """
    counting = {submission.student: submission.sha256 for submission in ordered}
    for grade in current:
        yield attempts.grades.get((grade.student, counting.get(grade.student, "")), grade)


def store_counting_grades(
    book: Gradebook,
    policy: CoursePolicy | None,
    students: Mapping[str, Student],
    *,
    is_new: bool = False,
) -> None:
    """Stores, as each student's current grade, that of the attempt that counts.

    Does nothing unless the policy chooses between attempts, or *is_new*, since then the previous
    policy may have chosen older attempts. A student whose grade was withdrawn gets none.
    """
    if policy is None or not (is_new or policy.may_choose_attempt):
        return
    attempts = read_attempts(book)
    every = book.submissions()
    submissions = [s for s in every if (s.student, s.sha256) in attempts.grades]
    ordered = in_counting_order(policy, students, submissions, attempts)
    # The attempt that counts is each student's last in this order, so it replaces the others.
    counting = {submission.student: submission for submission in ordered}
    current = {grade.student: grade.submission_sha256 for grade in book.grades()}
    changed = [
        attempts.grades[student, submission.sha256]
        for student, submission in counting.items()
        if student in current and current[student] != submission.sha256
    ]
    if changed:
        book.put_grades(changed, why="another attempt counts")
    if not policy.may_choose_attempt:
        # From now on, each student's last file counts: by trusted times, this one, unless the last
        # waits for its grade.
        last = {submission.student: submission.sha256 for submission in every}
        book.add_submissions(
            submission
            for student, submission in counting.items()
            if last[student] != submission.sha256 and (student, last[student]) in attempts.grades
        )
