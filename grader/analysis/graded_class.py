"""Reads a graded class with the numbers that each student was given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from grader.gradebook import Gradebook
from grader.grading.sources import release_source, require_release, rows_of
from grader.kinds import kinds
from grader.kinds.base import Unreadable
from grader.model import Key, Paper, Raw
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


def read_answer(raw: Raw | None, key: Key) -> object:
    """Returns the answer as its kind reads it; None if there is none, or if it can't be read."""
    try:
        return None if raw is None else kinds.find(key.part.kind).read(raw, key)
    except (Unreadable, OverflowError, TypeError):
        return None


def as_number(value: object) -> float | None:
    """Returns a number of an answer as a float; None for anything else, or if it is too large."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) <= 1e300 else None


def iter_graded(book: Gradebook, papers: Papers) -> Iterator[GradedPaper]:
    """Yields every student with a graded submission, by the attempt that counts."""
    as_released = replace(papers, correction=None)
    for row in rows_of(book, release_source(book, papers)):
        grade, id_ = row.grade, row.student.id
        if grade is None or grade.submission_sha256 is None or row.standing is Standing.EXEMPT:
            continue
        # Without evidence, a grade can be older than the corrected specs.
        counts = papers if grade.release == papers.counts.id else as_released
        yield GradedPaper(row=row, paper=counts.of(id_), seat=papers.seat(id_))
