"""Stores evidence, and protects stored marks, for grading runs of all formats."""

from __future__ import annotations

from grader.errors import GraderError, SetupError
from grader.gradebook import Gradebook
from grader.grading.batch import refused_evidence
from grader.model import Evidence, Grade, Outcome


def store_evidence(book: Gradebook, evidence: Evidence, fingerprint: str) -> Evidence:
    """Stores and returns *evidence*, or returns refused evidence if it can't be stored.

    Failures of the grader are not stored, so that the next run tries again.
    """
    if evidence.outcome is Outcome.REFUSED:
        return evidence
    try:
        return book.put_evidence(evidence, fingerprint)
    except SetupError:
        raise  # for example a full disk, which affects the whole batch
    except GraderError as error:
        what = f"its results could not be stored: {error.what}"
        return refused_evidence(evidence.submission_sha256, what)


def would_lose_marks(book: Gradebook, new: Grade) -> bool:
    """Returns whether a mark is open in *new* that an earlier run settled for this very file."""
    before = book.grade(new.student)
    if before is None or before.submission_sha256 != new.submission_sha256:
        return False
    settled = {mark.name for mark in before.marks if mark.points is not None}
    return any(mark.points is None and mark.name in settled for mark in new.marks)
