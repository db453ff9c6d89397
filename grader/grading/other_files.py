"""Files of students that are no attempts, because another of their files fits the exam better."""

from __future__ import annotations

from grader.collect import CollectedSubmissions
from grader.gradebook import Gradebook

OTHER_FILES = "other_files"
"""The gradebook's key for the SHA-256 of these files, by student."""


def other_files_of(book: Gradebook) -> frozenset[tuple[str, str]]:
    """Returns the student and the SHA-256 of each file that is no attempt."""
    stored = book.setting(OTHER_FILES)
    files = stored.items() if isinstance(stored, dict) else ()
    return frozenset((student, sha256) for student, mine in files for sha256 in mine)


def store_other_files(book: Gradebook, collected: CollectedSubmissions) -> None:
    """Stores which files in *collected* are no attempts, and which others are after all.

    An earlier run may have graded one of them, when a student had handed in nothing else.
    """
    others = set(other_files_of(book))
    for submission in (*collected.submissions, *collected.earlier):
        fitting = collected.same_exam.get(submission.student)
        if fitting is not None:
            key = submission.student, submission.sha256
            is_other = all(submission.sha256 != one.sha256 for one in fitting)
            (others.add if is_other else others.discard)(key)
    by_student: dict[str, list[str]] = {}
    for student, sha256 in sorted(others):
        by_student.setdefault(student, []).append(sha256)
    if by_student or book.setting(OTHER_FILES):
        book.set_setting(OTHER_FILES, by_student, why="other files fit the exam better")
