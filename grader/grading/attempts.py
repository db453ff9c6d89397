"""Chooses which attempts to grade, and which one's marks count, by a course's policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import PurePosixPath

from grader.collect import Collected
from grader.course import TimeLine
from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading.course_policy import (
    CoursePolicy,
    policy_of,
    store_course,
)
from grader.model import Release, Student, Submission
from grader.model.course import Course, HandedIn


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseToApply:
    """A course, and what is known of the times of submissions."""

    course: Course | None = None
    """None: the one that the gradebook has."""
    slip_days_used: Mapping[str, int] = field(default_factory=dict)
    """How many slip days each student used in other sets."""
    times: Sequence[TimeLine] = ()
    by: str = "grader"


def apply_course(
    book: Gradebook, given: CourseToApply, release: Release, collected: Collected
) -> CoursePolicy | None:
    """Stores the course and the times in *book*; returns the policies for this release's set."""
    if given.times:
        every = (*collected.submissions, *collected.earlier, *book.submissions())
        lines = [_handed_in(line, every, release.students) for line in given.times]
        book.put_times(lines, by=given.by)
    if given.course is not None:
        store_course(book, given.course, given.slip_days_used)
    return policy_of(book, release.exam.id)


def _handed_in(
    line: TimeLine, every: Sequence[Submission], students: Mapping[str, Student]
) -> HandedIn:
    if line.student not in students:
        fix = "correct the id, or remove the line"
        raise SetupError(
            f"there is no student '{line.student}' in this release", where=line.where, fix=fix
        )
    sha256 = ""
    if line.file:
        found = {
            one.sha256
            for one in every
            if one.student == line.student and _is_named(one.path, line.file)
        }
        if len(found) != 1:
            many = "several different files" if found else "no file"
            what = f"'{line.student}' has {many} called '{line.file}'"
            fix = "write its path within the folder or zip"
            raise SetupError(what, where=line.where, fix=fix)
        sha256 = found.pop()
    received = line.received.astimezone(UTC).isoformat() if line.received else None
    started = line.started.astimezone(UTC).isoformat() if line.started else None
    return HandedIn(
        student=line.student,
        sha256=sha256,
        received=received,
        source=line.source,
        by=line.by,
        started=started,
    )


def _is_named(path: str, name: str) -> bool:
    wanted = PurePosixPath(name).parts
    return PurePosixPath(path.replace("!", "/")).parts[-len(wanted) :] == wanted


def attempts_to_grade(
    book: Gradebook, policy: CoursePolicy | None, release: Release, collected: Collected
) -> list[Submission]:
    """Returns the submissions to grade, oldest first: one for each student, or more if the policy
    chooses between attempts."""
    if policy is None:
        return list(collected.submissions)
    found: list[Submission] = []
    latest: list[Submission] = []
    for newest in collected.submissions:
        student = release.students[newest.student]
        mine = [*reversed(collected.same_exam.get(student.id, (newest,)))]
        todo = policy.to_grade(student, mine)
        found += todo
        latest += todo[-1:] if todo[-1] != newest else ()
    if latest:
        book.add_submissions(latest)  # by trusted times, these are the newest
    return found
