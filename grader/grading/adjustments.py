"""Changes that a person made for the whole class: parts that don't count, and a curve.

They are stored apart from marks and combined with them when grades are read, so that they survive
every regrade and can be withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

from grader.gradebook import Gradebook
from grader.model import Grade, Mark
from grader.model.course import Deduction
from grader.model.result import Row
from grader.text.words import points

ADJUSTMENTS = "adjustments"
"""The gradebook's key for the adjustments in effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeCurve:
    """A linear change of all totals, up to the maximum."""

    factor: float
    points: float
    why: str

    def __str__(self) -> str:
        sign = "minus" if self.points < 0 else "plus"
        added = f" {sign} {points(abs(self.points))}" if self.points else ""
        return f"total times {self.factor:g}{added}, at most the maximum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustments:
    """What a person changed for the whole class."""

    dropped: Mapping[str, str] = field(default_factory=dict)
    """Maps each part that doesn't count, such as "kv-cache/bytes", to the reason."""
    curve: GradeCurve | None = None


def part_place(mark: Mark) -> str:
    """Returns the part of *mark*, such as "kv-cache/bytes"."""
    return f"{mark.problem}/{mark.part}"


def adjustments_of(book: Gradebook) -> Adjustments:
    """Returns the adjustments in effect, which are empty if nobody stored any."""
    stored = book.setting(ADJUSTMENTS)
    if not isinstance(stored, dict):
        return Adjustments()
    curve = stored["curve"]
    return Adjustments(dropped=stored["dropped"], curve=GradeCurve(**curve) if curve else None)


def store_adjustments(book: Gradebook, adjustments: Adjustments, *, by: str, why: str) -> None:
    """Puts *adjustments* into effect, and records who did it and why in the audit log."""
    book.set_setting(ADJUSTMENTS, asdict(adjustments), by=by, why=why)


def drop_parts(grade: Grade, dropped: Mapping[str, str]) -> Grade:
    """Returns *grade* without the points of the parts that don't count."""
    if not dropped or not any(part_place(mark) in dropped for mark in grade.marks):
        return grade
    marks = (
        _dropped_mark(mark, dropped[part_place(mark)]) if part_place(mark) in dropped else mark
        for mark in grade.marks
    )
    return replace(grade, marks=tuple(marks))


def _dropped_mark(mark: Mark, why: str) -> Mark:
    note = f"This part does not count: {why}"
    feedback = f"{mark.feedback}\n\n{note}" if mark.feedback else note
    return replace(mark, points=0.0, max_points=0.0, feedback=feedback)


def apply_curve(curve: GradeCurve | None, rows: Iterable[Row]) -> Iterator[Row]:
    """Yields *rows* with totals changed by *curve*, after the course's deductions."""
    for row in rows:
        yield row if curve is None or row.total is None else _apply_curve(curve, row)


def _apply_curve(curve: GradeCurve, row: Row) -> Row:
    """Returns *row* with the curved total and, in its deduction, what the curve changed. Returns
    *row* itself if the curve does not change the total, or if the attempt does not count."""
    if row.deduction is not None and not row.deduction.counts:
        return row
    total = round(min(max(row.score * curve.factor + curve.points, 0.0), row.max_score), 6)
    if total == row.score:
        return row
    raw_score = row.score if row.raw_score is None else row.raw_score
    deduction = row.deduction or Deduction(points=0.0, why="")
    why = f"Curve: {curve}. Reason: {curve.why}"
    return replace(
        row,
        score=total,
        raw_score=raw_score,
        deduction=replace(
            deduction,
            points=round(raw_score - total, 6),
            why=f"{deduction.why} {why}".strip(),
            curve=round(total - row.score, 6),
        ),
    )
