"""The audit log of a results folder, for all students or one."""

from __future__ import annotations

from pathlib import Path

from grader.errors import SetupError
from grader.gradebook import AuditLine, Gradebook
from grader.registry import suggest


def read_audit(out: Path, student: str | None = None) -> tuple[AuditLine, ...]:
    """Returns the entries of the audit log, oldest first. With *student*, returns only those about
    the student or the files that the student handed in.

    Raises SetupError if the student is not in the gradebook.
    """
    with Gradebook.open(out) as book:
        lines = book.audit()
        if student is None:
            return lines
        require_student(book, student)
        files = {submission.sha256 for submission in book.submissions(student)}
    return tuple(
        line
        for line in lines
        if line.detail.get("student") == student or line.detail.get("submission_sha256") in files
    )


def require_student(book: Gradebook, student: str) -> None:
    """Raises SetupError, with a suggestion, if *student* is not in the gradebook."""
    students = book.students()
    if student not in students:
        fix = suggest(student, students, "see the ids in grades.csv")
        what = f"student '{student}' is not in the gradebook"
        raise SetupError(what, where=str(book.folder), fix=fix)
