"""Differences between two grades of a student: how the marks change, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.model import Mark, Verdict
from grader.text.words import points


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkChange:
    """A mark before and after; None if it did not exist."""

    name: str
    before: Mark | None
    after: Mark | None

    @property
    def why(self) -> str:
        """The reason in a few words, such as "incorrect became mistake (not-sharded)"."""
        if self.before is None:
            return "new on the paper"
        if self.after is None:
            return "no longer on the paper"
        return _change_reason(self.before, self.after)


def list_mark_changes(before: Sequence[Mark], after: Sequence[Mark]) -> tuple[MarkChange, ...]:
    """Returns the changes in points, verdicts, or feedback that a student would see."""
    old = {mark.name: mark for mark in before}
    new = {mark.name: mark for mark in after}
    return tuple(
        MarkChange(name=name, before=old.get(name), after=new.get(name))
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    )


def _change_reason(before: Mark, after: Mark) -> str:
    """Returns the most important difference between two marks of a name, in a few words."""
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
