"""Differences between two sets of grades: which students change, by how much, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.model import Grade, Mark, Verdict
from grader.text.words import points


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkChange:
    """A mark before and after; None if it did not exist."""

    name: str
    before: Mark | None
    after: Mark | None

    @property
    def points(self) -> float | None:
        """The change in points; None if one side is unsettled."""
        before = 0.0 if self.before is None else self.before.points
        after = 0.0 if self.after is None else self.after.points
        return None if before is None or after is None else round(after - before, 6)

    @property
    def why(self) -> str:
        """The reason in a few words, such as "incorrect became mistake (not-sharded)"."""
        if self.before is None:
            return "new on the paper"
        if self.after is None:
            return "no longer on the paper"
        return _change_reason(self.before, self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A student's grade before and after; None if there was none."""

    student: str
    before: Grade | None
    after: Grade | None
    marks: tuple[MarkChange, ...]

    @property
    def points(self) -> float:
        """The change of the total, over settled marks."""
        after = self.after.score if self.after else 0.0
        before = self.before.score if self.before else 0.0
        return round(after - before, 6)


def difference(before: Grade | None, after: Grade | None) -> Difference | None:
    """Returns the changes in points, verdicts, or feedback that a student would see; None if
    none."""
    one = before or after
    if one is None:
        return None
    old = {mark.name: mark for mark in before.marks} if before else {}
    new = {mark.name: mark for mark in after.marks} if after else {}
    changed = tuple(
        MarkChange(name=name, before=old.get(name), after=new.get(name))
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    )
    if not changed and (before is None) == (after is None):
        return None
    return Difference(student=one.student, before=before, after=after, marks=changed)


def differences(before: Iterable[Grade], after: Iterable[Grade]) -> Iterator[Difference]:
    """Yields the change of every student that has one, those of *after* first, in its order."""
    left = {grade.student: grade for grade in before}
    for grade in after:
        found = difference(left.pop(grade.student, None), grade)
        if found:
            yield found
    for gone in left.values():
        found = difference(gone, None)
        if found:
            yield found


def _change_reason(before: Mark, after: Mark) -> str:
    if _verdict_text(before) != _verdict_text(after):
        return f"{_verdict_text(before)} became {_verdict_text(after)}"
    if before.answer != after.answer:
        return (
            f"now read as {after.answer or 'nothing'}, previously as {before.answer or 'nothing'}"
        )
    if before.max_points != after.max_points:
        return f"now worth {points(after.max_points)}, previously {points(before.max_points)}"
    if before.points != after.points:
        return f"credit for {_verdict_text(after)} changed"
    if before.problem != after.problem:
        return f"problem {before.problem} became {after.problem}"
    return "only the feedback changed"


def _verdict_text(mark: Mark) -> str:
    if mark.verdict is Verdict.MISTAKE and mark.mistake:
        return f"{mark.verdict} ({mark.mistake})"
    return mark.verdict.value
