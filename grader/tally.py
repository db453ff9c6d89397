"""Grades and what people changed by hand, to one row for every student of the roster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from grader.model import ExamSet, Grade, Mark, Override, Student, Submission, Verdict
from grader.model.result import Row, Standing


def tally(
    students: Mapping[str, Student],
    grades: Iterable[Grade],
    *,
    overrides: Iterable[Override] = (),
    submissions: Iterable[Submission] = (),
    max_points: Mapping[str, float] | None = None,
) -> Iterator[Row]:
    """A row for every student: first those with a grade, as *grades* come; then all others.

    *submissions* has the latest attempt last. *max_points* says what the paper of a student
    without a grade is worth; otherwise it is what most papers are worth.
    """
    by_hand: dict[str, dict[str, Override]] = {}
    for override in overrides:
        by_hand.setdefault(override.student, {})[override.name] = override
    latest = {submission.student: submission for submission in submissions}
    seen: set[str] = set()
    worth: dict[float, int] = {}
    for grade in grades:
        seen.add(grade.student)
        row = _graded(
            students.get(grade.student, Student(id=grade.student)),
            grade,
            by_hand.get(grade.student, {}),
            latest.get(grade.student),
        )
        worth[row.max_score] = worth.get(row.max_score, 0) + 1
        yield row
    usual = max(worth, key=lambda points: (worth[points], points), default=0.0)
    for id_, student in students.items():
        if id_ not in seen:
            points = (max_points or {}).get(id_, usual)
            yield _ungraded(student, points, by_hand.get(id_, {}), latest.get(id_))


def pooled_numbers(exam: ExamSet) -> frozenset[int]:
    """The problem numbers of a set at which students may have different problems."""
    found: set[int] = set()
    number = 1
    for slot in exam.slots:
        count = 1 if slot.problem else slot.choose
        if slot.problem is None and slot.choose < len(slot.pool):
            found.update(range(number, number + count))
        number += count
    return frozenset(found)


def _graded(
    student: Student,
    grade: Grade,
    overrides: Mapping[str, Override],
    submission: Submission | None,
) -> Row:
    refusal = submission.refusal if submission else None
    if not overrides:
        return _row(student, grade, refusal=refusal)
    names = {mark.name for mark in grade.marks}
    marks = tuple(
        _by_hand(mark, overrides[mark.name]) if mark.name in overrides else mark
        for mark in grade.marks
    )
    return _row(
        student,
        replace(grade, marks=marks),
        refusal=refusal,
        overrides={name: one for name, one in overrides.items() if name in names},
        stale=tuple(one for name, one in overrides.items() if name not in names),
    )


def _row(
    student: Student,
    grade: Grade,
    *,
    refusal: str | None,
    overrides: Mapping[str, Override] | None = None,
    stale: tuple[Override, ...] = (),
) -> Row:
    return Row(
        student=student,
        standing=Standing.GRADED,
        grade=grade,
        score=grade.score,
        max_score=grade.max_score,
        complete=grade.complete,
        overrides=overrides or {},
        stale=stale,
        refusal=refusal,
    )


def _by_hand(mark: Mark, override: Override) -> Mark:
    said = f"Points set by a person: {override.reason}"
    return replace(
        mark,
        points=override.points,
        verdict=_verdict(mark, override.points),
        feedback=f"{mark.feedback}\n\n{said}" if mark.feedback else said,
    )


def _verdict(mark: Mark, points: float) -> Verdict:
    """The verdict that goes with points given by hand, so that the two never disagree."""
    if points >= mark.max_points:
        return Verdict.CORRECT
    if points > 0:
        return Verdict.MISTAKE if mark.verdict is Verdict.MISTAKE else Verdict.PARTIAL
    earned = {Verdict.CORRECT, Verdict.PARTIAL, Verdict.UNSETTLED}
    return Verdict.INCORRECT if mark.verdict in earned else mark.verdict


def _ungraded(
    student: Student,
    max_points: float,
    overrides: Mapping[str, Override],
    submission: Submission | None,
) -> Row:
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
        complete=standing is not Standing.WAITING,
        stale=tuple(overrides.values()),
        refusal=submission.refusal if submission else None,
    )
