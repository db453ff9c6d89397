"""Manual grading: points that a person assigns, stored apart from the engine's and never
overwritten."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import SetupError, SpecError, SpecErrors
from grader.gradebook import Gradebook
from grader.grading.points_table import COLUMNS, PointsRow, load_points
from grader.grading.sources import assignment_of
from grader.kinds import kinds
from grader.kinds.criteria import Criterion, split_rubric, summarize_criterion
from grader.kinds.explanation import ExplanationKey
from grader.kinds.texts import fill
from grader.model import Grade, Mark, Override
from grader.registry import suggest
from grader.release.papers import Papers, papers_of
from grader.text.spreadsheet import csv_line, escape_cell
from grader.text.words import count_points
from grader.text.words import points as worth

_DIGITS = 12
"""Digits of the SHA-256 that identifies a submission in a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerToRead:
    """An answer to grade manually, with its grading criteria. **Secret.**"""

    student: str
    answer: str
    max_points: float
    text: str
    """The student's answer, or why there is nothing to read."""
    submission: str
    ask: str = ""
    rubric: str = ""
    override: Override | None = None
    """Points that a person has already assigned."""

    def as_data(self) -> dict[str, object]:
        """Returns the answer as JSON data."""
        override = self.override
        return {
            "student": self.student,
            "answer": self.answer,
            "max_points": self.max_points,
            "ask": self.ask,
            "rubric": self.rubric,
            "text": self.text,
            "points": override.points if override else None,
            "why": override.reason if override else "",
            "by": override.by if override else "",
        }


def list_waiting(out: Path) -> list[dict[str, str]]:
    """Returns the answers that only a person can grade and that nobody has graded yet."""
    with Gradebook.open(out) as book:
        return [
            {
                "student": student,
                "answer": mark.name,
                "points": worth(mark.max_points),
                "text": mark.answer or mark.feedback,
            }
            for student, mark in _iter_waiting(book)
        ]


def _iter_waiting(book: Gradebook) -> Iterator[tuple[str, Mark]]:
    """Yields the student and the mark of each answer that waits for a person."""
    done = {(o.student, o.name) for o in book.overrides()}
    for student, mark in book.open_marks():
        if (student, mark.name) not in done:
            yield student, mark


def answers_to_read(out: Path, student: str, answer: str | None = None) -> list[AnswerToRead]:
    """Returns one answer of *student*, or all that wait for manual grading, with question and
    rubric."""
    with Gradebook.open(out) as book:
        if answer is not None:
            return [answer_to_read(book, student, answer)]
        grade = _require_grade(book, student)
        papers = _release_papers(book)
        marks = [mark for who, mark in _iter_waiting(book) if who == student]
        return [_make_answer_to_read(grade, mark, papers, None) for mark in marks]


def answer_to_read(book: Gradebook, student: str, answer: str) -> AnswerToRead:
    """Returns one answer of *student* with question and rubric. Raises SetupError if *student* has
    no grade, or was not asked for the answer."""
    grade = _require_grade(book, student)
    overrides = {o.name: o for o in book.overrides([student])}
    mark = _require_mark(grade, answer)
    return _make_answer_to_read(grade, mark, _release_papers(book), overrides.get(answer))


def criteria_of(book: Gradebook, student: str, answer: str) -> tuple[Criterion, ...]:
    """Returns the criteria in the spec's rubric for one answer, each in a few words that fit every
    student's numbers. Returns nothing for answers that are not graded by such a rubric."""
    papers = _release_papers(book)
    grade = _require_grade(book, student)
    key = None if papers is None else papers.key(student, answer)
    if not isinstance(key, ExplanationKey):
        return ()
    rubric = split_rubric(key.part.rubric, _require_mark(grade, answer).max_points)
    return tuple(
        replace(criterion, text=summarize_criterion(criterion.text)) for criterion in rubric
    )


def write_table(out: Path, file: Path) -> int:
    """Writes the answers that wait for manual grading to the CSV *file* and returns their number.

    One row per student and part, with empty `points` and `why` to fill in. Raises SetupError if the
    file has content, which may be points.
    """
    if file.is_file() and file.stat().st_size:
        raise SetupError(
            "this table exists already, and may have points in it",
            where=str(file),
            fix="enter its points with --from, or choose another name for the new table",
        )
    with Gradebook.open(out) as book:
        papers = _release_papers(book)
        rows = [csv_line(COLUMNS)]
        grades: dict[str, Grade] = {}
        # Sorted by answer, so that one question is graded across all students.
        for student, mark in sorted(_iter_waiting(book), key=lambda pair: (pair[1].name, pair[0])):
            if student not in grades:
                grades[student] = _require_grade(book, student)
            waiting = _make_answer_to_read(grades[student], mark, papers, None)
            cells = (student, mark.name, "", "", worth(waiting.max_points), waiting.submission)
            rows.append(csv_line(map(escape_cell, (*cells, waiting.text, waiting.rubric))))
    # With a byte order mark, by which spreadsheets recognize UTF-8.
    file.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8-sig", newline="")
    return len(rows) - 1


