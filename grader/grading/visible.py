"""Returns what a student may see of a result in a gradebook, for pages and exports alike."""

from __future__ import annotations

from dataclasses import replace

from grader.gradebook import Gradebook
from grader.grading.reveal import reveal
from grader.model import Audience, Evidence
from grader.model.result import Feedback, Row
from grader.notebook.render import given_values
from grader.release.papers import Papers


def student_feedback(
    row: Row,
    book: Gradebook,
    papers: Papers,
    *,
    published: bool,
    evidence: Evidence | None = None,
) -> Feedback:
    """Returns what the student of *row* may see; *evidence* if it was read already."""
    if row.grade is not None and row.grade.release != papers.counts.id:
        # Scored before the specs were corrected, and without evidence to score again: the page must
        # show the specs that it was scored with.
        papers = replace(papers, corrected=None)
    return reveal(
        row,
        papers.of(row.student.id),
        audience=Audience.STUDENT,
        published=published,
        given=given_values,
        evidence=evidence or evidence_of(book, row),
    )


def evidence_of(book: Gradebook, row: Row) -> Evidence | None:
    """Returns the evidence of the execution that was graded."""
    if row.grade is None or row.grade.submission_sha256 is None:
        return None
    return book.find_evidence(row.grade.submission_sha256)
