"""Pages about one student's evidence: code with hidden cases, and attempts side by side."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.course import CountedAttempt
from grader.errors import SetupError, visible
from grader.gradebook import Gradebook
from grader.grading.course_policy import CoursePolicy, policy_of
from grader.grading.sources import rows_of, source_of
from grader.grading.staff_view import CodeView, code_views
from grader.model import Mark
from grader.model.result import Row
from grader.web.desk.calls import DeskCall

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
class ShownAttempt:
    """One file that the student handed in."""

    number: int
    """Counting from 1, the oldest first."""
    counted: CountedAttempt | None
    """Its trusted time, and its points after deductions; None without a policy, or without a
    grade."""
    score: float | None
    """The points of the settled marks; None if it was not graded."""
    counts: bool
    """Whether it is the one whose grade counts."""
    refusal: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCell:
    """One answer of one attempt."""

    mark: Mark | None
    new_answer: bool = False
    new_points: bool = False
    diff: str = ""
    """What changed in the code since the attempt before, as a unified diff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptsPage:
    """The attempts of one student side by side, by the grader's own marks."""

    student: str
    attempts: tuple[ShownAttempt, ...]
    omitted_count: int
    has_policy: bool
    lines: tuple[tuple[str, tuple[AttemptCell, ...]], ...]
    """For each answer's variable: a cell for each attempt."""
    template: str = "attempts"


def student_view(call: DeskCall) -> CodePage | AttemptsPage:
    """Returns a page about a student. Raises SetupError for an unknown student or view."""
    book, view = call.book, call.request.path_params["view"]
    id_ = call.names.find(call.request.path_params["id"])
    if view not in ("code", "attempts"):
        raise SetupError(f"there is no page '{view}'", fix="go back to the student")
    source = source_of(book)
    row = next(iter(rows_of(book, source, only={id_})), None)
    if view == "attempts":
        return _attempts_page(book, id_, row, policy_of(book, source.exam))
    parts, missing = code_views(book, row) if row else ((), "There is no such student.")
    return CodePage(student=id_, parts=parts, missing=missing)


def _attempts_page(
    book: Gradebook, id_: str, row: Row | None, policy: CoursePolicy | None
) -> AttemptsPage:
    """Returns the last attempts of a student; *row* says which of them counts."""
    submissions = book.submissions(id_)
    grades = {filed.grade.submission_sha256: filed.grade for filed in book.history(id_)}
    counting = row.grade.submission_sha256 if row and row.grade else None
    scores = {
        sha256: sum(mark.points or 0.0 for mark in grade.marks)
        for sha256, grade in grades.items()
        if sha256 is not None
    }
    counted_attempts: Mapping[str, CountedAttempt] = {}
    if policy is not None and row is not None:
        submissions = tuple(policy.by_time(submissions))
        graded = policy.attempts_among([s for s in submissions if s.sha256 in scores])
        attempts = policy.count(row.student, graded, scores, row.max_score)
        counted_attempts = {attempt.attempt.sha256: attempt for attempt in attempts}
    shown = list(enumerate(submissions, 1))[-_MOST:]
    marks = [
        {mark.name: mark for mark in grades[file.sha256].marks} if file.sha256 in grades else {}
        for _, file in shown
    ]
    sources = [_code_by_answer(book, file.sha256) for _, file in shown]
    names = dict.fromkeys(name for mine in marks for name in mine)
    return AttemptsPage(
        student=id_,
        attempts=tuple(
            ShownAttempt(
                number=number,
                counted=counted_attempts.get(file.sha256),
                score=_score_of(mine.values()),
                counts=file.sha256 == counting,
                refusal=file.refusal,
            )
            for (number, file), mine in zip(shown, marks, strict=True)
        ),
        omitted_count=len(submissions) - len(shown),
        has_policy=policy is not None,
        lines=tuple((name, tuple(_attempt_cells(name, marks, sources))) for name in names),
    )


def _score_of(marks: Iterable[Mark]) -> float | None:
    settled = [mark.points for mark in marks if mark.points is not None]
    return sum(settled) if settled else None


def _code_by_answer(book: Gradebook, sha256: str) -> dict[str, str]:
    evidence = book.find_evidence(sha256)
    raws = {name: answer.raw for name, answer in evidence.answers.items()} if evidence else {}
    return {name: str(raw["source"]) for name, raw in raws.items() if raw and "source" in raw}


def _attempt_cells(
    name: str, marks: Sequence[dict[str, Mark]], sources: Sequence[dict[str, str]]
) -> Iterator[AttemptCell]:
    """Yields the mark of the answer *name* in each attempt, and what changed since the last."""
    before, code_before = None, ""
    for marks_by_name, code in zip(marks, sources, strict=True):
        mark, source = marks_by_name.get(name), code.get(name, "")
        if mark is None or before is None:
            yield AttemptCell(mark=mark)
        else:
            yield AttemptCell(
                mark=mark,
                new_answer=mark.answer != before.answer or source != code_before,
                new_points=mark.points != before.points,
                diff=_describe_diff(code_before, source),
            )
        before, code_before = mark or before, source or code_before


def _describe_diff(before: str, after: str) -> str:
    """Returns what changed between two pieces of code; empty if nothing did."""
    if before == after or not (before and after):
        return ""
    if len(before) + len(after) > _MOST_COMPARED:
        return "The code changed, but it is too long to compare."
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return visible("\n".join(list(lines)[2:]))
