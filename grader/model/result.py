"""Views of grades: a row for every student, and what the student may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from grader.model.course import Deduction
from grader.model.evidence import Outcome
from grader.model.figure import DrawnFigure, TextBlock
from grader.model.grade import Grade, Mark, Override, Verdict
from grader.model.paper import Student
from grader.model.requests import RegradeRequest, RequestForm


class Standing(StrEnum):
    """The state of a student's work; distinguishes "no submission" from "no points"."""

    GRADED = "graded"
    WAITING = "not graded yet"
    """The latest submission is not graded; if an earlier one is, its grade applies for now."""
    OPEN = "open"
    """Graded, but no mark is settled."""
    REFUSED = "can't be read"
    """There is no total until a person has graded every answer."""
    MISSING = "no submission"
    EXEMPT = "exempt"
    """The course exempts the student, so there is no total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentResult:
    """What the row and the feedback of a student share."""

    student: Student
    standing: Standing
    score: float
    max_score: float
    complete: bool
    """Whether the total is final: every mark is settled, and no newer submission waits. False for
    exempt students, who have no total."""
    refusal: str | None = None
    """Why the graded submission, or else the latest, could not be executed."""
    warnings: tuple[str, ...] = ()
    """Oddities of the graded file, such as that it is another student's; a sentence each, which may
    contain text from the student."""
    raw_score: float | None = None
    """The points before the course's deductions; None if there are none."""
    deduction: Deduction | None = None
    """What the course's policies take from the points, and why."""
    policy_notes: tuple[str, ...] = ()
    """The exceptions that the course grants the student; a sentence each."""
    requests: tuple[RegradeRequest, ...] = ()
    """The student's regrade requests, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(StudentResult):
    """One student's row: the grade with manual changes, and its total."""

    grade: Grade | None
    """With overrides applied; None if nothing was graded. While the latest submission waits, the
    grade of the previous one."""
    overrides: Mapping[str, Override] = field(default_factory=dict)
    """Overrides in effect, by mark name."""
    stale: tuple[Override, ...] = ()
    """Overrides for marks that the grade no longer has."""

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks of the grade; empty without a grade."""
        return self.grade.marks if self.grade else ()

    @property
    def unsettled(self) -> int:
        """The number of open marks."""
        return sum(mark.points is None for mark in self.marks)

    @property
    def total(self) -> float | None:
        """The points of the settled marks after deductions; None while no mark is settled, which is
        not 0, while a file that can't be read has open marks, and for exempt students."""
        if self.standing is Standing.EXEMPT or self._is_unreadable:
            return None
        return self.score if self.unsettled < len(self.marks) else None

    @property
    def share(self) -> float | None:
        """The share of the settled points that the answers earned, before deductions, from 0 to 1;
        None if there are none, while a file that can't be read has open marks, and for exempt
        students."""
        if self.standing is Standing.EXEMPT or self._is_unreadable:
            return None
        settled = sum(mark.max_points for mark in self.marks if mark.points is not None)
        earned = self.score if self.raw_score is None else self.raw_score
        return earned / settled if settled else None

    @property
    def _is_unreadable(self) -> bool:
        """Whether the graded file can't be read and has open marks: what a person has assigned so
        far says nothing about the rest."""
        return self.refusal is not None and self.unsettled > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSummary:
    """A summary of one execution, without its answers."""

    submission_sha256: str
    outcome: Outcome
    seconds: float
    note: str | None = None
    failed_cells: int = 0
    first_error: str | None = None
    """What the first failing cell raised, such as "code cell 4, line 2: NameError: ..."."""


class GivenValue(NamedTuple):
    """One line of the table of given values."""

    label: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemText:
    """The texts of a variant outside its parts."""

    title: str
    prompt: str
    """Markdown, like all texts here."""
    given_values: tuple[GivenValue, ...]
    assumptions: tuple[str, ...]
    solution: str
    """The worked solution. **Secret.**"""
    figures: tuple[DrawnFigure, ...] = ()
    """The figures of the prompt."""
    solution_blocks: tuple[TextBlock, ...] = ()
    """The worked solution with its figures, in blocks. **Secret.**"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPart:
    """One part as its student may see it; hidden fields are None."""

    id: str
    name: str
    kind: str
    ask: str
    """Markdown."""
    answer: str | None
    """As read; plain text from the student."""
    verdict: Verdict
    why: str
    """Markdown; may contain text from the student."""
    look_at: str
    """What to do or read next; plain text."""
    points: float | None
    max_points: float
    accepted_answer: str | None = None
    """The accepted answer and its reason, in Markdown; None until released."""
    chosen_options: tuple[str, ...] = ()
    """The meaning of the letters in the student's answer, in Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProblem:
    """One problem as its student may see it; hidden fields are None or empty."""

    number: int
    id: str
    title: str
    parts: tuple[ShownPart, ...]
    prompt: str | None = None
    """Markdown."""
    given_values: tuple[GivenValue, ...] = ()
    assumptions: tuple[str, ...] = ()
    """Markdown each."""
    figures: tuple[DrawnFigure, ...] = ()
    """The figures of the prompt."""
    solution: str | None = None
    """Markdown."""
    solution_blocks: tuple[TextBlock, ...] = ()
    """The worked solution with its figures, in blocks."""

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
    """One cell that did not finish."""

    number: int
    """The number that Jupyter shows beside the cell after Run All."""
    outcome: Outcome
    error: str
    """Plain text from the student's kernel."""
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """How the notebook ran, described for the student."""

    sentence: str
    seconds: float
    troubles: tuple[CellTrouble, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback(StudentResult):
    """Everything that one student's feedback page may show."""

    exam: str
    title: str
    release: str
    """The short id printed in the notebook."""
    is_published: bool
    problems: tuple[ShownProblem, ...] = ()
    run: RunSummary | None = None
    request_form: RequestForm | None = None
    """The form for further requests; None if there is none."""

    def requests_for(self, name: str) -> tuple[RegradeRequest, ...]:
        """Returns the requests about one answer, oldest first."""
        return tuple(request for request in self.requests if request.name == name)

    @property
    def unsettled(self) -> int:
        """How many parts are still open."""
        return sum(problem.unsettled for problem in self.problems)

    @property
    def total(self) -> float | None:
        """The points of the settled parts after deductions; None while nothing is settled, which is
        not zero, while a file that can't be read has open parts, and for exempt students."""
        if self.standing is Standing.EXEMPT or (self.refusal is not None and self.unsettled):
            return None
        parts = sum(len(problem.parts) for problem in self.problems)
        return self.score if self.unsettled < parts else None
