"""Previews and applies changes of a course to results that are already graded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from grader.course import rules_for
from grader.errors import GraderError
from grader.files import exclusive_lock
from grader.gradebook import Gradebook
from grader.gradebook.audit_log import ENGINE
from grader.grading.course_policy import policy_with, store_course
from grader.grading.graded_attempts import store_counting_grades
from grader.grading.sources import rows_of, source_of
from grader.model import Student
from grader.model.course import Course
from grader.model.result import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalChange:
    """A student's total before and after a change of the course; None for no total."""

    student: str
    before: float | None
    after: float | None
    why: str


def change_course(
    out: Path,
    course: Course,
    slip_days_used: dict[str, int],
    *,
    dry_run: bool,
    by: str = ENGINE,
    why: str = "",
) -> tuple[TotalChange, ...]:
    """Applies the policies of *course* to the results in *out*.

    Returns the changes of totals and deductions. With *dry_run*, stores nothing. If the course
    doesn't list the set of these results, nothing is deducted from then on.
    """
    with Gradebook.open(out) as book:
        graded = source_of(book)
        policy = policy_with(book, graded.exam, course, slip_days_used)
        before = {row.student.id: row for row in rows_of(book, graded)}
        after = {row.student.id: row for row in rows_of(book, graded, policy)}
        if not dry_run:
            with exclusive_lock(out):
                store_course(book, course, slip_days_used, by=by, why=why)
                store_counting_grades(book, policy, graded.students, is_new=True)
    changes = (_compare_rows(row, after[id_]) for id_, row in sorted(before.items()))
    return tuple(change for change in changes if change is not None)


def _compare_rows(before: Row, after: Row) -> TotalChange | None:
    """Returns how the student's total or deduction changes, or None if neither does."""
    old_reason = before.deduction.why if before.deduction else ""
    new_reason = after.deduction.why if after.deduction else ""
    if before.total == after.total and old_reason == new_reason:
        return None
    why = new_reason or " ".join(after.policy_notes)
    if not why and old_reason:
        why = "The deduction no longer applies."
    return TotalChange(student=after.student.id, before=before.total, after=after.total, why=why)


def set_and_students(out: Path) -> tuple[str, Collection[str]]:
    """Returns the set of the results in *out*, and the ids of its students."""
    with Gradebook.open(out) as book:
        graded = source_of(book)
        return graded.exam, graded.students.keys()


def slip_days_of(out: Path, course: Course, file: Path) -> dict[str, int]:
    """Returns `slip_days_used` for the set of the results in *out*."""
    with Gradebook.open(out) as book:
        set_id = source_of(book).exam
    return slip_days_used(course, file, set_id)


def slip_days_used(course: Course, file: Path, set_id: str) -> dict[str, int]:
    """Returns how many slip days each student used in sets of the course that are due before
    *set_id*, from their results folders.

    A set without results has used none. Raises GraderError if a results folder can't be read.
    """
    used: Counter[str] = Counter()
    if not course.slip_days:
        return {}
    for id_ in _sets_before(course, set_id):
        folder = course.sets[id_].results
        if folder is None or not (file.parent / folder).is_dir():
            continue
        try:
            with Gradebook.open(file.parent / folder) as book:
                for row in rows_of(book, source_of(book)):
                    if row.deduction is not None:
                        used[row.student.id] += row.deduction.slip_days
        except GraderError as error:
            raise type(error)(
                f"the slip days of the set '{id_}' are unknown: {error.what}",
                where=error.where,
                fix=error.fix,
            ) from error
    return {student: days for student, days in used.items() if days}


def _sets_before(course: Course, set_id: str) -> list[str]:
    """Returns the sets that are due before *set_id*, in the order of their due dates."""
    plain = replace(course, grants=())
    due = {id_: rules_for(plain, id_, Student(id="")).due for id_ in course.sets}
    dates = {id_: instant for id_, instant in due.items() if instant is not None}
    if set_id not in dates:
        return []
    order = sorted(dates, key=dates.__getitem__)
    return order[: order.index(set_id)]
