"""Computes what a change would do to a graded class, and writes nothing."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.bank.folders import Bank
from grader.gradebook import Gradebook
from grader.grading.adjustments import (
    Adjustments,
    GradeCurve,
    adjustments_of,
    part_place,
    store_adjustments,
)
from grader.grading.course_policy import policy_of, policy_with
from grader.grading.graded_attempts import GradePreview, store_counting_grades
from grader.grading.kept_marks import rescore_grades
from grader.grading.sources import require_release, rows_of, source_of
from grader.grading.spec_edits import SpecEdit, apply_edits, parse_place, require_part
from grader.model import Release
from grader.model.course import Course
from grader.model.result import Row
from grader.release.papers import current_specs, papers_of
from grader.report.summary import histogram, quartiles

_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes to look at, all at once."""

    edits: tuple[SpecEdit, ...] = ()
    drop: tuple[str, ...] = ()
    """Parts, such as "kv-cache/bytes"."""
    specs: Bank | None = None
    """The bank whose specs count; those in effect if None."""
    course: Course | None = None
    slip_days_used: Mapping[str, int] = field(default_factory=dict)
    curve: tuple[float, float] | None = None
    """Factor and points."""

    @property
    def edits_specs(self) -> bool:
        """Whether answers must be scored again."""
        return bool(self.edits) or self.specs is not None

    @property
    def adjusts(self) -> bool:
        """Whether parts are dropped or totals curved."""
        return bool(self.drop) or self.curve is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """The totals of a class as shares of the settled points, after deductions and the curve."""

    students: int
    mean: float | None
    quartiles: tuple[float, float, float] | None
    bins: tuple[int, ...]
    """Number of students in each tenth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentChange:
    """A student whose total or maximum would change."""

    student: str
    before: float | None
    after: float | None
    max_before: float
    max_after: float
    share_before: float | None
    """The total as a share of the settled points; None without any."""
    share_after: float | None
    parts: tuple[str, ...]
    """The names of the marks whose points would change."""

    @property
    def difference(self) -> float:
        """The change of the share of the settled points, rounded to a tenth of a percent."""
        return round((self.share_after or 0.0) - (self.share_before or 0.0), 3)


def _share(row: Row) -> float | None:
    """Returns the total of *row* as a share of the settled points, at most 1; None without any."""
    settled = sum(mark.max_points for mark in row.marks if mark.points is not None)
    return None if row.total is None or not settled else min(row.total / settled, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The class before and after the changes."""

    before: Distribution
    after: Distribution
    changes: tuple[StudentChange, ...]
    """The largest changes first."""
    edited_release: Release | None
    """The release with the changed specs; None if they don't change."""


def what_if(out: Path, changes: Changes, *, why: str = "") -> WhatIf:
    """Returns what *changes* would do to the results in *out*."""
    with Gradebook.open(out) as book:
        graded = source_of(book)
        if changes.edits_specs or changes.drop:
            require_release(book)
        policy = policy_of(book, graded.exam)
        if changes.course is not None:
            policy = policy_with(book, graded.exam, changes.course, changes.slip_days_used)
        edited = None
        grades = {}
        if changes.edits_specs:
            papers = papers_of(book)
            base = papers.counts
            if changes.specs is not None:
                base = current_specs(papers.release, changes.specs)
            edited = apply_edits(base, changes.edits)
            papers = replace(papers, correction=edited)
            may_choose = policy is not None and policy.may_choose_attempt
            attempts = book.attempt_grades() if may_choose else list(book.grades())
            grades = {
                (grade.student, grade.submission_sha256 or ""): grade
                for grade in rescore_grades(book, papers, attempts)
            }
        adjustments = _new_adjustments(book, changes, why)
        before = {row.student.id: row for row in rows_of(book, graded)}
        preview = GradePreview(grades=grades, adjustments=adjustments)
        after = {row.student.id: row for row in rows_of(book, graded, policy, preview=preview)}
    student_changes = (_student_change(row, after[id_]) for id_, row in before.items())
    return WhatIf(
        before=_distribution(before.values()),
        after=_distribution(after.values()),
        changes=tuple(
            sorted(
                (change for change in student_changes if change is not None),
                key=lambda change: (-abs(change.difference), change.student),
            )
        ),
        edited_release=edited,
    )


def _new_adjustments(book: Gradebook, changes: Changes, why: str) -> Adjustments:
    """Returns the adjustments in effect with *changes*, each for the reason *why*."""
    current = adjustments_of(book)
    dropped = dict(current.dropped)
    for place in changes.drop:
        require_part(papers_of(book).counts, *parse_place(place))
        dropped[place] = why
    curve = current.curve
    if changes.curve is not None:
        curve = GradeCurve(factor=changes.curve[0], points=changes.curve[1], why=why)
    return Adjustments(dropped=dropped, curve=curve)


def apply_adjustments(out: Path, changes: Changes, *, by: str, why: str) -> None:
    """Drops parts and sets the curve of *changes*, with the reason *why*."""
    with Gradebook.open(out) as book:
        store_adjustments(book, _new_adjustments(book, changes, why), by=by, why=why)
        _store_counting_grades(book)


def withdraw_adjustments(out: Path, *, by: str, why: str) -> bool:
    """Withdraws the curve and the dropping of parts. Returns whether there was any adjustment."""
    with Gradebook.open(out) as book:
        had_adjustments = adjustments_of(book) != Adjustments()
        if had_adjustments:
            store_adjustments(book, Adjustments(), by=by, why=why)
            _store_counting_grades(book)
    return had_adjustments


def _store_counting_grades(book: Gradebook) -> None:
    """Stores which attempt counts for each student, which may change with an adjustment."""
    graded = source_of(book)
    store_counting_grades(book, policy_of(book, graded.exam), graded.students)


def _student_change(before: Row, after: Row) -> StudentChange | None:
    """Returns how the student's total and marks differ, or None if they don't."""
    if (before.total, before.max_score) == (after.total, after.max_score):
        return None
    old = {part_place(mark): (mark.points, mark.max_points) for mark in before.marks}
    parts = (
        mark.name
        for mark in after.marks
        if old.get(part_place(mark)) != (mark.points, mark.max_points)
    )
    return StudentChange(
        student=after.student.id,
        before=before.total,
        after=after.total,
        max_before=before.max_score,
        max_after=after.max_score,
        share_before=_share(before),
        share_after=_share(after),
        parts=tuple(parts),
    )


def _distribution(rows: Iterable[Row]) -> Distribution:
    """Returns the distribution of the totals of *rows*."""
    shares = sorted(share for row in rows if (share := _share(row)) is not None)
    return Distribution(
        students=len(shares),
        mean=statistics.fmean(shares) if shares else None,
        quartiles=quartiles(shares),
        bins=histogram(shares, _BINS),
    )
