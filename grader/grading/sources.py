"""The origin of the results in a folder: a release, or an assignment of another system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading.adjustments import adjustments_of, apply_curve
from grader.grading.course_policy import CoursePolicy, apply_policy, policy_of
from grader.grading.graded_attempts import (
    GradedAttempts,
    GradePreview,
    counting_grades,
    in_counting_order,
    read_attempts,
)
from grader.grading.reveal import reveal
from grader.grading.tally import pooled_numbers, tally
from grader.model import Evidence, Grade, Student, Submission
from grader.model.grouping import group_by_key
from grader.model.requests import RegradeRequest
from grader.model.result import Feedback, Row
from grader.registry import Registry
from grader.release.papers import RELEASE, Papers, absent, papers_of

PUBLISHED = "published"
"""The gradebook's key for whether somebody released the solutions."""
NOTICES = "notices"
"""The gradebook's key for the warnings about the files of the last run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSource(ABC):
    """What pages, tables, and exports need to know about what was graded."""

    book: Gradebook
    exam: str
    """The ID of the set, or the name of the assignment."""
    title: str
    release: str
    """A digest of the specs or cells that count."""
    students: Mapping[str, Student]
    """The students who may have results, by ID."""
    pooled_numbers: Collection[int] = ()
    """The numbers of problems that may differ between students."""

    @abstractmethod
    def max_points(self, student: str) -> float:
        """Returns the maximum points of the student's paper."""

    @abstractmethod
    def feedback_for(
        self, row: Row, *, published: bool, evidence: Evidence | None = None
    ) -> Feedback:
        """Returns what the student of *row* may see. Reads the evidence unless given *evidence*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSource(ResultSource):
    """Results of a release, by the specs that count."""

    papers: Papers

    def max_points(self, student: str) -> float:
        """Returns the maximum points of the student's paper, which is drawn for this."""
        return self.papers.of(student).max_points

    def feedback_for(
        self, row: Row, *, published: bool, evidence: Evidence | None = None
    ) -> Feedback:
        """Returns what `reveal` lets through."""
        papers = self.papers
        grade = row.grade
        if grade is not None and grade.release != papers.counts.id:
            # Scored before the specs were corrected, and without evidence to score again: the page
            # must show the specs that it was scored with.
            papers = replace(papers, correction=None)
        return reveal(
            row,
            papers.of(row.student.id),
            published=published,
            evidence=evidence or evidence_of(self.book, row),
        )


def evidence_of(book: Gradebook, row: Row) -> Evidence | None:
    """Returns the evidence of the execution that was graded, or None if none was."""
    if row.grade is None or row.grade.submission_sha256 is None:
        return None
    return book.find_evidence(row.grade.submission_sha256)


sources: Registry[Callable[[Gradebook], ResultSource]] = Registry(
    "source of results", "grader.sources"
)
"""Other origins of results than a release."""


def source_of(book: Gradebook) -> ResultSource:
    """Returns the origin of the results in *book*."""
    system = assignment_of(book)[0]
    if system:
        return sources.find(system)(book)
    return release_source(book, papers_of(book))


def release_source(book: Gradebook, papers: Papers) -> ReleaseSource:
    """Returns the release of *papers* as the origin of the results in *book*."""
    counts = papers.counts
    return ReleaseSource(
        book=book,
        exam=counts.exam.id,
        title=counts.exam.title,
        release=counts.id,
        students=papers.release.students,
        pooled_numbers=pooled_numbers(counts.exam),
        papers=papers,
    )


def is_published(book: Gradebook, graded: ResultSource) -> bool:
    """Returns whether students may see accepted answers and worked solutions: because somebody
    released them, or because the course's time for it has come."""
    if book.setting(PUBLISHED):
        return True
    policy = policy_of(book, graded.exam)
    return policy is not None and policy.shows_solutions(datetime.now(UTC))


def assignment_of(book: Gradebook) -> tuple[str, str]:
    """Returns the system and the name of the assignment in *book*, both empty for a release."""
    system, colon, name = str(book.setting(RELEASE) or "").partition(":")
    return (system, name) if colon else ("", "")


