"""Chooses which attempts to grade, and which one's marks count, by a course's policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import PurePosixPath

from grader.collect import CollectedSubmissions
from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading.course_policy import CoursePolicy, policy_of, store_course
from grader.model import Release, Student, Submission
from grader.model.course import Course, HandedIn, TimeLine
from grader.release.people import students_by_text
from grader.text.words import count_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseToApply:
    """A course, and the known times of submissions."""

    course: Course | None = None
    """None: the one that the gradebook has."""
    slip_days_used: Mapping[str, int] = field(default_factory=dict)
    """How many slip days each student used in other sets."""
    times: Sequence[TimeLine] = ()
    by: str = "grader"

    def may_choose_attempt(self, set_id: str) -> bool:
        """Returns whether an attempt other than the newest may count."""
        if self.course is None or set_id not in self.course.sets:
            return False
        return CoursePolicy(course=self.course, set_id=set_id).may_choose_attempt


def apply_course(
    book: Gradebook, given: CourseToApply, release: Release, collected: CollectedSubmissions
) -> CoursePolicy | None:
    """Stores the course and the times of *given* in *book*, and returns the policies for the
    release's set, or None if *book* has no course with this set."""
    if given.times:
        submissions = (*collected.submissions, *collected.earlier, *book.submissions())
        lines = _identify_students(given.times, release.students)
        book.put_times(_match_to_files(lines, submissions), by=given.by)
    if given.course is not None:
        store_course(book, given.course, given.slip_days_used)
    return policy_of(book, release.exam.id)


def _identify_students(
    lines: Sequence[TimeLine], students: Mapping[str, Student]
) -> Iterator[TimeLine]:
    """Yields *lines* with the students' ids, without lines about other people on a platform."""
    ids_by_text = students_by_text(students)
    count = 0
    for line in lines:
        if line.student and line.student not in students:
            what = f"there is no student '{line.student}' in this release"
            fix = "correct the id, or remove the line"
            raise SetupError(what, where=line.where, fix=fix)
        id_ = line.student
        if not id_:
            texts = [text.casefold() for text in line.people]
            id_ = next((ids_by_text[text] for text in texts if text in ids_by_text), "")
        if id_:
            count += 1
            yield replace(line, student=id_)
    if lines and not count:
        raise SetupError(
            "this file names no student of the release",
            where=lines[0].where.file,
            fix="check that it is for this class, and that the roster has ids or e-mail addresses",
        )


def _match_to_files(lines: Iterable[TimeLine], submissions: Sequence[Submission]) -> list[HandedIn]:
    """Returns the times in *lines*, as `_match_to_file` does, once for each file.

    If lines name several copies of a file, the earliest time counts. Raises SetupError if two lines
    differ about the same file.
    """
    times: dict[tuple[str, str], HandedIn] = {}
    by_name: dict[tuple[str, str], HandedIn] = {}
    for line in lines:
        handed_in = _match_to_file(line, submissions)
        if by_name.setdefault((line.student, line.file), handed_in) != handed_in:
            what = f"'{line.student}' has two times for the same file"
            fix = "remove one of the lines, or name the file of each in the column 'file'"
            raise SetupError(what, where=line.where, fix=fix)
        key = handed_in.student, handed_in.sha256
        if key not in times or (handed_in.received or "~") < (times[key].received or "~"):
            times[key] = handed_in  # a missing time is the last
    return list(times.values())


def _match_to_file(line: TimeLine, submissions: Sequence[Submission]) -> HandedIn:
    """Returns the times in *line*, for the file of *submissions* that the line names, or for all
    files of its student if the line names none.

    Raises SetupError if the student has no file of that name, or several different ones.
    """
    sha256 = ""
    if line.file:
        digests = {
            submission.sha256
            for submission in submissions
            if submission.student == line.student and _is_named(submission.path, line.file)
        }
        if len(digests) != 1:
            many = "several different files" if digests else "no file"
            what = f"'{line.student}' has {many} called '{line.file}'"
            fix = "write the file's path within the folder or zip"
            raise SetupError(what, where=line.where, fix=fix)
        sha256 = digests.pop()
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
    """Returns whether *name* is the whole of *path* or its last parts."""
    name_parts = PurePosixPath(name).parts
    in_zip = path.replace("!", "/")  # also, a file's own name may contain "!"
    forms = (form for text in (path, in_zip) for form in (text, text.replace("\\", "/")))
    return any(PurePosixPath(form).parts[-len(name_parts) :] == name_parts for form in forms)


def attempts_to_grade(
    book: Gradebook, policy: CoursePolicy | None, release: Release, collected: CollectedSubmissions
) -> list[Submission]:
    """Returns the submissions to grade, oldest first: one for each student, or more if the policy
    chooses between attempts."""
    if policy is None:
        return list(collected.submissions)
    attempts: list[Submission] = []
    latest: list[Submission] = []
    for newest in collected.submissions:
        student = release.students[newest.student]
        mine = [*reversed(collected.same_exam.get(student.id, (newest,)))]
        if newest.refusal is not None and newest not in mine and not policy.needs_all_attempts:
            mine.append(newest)  # a person must read it: an older file doesn't replace it
        todo = policy.to_grade(student, mine)
        attempts += todo
        if todo[-1].sha256 != newest.sha256:
            latest.append(todo[-1])
    if latest:
        book.add_submissions(latest)  # by trusted times, these are the newest
    return attempts


def untimed_note(
    policy: CoursePolicy | None, release: Release, todo: Sequence[Submission]
) -> str | None:
    """Returns a sentence if lateness matters and the time of some of *todo* is unknown, and None
    otherwise."""
    if policy is None or not policy.has_deadline:
        return None
    unknown = sum(
        policy.lacks_time(release.students[submission.student], submission) for submission in todo
    )
    if not unknown:
        return None
    who = "nobody" if unknown == len(todo) else "only the others"
    which = count_of(unknown, "submission has", "submissions have")
    return (
        f"{which} no trusted time, so {who} can be late: give the times with --times, or "
        "with `grader course grant STUDENT --received`"
    )
