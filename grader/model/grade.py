"""The marks and grade of a submission, and manual changes to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from grader.errors import visible


class Verdict(StrEnum):
    """The verdict on an answer."""

    CORRECT = "correct"
    PARTIAL = "partial"
    MISTAKE = "mistake"
    """A known wrong answer, which the problem declares."""
    INCORRECT = "incorrect"
    ABSENT = "absent"
    UNREADABLE = "unreadable"
    UNSETTLED = "unsettled"
    """Not decided: needs a person or another machine, or an internal error. Never counts as 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """A kind's verdict on one value, before points."""

    share: float | None
    """The share of the part's points, from 0 to 1; None while unsettled."""
    verdict: Verdict
    note: str = ""
    """The reason, safe to read before release: reveals nothing about the key."""
    mistake: str | None = None
    cells: Mapping[str, str] = field(default_factory=dict)
    """For answers with several items: the verdict on each, by label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The verdict on one part."""

    problem: str
    part: str
    name: str
    kind: str
    points: float | None
    """None while unsettled."""
    max_points: float
    verdict: Verdict
    mistake: str | None
    answer: str | None
    """The answer as read, such as "28 GB"."""
    feedback: str
    """Safe to read before release."""

    def __post_init__(self) -> None:
        # Both may quote students, and all that people read of a mark is built from them.
        for name in ("answer", "feedback"):
            text = getattr(self, name)
            if text is not None:
                object.__setattr__(self, name, visible(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """All marks of one submission."""

    student: str
    exam: str
    submission_sha256: str | None
    marks: tuple[Mark, ...]
    engine: str
    release: str
    environment: Mapping[str, object] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every mark is settled."""
        return all(mark.points is not None for mark in self.marks)

    @property
    def score(self) -> float:
        """The total points of all settled marks."""
        return round(sum(mark.points or 0.0 for mark in self.marks), 6)

    @property
    def max_score(self) -> float:
        """The maximum points of all parts together."""
        return round(sum(mark.max_points for mark in self.marks), 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Points that a person assigned; stored apart from the grader's, and never overwritten."""

    student: str
    name: str
    points: float
    reason: str
    by: str
    at: str
