"""What becomes of grades: a row for every student, and what an audience may see of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from grader.model.evidence import Outcome
from grader.model.grade import Audience, Grade, Mark, Override, Verdict
from grader.model.paper import Student


class Standing(StrEnum):
    """How far a student's work has come; tells "handed in nothing" from "earned nothing"."""

    GRADED = "graded"
    WAITING = "not graded yet"
    """The latest submission is not; an earlier one may be, and its grade then stands meanwhile."""
    OPEN = "open"
    """Graded, but not one mark is settled."""
    REFUSED = "can't be read"
    """Every mark is open, and there is no total, until a person decides."""
    MISSING = "no submission"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One student's line: the grade with what people changed by hand, and its total."""

    student: Student
    standing: Standing
    grade: Grade | None
    """With overrides applied; None when nothing was graded. While the latest submission waits,
    of the one before."""
    score: float
    max_score: float
    complete: bool
    """Whether there is a final total: every mark is settled, and no newer submission waits."""
    overrides: Mapping[str, Override] = field(default_factory=dict)
    """Those that count, by mark name."""
    stale: tuple[Override, ...] = ()
    """Those for marks that the grade no longer has."""
    refusal: str | None = None
    """Why the graded submission could not be executed; without a grade, the latest."""
    warnings: tuple[str, ...] = ()
    """What was odd about the graded file, such as that it is another student's; a sentence each."""

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks, or none."""
        return self.grade.marks if self.grade else ()

    @property
    def unsettled(self) -> int:
        """How many marks are still open."""
        return sum(mark.points is None for mark in self.marks)

    @property
    def total(self) -> float | None:
        """The points of the settled marks; None while nothing is settled, which is not zero."""
        return self.score if self.unsettled < len(self.marks) else None

    @property
    def share(self) -> float | None:
        """The share that was earned of the settled points, from 0 to 1; None without any."""
        settled = sum(mark.max_points for mark in self.marks if mark.points is not None)
        return self.score / settled if settled else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSummary:
    """How one execution went, without its answers."""

    submission_sha256: str
    outcome: Outcome
    seconds: float
    note: str | None = None
    failed_cells: int = 0
    first_error: str | None = None
    """What the first failing cell raised, such as "code cell 4, line 2: NameError: ..."."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenValue:
    """One line of the table of given values."""

    label: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPart:
    """One part as an audience may see it; what it may not see is None."""

    id: str
    name: str
    kind: str
    ask: str
    """Markdown."""
    answer: str | None
    """As read; plain text from the student."""
    verdict: Verdict
    mistake: str | None
    """Its id, for staff; None for students, as it may say what is right."""
    why: str
    """Markdown; may hold text from the student."""
    look_at: str
    """What to do or read next; plain text."""
    points: float | None
    max_points: float
    set_by: str | None = None
    """Who set the points by hand; None for students, to whom the feedback says that one did."""
    accepted: str | None = None
    """The accepted answer and its reason, in Markdown; None until released."""
    chosen: tuple[str, ...] = ()
    """What the letters in the answer stand for, in Markdown: the student's own choice alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProblem:
    """One problem as an audience may see it; what it may not see is None or empty."""

    number: int
    id: str
    title: str
    parts: tuple[ShownPart, ...]
    prompt: str | None = None
    """Markdown."""
    given: tuple[GivenValue, ...] = ()
    assumptions: tuple[str, ...] = ()
    """Markdown each."""
    solution: str | None = None
    """Markdown."""

    @property
    def points(self) -> float:
        """The points of the settled parts."""
        return round(sum(part.points or 0.0 for part in self.parts), 6)

    @property
    def max_points(self) -> float:
        """All points of the problem."""
        return round(sum(part.max_points for part in self.parts), 6)

    @property
    def unsettled(self) -> int:
        """How many parts are still open."""
        return sum(part.points is None for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTrouble:
    """One cell that did not run to its end."""

    number: int
    """As Jupyter numbers code cells that are run from the top."""
    outcome: Outcome
    error: str
    """Plain text from the student's kernel."""
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStory:
    """How the notebook ran, in words for the student."""

    sentence: str
    seconds: float
    troubles: tuple[CellTrouble, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Everything that one student's feedback page may say to an audience."""

    student: Student
    exam: str
    title: str
    release: str
    """The short id that the notebook carries."""
    standing: Standing
    audience: Audience
    published: bool
    score: float
    max_score: float
    complete: bool
    problems: tuple[ShownProblem, ...] = ()
    run: RunStory | None = None
    refusal: str | None = None
    warnings: tuple[str, ...] = ()
    """What was odd about the graded file; a sentence each, which may hold text from the student."""

    @property
    def unsettled(self) -> int:
        """How many parts are still open."""
        return sum(problem.unsettled for problem in self.problems)

    @property
    def total(self) -> float | None:
        """The points of the settled parts; None while nothing is settled, which is not zero."""
        parts = sum(len(problem.parts) for problem in self.problems)
        return self.score if self.unsettled < parts else None
