"""Pages about one student's evidence: code with hidden cases, and attempts side by side."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.errors import SetupError, visible
from grader.gradebook import Gradebook
from grader.grading.sources import rows_of, source_of
from grader.grading.staff_view import CodeView, code_views
from grader.model import Mark

_MOST = 5
"""Maximum number of attempts side by side."""
_MOST_COMPARED = 20_000
"""Maximum number of characters of code to compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePage:
    """The code of one student, with the hidden cases. **Secret.**"""

    student: str
    parts: tuple[CodeView, ...]
    missing: str
    template: str = "code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One file that the student handed in."""

    number: int
    """Counting from 1, the oldest first."""
    received: str
    score: float | None
    """The points of the settled marks; None if it was not graded."""
    counts: bool
    """Whether it is the one whose grade counts."""
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCell:
    """One answer of one attempt."""

    mark: Mark | None
    new_answer: bool = False
    """Whether the answer differs from that of the attempt before."""
    new_points: bool = False
    """Whether the points differ from those of the attempt before."""
    diff: str = ""
    """What changed in the code since the attempt before, as a unified diff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptsPage:
    """The attempts of one student side by side, by the grader's own marks."""

    student: str
    attempts: tuple[Attempt, ...]
    left_out: int
    """How many older attempts are not shown."""
    lines: tuple[tuple[str, tuple[AttemptCell, ...]], ...]
    """For each answer's variable: a cell for each attempt."""
    template: str = "attempts"


def student_view(book: Gradebook, view: str, id_: str) -> CodePage | AttemptsPage:
    """Returns a page about a student. Raises SetupError for an unknown view."""
    if view == "code":
        row = next((r for r in rows_of(book, source_of(book)) if r.student.id == id_), None)
        parts, missing = code_views(book, row) if row else ((), "There is no such student.")
        return CodePage(student=id_, parts=parts, missing=missing)
    if view == "attempts":
        return _attempts_page(book, id_)
    raise SetupError(f"there is no page '{view}'", fix="go back to the student")


def _attempts_page(book: Gradebook, id_: str) -> AttemptsPage:
    submissions = book.submissions(id_)
    grades = {one.grade.submission_sha256: one.grade for one in book.history(id_)}
    row = next((r for r in rows_of(book, source_of(book)) if r.student.id == id_), None)
    counting = row.grade.submission_sha256 if row and row.grade else None
    shown = list(enumerate(submissions, 1))[-_MOST:]
    attempts, marks, sources = [], [], []
    for number, one in shown:
        sources.append(_sources(book, one.sha256))
        grade = grades.get(one.sha256)
        mine = {mark.name: mark for mark in grade.marks} if grade else {}
        settled = [mark.points for mark in mine.values() if mark.points is not None]
        attempts.append(
            Attempt(
                number=number,
                received=one.received or "",
                score=sum(settled) if settled else None,
                counts=one.sha256 == counting,
                refusal=one.refusal or "",
            )
        )
        marks.append(mine)
    names = dict.fromkeys(name for mine in marks for name in mine)
    return AttemptsPage(
        student=id_,
        attempts=tuple(attempts),
        left_out=len(submissions) - len(shown),
        lines=tuple((name, tuple(_cells(name, marks, sources))) for name in names),
    )


def _sources(book: Gradebook, sha256: str) -> dict[str, str]:
    """Returns the code of the code parts in one file, by the answer's variable."""
    evidence = book.find_evidence(sha256)
    raws = {name: one.raw for name, one in evidence.answers.items()} if evidence else {}
    return {name: str(raw["source"]) for name, raw in raws.items() if raw and "source" in raw}


def _cells(
    name: str, marks: Sequence[dict[str, Mark]], sources: Sequence[dict[str, str]]
) -> Iterator[AttemptCell]:
    before, code_before = None, ""
    for mine, code in zip(marks, sources, strict=True):
        mark, source = mine.get(name), code.get(name, "")
        if mark is None or before is None:
            yield AttemptCell(mark=mark)
        else:
            yield AttemptCell(
                mark=mark,
                new_answer=mark.answer != before.answer or source != code_before,
                new_points=mark.points != before.points,
                diff=_diff(code_before, source),
            )
        before, code_before = mark or before, source or code_before


def _diff(before: str, after: str) -> str:
    """Returns what changed between two pieces of code; empty if nothing did."""
    if before == after or not (before and after):
        return ""
    if len(before) + len(after) > _MOST_COMPARED:
        return "The code changed, but it is too long to compare."
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return visible("\n".join(list(lines)[2:]))
