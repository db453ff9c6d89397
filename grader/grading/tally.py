"""Combines grades and manual changes into one row for every student of the roster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from grader.grading.adjustments import drop_parts
from grader.model import ExamSet, Grade, Mark, Override, Student, Submission, Verdict
from grader.model.grouping import group_by_key
from grader.model.result import Row, Standing


def tally(
    students: Mapping[str, Student],
    grades: Iterable[Grade],
    *,
    max_points: Callable[[str], float],
    overrides: Iterable[Override] = (),
    submissions: Iterable[Submission] = (),
    dropped: Mapping[str, str] | None = None,
) -> Iterator[Row]:
    """Yields a row for every student, first for those with a grade, in the order of *grades*.

    *max_points* returns the maximum points of a student without a grade. *submissions* has each
    student's latest attempt last. *dropped* maps parts that don't count to the reason.
    """
    by_hand = overrides_by_student(overrides)
    attempts = group_by_key((submission.student, submission) for submission in submissions)
    graded: set[str] = set()
    for grade in grades:
        id_ = grade.student
        graded.add(id_)
        student = students.get(id_, Student(id=id_))
        yield _graded_row(
            student, grade, by_hand.get(id_, {}), attempts.get(id_, ()), dropped or {}
        )
    for id_, student in students.items():
        if id_ not in graded:
            latest = attempts[id_][-1] if id_ in attempts else None
            yield _ungraded_row(student, max_points(id_), by_hand.get(id_, {}), latest)


def pooled_numbers(exam: ExamSet) -> frozenset[int]:
    """Returns the numbers of problems of a set that may differ, or whose parts may, between
    students."""
    numbers: set[int] = set()
    number = 1
    for slot in exam.slots:
        if slot.differs:
            numbers.update(range(number, number + slot.count))
        number += slot.count
    return frozenset(numbers)


def _graded_row(
    student: Student,
    grade: Grade,
    overrides: Mapping[str, Override],
    attempts: Sequence[Submission],
    dropped: Mapping[str, str],
) -> Row:
    """Returns the row of a grade, which waits while a newer attempt is not graded."""
    mine = [attempt for attempt in attempts if attempt.sha256 == grade.submission_sha256]
    waits = bool(attempts) and attempts[-1].sha256 != grade.submission_sha256
    names = {mark.name for mark in grade.marks}
    # Of the file that the marks are for; a newer file is not relevant.
    refusal = mine[-1].refusal if mine else None
    if refusal is not None:
        # Gradebooks of earlier versions have zeros for a file that can't be read.
        grade = replace(grade, marks=tuple(replace(mark, points=None) for mark in grade.marks))
    grade = drop_parts(with_overrides(grade, overrides), dropped)
    if waits:
        standing = Standing.WAITING
    elif refusal is not None and (names.isdisjoint(overrides) or not grade.complete):
        standing = Standing.REFUSED
    elif grade.marks and all(mark.points is None for mark in grade.marks):
        standing = Standing.OPEN
    else:
        standing = Standing.GRADED
    return Row(
        student=student,
        standing=standing,
        grade=grade,
        score=grade.score,
        max_score=grade.max_score,
        complete=grade.complete and not waits,
        overrides={name: override for name, override in overrides.items() if name in names},
        stale=tuple(override for name, override in overrides.items() if name not in names),
        refusal=refusal,
    )


def overrides_by_student(overrides: Iterable[Override]) -> dict[str, dict[str, Override]]:
    """Returns the overrides of each student that has any, by mark name."""
    by_student: dict[str, dict[str, Override]] = {}
    for override in overrides:
        by_student.setdefault(override.student, {})[override.name] = override
    return by_student


def with_overrides(grade: Grade, overrides: Mapping[str, Override]) -> Grade:
    """Returns *grade* with the points that people assigned, by mark name."""
    if not overrides:
        return grade
    return replace(grade, marks=tuple(_with_override(mark, overrides) for mark in grade.marks))


def _with_override(mark: Mark, overrides: Mapping[str, Override]) -> Mark:
    """Returns *mark* with the points of its override, if it has one, and a note in the feedback."""
    override = overrides.get(mark.name)
    if override is None:
        return mark
    note = f"Manually graded: {override.reason}"
    # A corrected spec may have lowered the maximum since.
    points = min(override.points, mark.max_points)
    return replace(
        mark,
        points=points,
        verdict=_manual_verdict(mark, points),
        # "Waiting for manual grading" would no longer be true.
        feedback=note if mark.points is None or not mark.feedback else f"{mark.feedback}\n\n{note}",
    )


def _manual_verdict(mark: Mark, points: float) -> Verdict:
    """Returns the verdict that matches manual points, so that the two always agree."""
    if points >= mark.max_points:
        return Verdict.CORRECT
    if points > 0:
        return Verdict.MISTAKE if mark.verdict is Verdict.MISTAKE else Verdict.PARTIAL
    earned = {Verdict.CORRECT, Verdict.PARTIAL, Verdict.UNSETTLED}
    return Verdict.INCORRECT if mark.verdict in earned else mark.verdict


def _ungraded_row(
    student: Student,
    max_points: float,
    overrides: Mapping[str, Override],
    submission: Submission | None,
) -> Row:
    """Returns the row of a student without a grade."""
    if submission is None:
        standing = Standing.MISSING
    elif submission.refusal is not None:
        standing = Standing.REFUSED
    else:
        standing = Standing.WAITING
    return Row(
        student=student,
        standing=standing,
        grade=None,
        score=0.0,
        max_score=max_points,
        complete=False,
        stale=tuple(overrides.values()),
        refusal=submission.refusal if submission else None,
    )
