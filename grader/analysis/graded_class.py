"""Reads a graded class: the numbers that each student was given, and the wrong answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from grader.analysis.answer_matches import half_unit
from grader.gradebook import Gradebook
from grader.grading.sources import release_source, require_release, rows_of
from grader.kinds import kinds
from grader.kinds.base import Unreadable
from grader.kinds.numeric import NumericKey, judge
from grader.model import Key, Paper, Raw, Verdict
from grader.model.result import Row, Standing
from grader.release.papers import Papers, papers_of

WIDEST = 0.05
"""How far an answer of few digits may be from a value that it stands for, as a share."""


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


@dataclass(slots=True)
class WrongNumbers:
    """The wrong answers of a class to one number, and the keys of all who were asked."""

    keys: list[NumericKey] = field(default_factory=list)
    students: list[str] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    """The index of each wrong answer's key."""

    def add(self, student: str, key: NumericKey, answer: float | None) -> None:
        """Adds a student; an answer counts only if it is wrong and nothing known explains it."""
        self.keys.append(key)
        if answer is None or not math.isfinite(answer) or answer == 0:
            return
        if judge(answer, key).verdict is Verdict.INCORRECT and not _is_rounded(answer, key):
            self.students.append(student)
            self.answers.append(float(answer))
            self.at.append(len(self.keys) - 1)


def _is_rounded(answer: float, key: NumericKey) -> bool:
    """Returns whether *answer* is the key or a declared mistake, rounded to too few digits."""
    if isinstance(key.value, int):
        return False
    known = [float(key.value), *(float(center) for _, center, _, _ in key.mistake_ranges)]
    width = min(half_unit(answer), WIDEST * abs(answer))
    return any(abs(answer - value) <= width for value in known)
