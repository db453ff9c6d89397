"""Points that a person gives: kept apart from the engine's, and never overwritten by it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.model import Grade, Mark, Override
from grader.registry import nearest
from grader.words import points as worth


def waiting(out: Path) -> list[dict[str, str]]:
    """The answers that only a person can settle, and that nobody has settled yet."""
    with Gradebook.open(out) as book:
        done = {(o.student, o.name) for o in book.overrides()}
        return [
            {
                "student": student,
                "answer": mark.name,
                "points": worth(mark.max_points),
                "text": mark.answer or mark.feedback,
            }
            for student, mark in book.open_marks()
            if (student, mark.name) not in done
        ]


def give_points(out: Path, student: str, answer: str, points: float, *, by: str, why: str) -> None:
    """Files points by hand; raises SetupError for a mark that is not there or worth less."""
    with Gradebook.open(out) as book:
        mark = _mark(book, student, answer)
        if points > mark.max_points:
            raise SetupError(
                f"{worth(points)} is more than the {worth(mark.max_points)} points of '{answer}'",
                fix="give at most that",
            )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        book.put_override(
            Override(student=student, name=answer, points=points, reason=why, by=by, at=now)
        )


def withdraw_points(out: Path, student: str, answer: str, *, by: str, why: str) -> None:
    """Takes points by hand back, so that the engine's count again."""
    with Gradebook.open(out) as book:
        if not book.withdraw_override(student, answer, by=by, why=why):
            raise SetupError(
                f"'{student}' has no points by hand for '{answer}'", fix="check both names"
            )


def _mark(book: Gradebook, student: str, answer: str) -> Mark:
    grade: Grade | None = book.grade(student)
    if grade is None:
        close = nearest(student, book.students())
        raise SetupError(
            f"'{student}' has no grade yet",
            fix=f"did you mean '{close}'?" if close else "run `grader grade` first",
        )
    marks = {mark.name: mark for mark in grade.marks}
    if answer not in marks:
        close = nearest(answer, marks)
        raise SetupError(
            f"'{student}' was not asked for '{answer}'",
            fix=f"did you mean '{close}'?" if close else "see the columns of grades.csv",
        )
    return marks[answer]