def enter_points(out: Path, file: Path, *, by: str) -> int:
    """Stores the points from the table *file*, all or none. Returns how many were new.

    Raises SpecErrors with the line of every error.
    """
    rows = load_points(file)
    with Gradebook.open(out) as book:
        overrides = {(o.student, o.name): o for o in book.overrides()}
        batch = []
        errors = []
        grades: dict[str, Grade] = {}
        for row in rows:
            try:
                if row.student not in grades:
                    grades[row.student] = _require_grade(book, row.student)
                allowed = _points_of(row, grades[row.student])
            except (SetupError, SpecError) as error:
                errors.append(SpecError(error.what, where=row.where, fix=error.fix))
                continue
            before = overrides.get((row.student, row.answer))
            if before is None or (before.points, before.reason) != (allowed, row.why):
                batch.append(make_override(row.student, row.answer, allowed, by=by, why=row.why))
        if errors:
            raise SpecErrors(tuple(errors))
        book.put_overrides(batch)
    return len(batch)


def _points_of(row: PointsRow, grade: Grade) -> float:
    """Returns the points of *row*, which must be for the graded submission."""
    allowed = _allowed_points(_require_mark(grade, row.answer), row.points)
    if row.submission and row.submission != _short_digest(grade):
        raise SpecError(
            f"'{row.student}' submitted again after this table was written",
            fix="write a new table with `grader mark --table`, and read the new answer",
        )
    return allowed


def give_points(out: Path, student: str, answer: str, points: float, *, by: str, why: str) -> None:
    """Stores manual points. Raises SetupError if a mark does not exist or is worth less."""
    with Gradebook.open(out) as book:
        allowed = _allowed_points(_require_mark(_require_grade(book, student), answer), points)
        book.put_overrides([make_override(student, answer, allowed, by=by, why=why)])


def withdraw_points(out: Path, student: str, answer: str, *, by: str, why: str) -> None:
    """Withdraws manual points, so that the engine's points count again."""
    with Gradebook.open(out) as book:
        if not book.withdraw_override(student, answer, by=by, why=why):
            names = ", ".join(override.name for override in book.overrides([student]))
            fix = f"withdraw one of these: {names}" if names else "check the student's id"
            raise SetupError(f"'{student}' has no manual points for '{answer}'", fix=fix)


def make_override(student: str, answer: str, points: float, *, by: str, why: str) -> Override:
    """Returns the points that *by* gives now."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Override(student=student, name=answer, points=points, reason=why, by=by, at=now)


def _allowed_points(mark: Mark, points: float) -> float:
    """Returns *points*, or the exact maximum if they are printed like it, such as 6.67."""
    if math.isnan(points):
        fix = f"write a number from 0 to {worth(mark.max_points)}"
        raise SetupError(f"the points of '{mark.name}' are not a number", fix=fix)
    # `worth` can't print numbers that are infinite or far too large.
    if points < mark.max_points + 1 and worth(points) == worth(mark.max_points):
        return mark.max_points
    if points > mark.max_points:
        raise SetupError(
            f"{points:g} is more than the {count_points(mark.max_points)} of '{mark.name}'",
            fix="assign at most that many points",
        )
    return points


def _release_papers(book: Gradebook) -> Papers | None:
    """Returns the papers that have the questions, or None for another system's results."""
    return None if assignment_of(book)[0] else papers_of(book)


def _make_answer_to_read(
    grade: Grade, mark: Mark, papers: Papers | None, override: Override | None
) -> AnswerToRead:
    """Returns the answer of *mark*. Without *papers*, it has neither question nor rubric."""
    key = None if papers is None else papers.key(grade.student, mark.name)
    return AnswerToRead(
        student=grade.student,
        answer=mark.name,
        max_points=mark.max_points,
        text=mark.answer or mark.feedback,
        submission=_short_digest(grade),
        ask=fill(key.part.ask, key.draw) if key else "",
        rubric=kinds.find(mark.kind).explain(key) if key else "",
        override=override,
    )


def _short_digest(grade: Grade) -> str:
    # With a prefix, because a spreadsheet would take digits for a number.
    return f"sha256:{(grade.submission_sha256 or '')[:_DIGITS]}"


def _require_grade(book: Gradebook, student: str) -> Grade:
    """Returns the current grade of *student*. Raises SetupError if there is none."""
    grade = book.grade(student)
    if grade is None:
        students = book.students()
        if student not in students:
            fix = suggest(student, students, "check the id, and whether the roster has the student")
            raise SetupError(f"there is no student '{student}' in these results", fix=fix)
        raise SetupError(f"'{student}' has no grade yet", fix="run `grader grade` first")
    return grade


def _require_mark(grade: Grade, answer: str) -> Mark:
    """Returns the mark of *answer*. Raises SetupError if *grade* has none."""
    marks = {mark.name: mark for mark in grade.marks}
    if answer not in marks:
        fix = suggest(answer, marks, "see the columns of grades.csv")
        raise SetupError(f"'{grade.student}' was not asked for '{answer}'", fix=fix)
    return marks[answer]
