"""Scores the stored evidence of a class again, under the same or corrected specs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from grader.bank.folders import Bank
from grader.files import exclusive_lock
from grader.gradebook import Gradebook, MarkChange, list_mark_changes
from grader.gradebook.audit_log import ENGINE
from grader.grading.adjustments import adjustments_of
from grader.grading.course_policy import policy_of
from grader.grading.graded_attempts import GradePreview, store_counting_grades
from grader.grading.kept_marks import rescore_grades
from grader.grading.sources import require_release, rows_of, source_of
from grader.model import Grade, Release
from grader.model.result import Row
from grader.release.papers import current_specs, keep_correction, papers_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """A student whose marks change: the row before and after, with manual points, deductions, and
    the curve."""

    before: Row
    after: Row
    marks: tuple[MarkChange, ...]

    @property
    def points(self) -> float:
        """The change of the total; a missing total counts as 0."""
        return round((self.after.total or 0.0) - (self.before.total or 0.0), 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescoring:
    """The changes that rescoring the stored evidence would make or has made."""

    changes: tuple[RowChange, ...]
    is_applied: bool
    scored_count: int
    skipped_students: tuple[str, ...]
    """Students whose evidence is missing or damaged; `grader grade` creates it again."""


def rescore(
    out: Path,
    *,
    current: Bank | None = None,
    edited: Release | None = None,
    released: bool = False,
    dry_run: bool = False,
    by: str = ENGINE,
    why: str = "",
) -> Rescoring:
    """Scores all stored evidence again, without a kernel.

    With *current*, uses the specs in that bank instead of those pinned by the release, with the
    numbers shown in the students' notebooks; later runs of `grader grade` then use them too. With
    *edited*, uses its specs in the same way. With *released*, uses the specs as released. Otherwise
    uses the specs in effect.
    """
    with Gradebook.open(out) as book, nullcontext() if dry_run else exclusive_lock(out):
        require_release(book)
        papers = papers_of(book)
        if current is not None:
            corrected = current_specs(papers.release, current)
            papers = replace(papers, correction=corrected)
        elif edited is not None:
            papers = replace(papers, correction=edited)
        elif released:
            papers = replace(papers, correction=None)
        before = list(book.grades())
        policy = policy_of(book, papers.counts.exam.id)
        old = {g.student: g for g in before}
        # A student without a current grade is left out: that grade was withdrawn.
        attempts = before
        if policy is not None and policy.may_choose_attempt:
            attempts = [g for g in book.attempt_grades() if g.student in old]
        scored = rescore_grades(book, papers, attempts)
        counting = {(g.student, g.submission_sha256) for g in before}
        after = {g.student: g for g in scored if (g.student, g.submission_sha256) in counting}
        graded_before = {(g.student, g.submission_sha256): g for g in attempts}
        # Most rescorings change the marks of few students, and rows take longer than marks.
        changed = {
            g.student
            for g in scored
            if list_mark_changes(graded_before[g.student, g.submission_sha256].marks, g.marks)
        }
        changes = tuple(_list_row_changes(book, scored, changed & after.keys()))
        if not dry_run:
            keep_correction(book, papers.correction, by=by, why=why)
            others = [
                grade
                for grade in scored
                if (key := (grade.student, grade.submission_sha256)) not in counting
                and grade != graded_before[key]
            ]
            book.put_grades([*others, *after.values()], why=why or "score again", by=by)
            store_counting_grades(book, policy, papers.release.students)
    return Rescoring(
        changes=changes,
        is_applied=not dry_run,
        scored_count=len(after),
        skipped_students=tuple(g.student for g in before if g.student not in after),
    )


def _list_row_changes(
    book: Gradebook, scored: Iterable[Grade], changed: Collection[str]
) -> Iterator[RowChange]:
    """Yields the changes that the students in *changed* would see with the grades *scored*."""
    if not changed:
        return
    source = source_of(book)
    grades = {(grade.student, grade.submission_sha256 or ""): grade for grade in scored}
    preview = GradePreview(grades=grades, adjustments=adjustments_of(book))
    before = {row.student.id: row for row in rows_of(book, source, only=changed)}
    for row in rows_of(book, source, preview=preview, only=changed):
        old = before[row.student.id]
        marks = list_mark_changes(old.marks, row.marks)
        if marks:
            yield RowChange(before=old, after=row, marks=marks)
