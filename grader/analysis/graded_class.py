"""Reads a graded class with the numbers that each student was given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from grader.gradebook import Gradebook
from grader.grading.sources import ReleaseSource, require_release, rows_of
from grader.model import Paper
from grader.model.result import Row, Standing
from grader.release.papers import Papers, papers_of


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedPaper:
    """The paper and the marks of one student. **Secret.**"""

    row: Row
    paper: Paper
    seat: str
    """Students with the same seat were given the same numbers."""


def read_papers(book: Gradebook) -> Papers:
    """Returns the papers of a release; raises SetupError if the results don't come from one."""
    require_release(book)
    return papers_of(book)


def iter_graded(book: Gradebook, papers: Papers) -> Iterator[GradedPaper]:
    """Yields every student with a graded submission, by the attempt that counts."""
    as_released = replace(papers, correction=None)
    for row in rows_of(book, ReleaseSource(book=book, papers=papers)):
        grade, id_ = row.grade, row.student.id
        if grade is None or grade.submission_sha256 is None or row.standing is Standing.EXEMPT:
            continue
        # Without evidence, a grade can be older than the corrected specs.
        counts = papers if grade.release == papers.counts.id else as_released
        yield GradedPaper(row=row, paper=counts.of(id_), seat=papers.seat(id_))