def require_release(book: Gradebook) -> None:
    """Raises SetupError for results that can't be scored again without a release."""
    system, name = assignment_of(book)
    if system:
        raise SetupError(
            f"the {system} assignment '{name}' has no specs to score with",
            where=str(book.folder),
            fix=f"run `grader grade --format {system}` again with the corrected source; "
            "executions of unchanged cells are kept",
        )


def rows_of(
    book: Gradebook,
    graded: ResultSource,
    policy: CoursePolicy | None = None,
    *,
    only: Collection[str] | None = None,
    preview: GradePreview | None = None,
) -> Iterator[Row]:
    """Yields a row for every student, with manual changes and the course's deductions.

    *policy* replaces the policies that *book* keeps, such as to preview a change. If *only* is
    given, yields the rows of these students. *preview* replaces grades and adjustments.
    """
    preview = preview or GradePreview(adjustments=adjustments_of(book))
    adjustments = preview.adjustments
    # The former content of a cleared line of a sheet is not an attempt to grade.
    absent_students = absent(book)
    submissions = [s for s in book.submissions() if s.student not in absent_students]
    students = graded.students
    if only is not None:
        students = {id_: student for id_, student in students.items() if id_ in only}
        submissions = [submission for submission in submissions if submission.student in only]
    # Another policy may choose other attempts than the one that has chosen the current grades.
    is_new = policy is not None
    policy = policy or policy_of(book, graded.exam)
    grades: Iterable[Grade] = map(preview.grade, book.grades(only))
    attempts = GradedAttempts()
    counting = submissions
    if policy is not None and (is_new or policy.may_choose_attempt):
        attempts = read_attempts(book, preview)
        counting = in_counting_order(policy, graded.students, submissions, attempts)
        grades = counting_grades(grades, counting, attempts)
    rows = tally(
        students,
        grades,
        overrides=book.overrides(only),
        submissions=counting,
        max_points=_max_points(graded, adjustments.dropped),
        dropped=adjustments.dropped,
    )
    if policy is not None:
        # In the order of the files, which tells an attempt's number if its time is unknown.
        rows = apply_policy(policy, rows, submissions, attempts.scores)
    rows = apply_curve(adjustments.curve, rows)
    warnings_by_file = collect_warnings(book, submissions)
    all_requests = requests_by_student(book)
    for row in rows:
        sha256 = row.grade.submission_sha256 if row.grade else None
        warnings = warnings_by_file.get((row.student.id, sha256 or ""), ())
        requests = all_requests.get(row.student.id, ())
        yield replace(row, warnings=warnings, requests=requests) if warnings or requests else row


def _max_points(graded: ResultSource, dropped: Mapping[str, str]) -> Callable[[str], float]:
    """Returns a function from a student to the maximum points, without the parts in *dropped*."""
    if not dropped or not isinstance(graded, ReleaseSource):
        return graded.max_points
    papers = graded.papers

    def max_points_without_dropped(student: str) -> float:
        counts = (
            points
            for question in papers.of(student).questions
            for part, points in question.points.items()
            if f"{question.variant.problem.id}/{part}" not in dropped
        )
        return round(sum(counts), 6)

    return max_points_without_dropped


def requests_by_student(book: Gradebook) -> Mapping[str, tuple[RegradeRequest, ...]]:
    """Returns the regrade requests of every student who has any."""
    requests = group_by_key((request.student, request) for request in book.requests.every())
    return {student: tuple(mine) for student, mine in requests.items()}


def notices_of(book: Gradebook) -> list[Mapping[str, object]]:
    """Returns the notices about the files of the last run, of which an exam on paper has none."""
    notices = book.setting(NOTICES)
    return list(notices) if isinstance(notices, list) else []


def collect_warnings(
    book: Gradebook, submissions: Iterable[Submission]
) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Returns the warnings from collecting *submissions*, by student and SHA-256 of the file,
    except those that are the reason of a refusal."""
    notices = group_by_key(
        (str(notice["student"]), (notice.get("file"), str(notice["text"])))
        for notice in notices_of(book)
        if notice.get("level") == "warning" and notice.get("student")
    )
    warnings = {}
    for submission in submissions:
        mine = notices.get(submission.student, ())
        texts = (text for file, text in mine if file == submission.path)
        texts_to_show = tuple(text for text in texts if text != submission.refusal)
        if texts_to_show:
            warnings[submission.student, submission.sha256] = texts_to_show
    return warnings
