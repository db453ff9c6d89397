"""What a submission earned: marks, grades, and what a person changed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from grader.errors import visible


class Verdict(StrEnum):
    """Was it right?"""

    CORRECT = "correct"
    PARTIAL = "partial"
    MISTAKE = "mistake"
    """A wrong answer that the problem names."""
    INCORRECT = "incorrect"
    ABSENT = "absent"
    UNREADABLE = "unreadable"
    UNSETTLED = "unsettled"
    """We can't tell yet: needs a person, another runner, or was our fault. Never a zero."""


class Audience(StrEnum):
    """Who is reading?"""

    STUDENT = "student"
    STAFF = "staff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A kind's verdict on one value, before points."""

    share: float | None
    """Of the part's points, from 0 to 1; None while unsettled."""
    verdict: Verdict
    note: str = ""
    """Why, in words that may be read before release: nothing of the key."""
    mistake: str | None = None
    cells: Mapping[str, str] = field(default_factory=dict)
    """For answers made of several: each one's verdict, by label."""


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
        # Both quote students, and everything that a person reads of a mark is made from here.
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
        """The points of all settled marks."""
        return round(sum(mark.points or 0.0 for mark in self.marks), 6)

    @property
    def max_score(self) -> float:
        """All points that could be earned."""
        return round(sum(mark.max_points for mark in self.marks), 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Points that a person gave by hand; kept apart from the engine's, and never overwritten."""

    student: str
    name: str
    points: float
    reason: str
    by: str
    at: str
