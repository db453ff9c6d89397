"""An exam on paper: a version of a set, with a place for every answer, and its key; secret."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from grader.model.result import ProblemText


class AnswerForm(StrEnum):
    """The form of an answer on paper."""

    LINE = "line"
    """A number or a word."""
    LETTER = "letter"
    LETTERS = "letters"
    """Any number of letters."""
    TRUTH = "truth"
    ORDER = "order"
    """Every letter once, in order."""
    PAIRS = "pairs"
    """One letter per number."""
    GRID = "grid"
    PLAN = "plan"
    """A value for each choice."""
    TEXT = "text"
    """A text that a person grades."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedColumn:
    """One column of a grid."""

    title: str
    """Markdown."""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlace:
    """The place for an answer, and its name on the entry sheet."""

    name: str
    """The answer's variable, such as `q3_per_gpu`."""
    form: AnswerForm
    unit: str = ""
    count: int = 1
    """The number of letters to write, for an order or pairs; 2 for a truth with a reason."""
    points: float = 0.0
    corner: str = ""
    """The row headers of a grid or a plan."""
    rows: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    """The names of a plan's choices, one for each row."""
    columns: tuple[PrintedColumn, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the answer's columns on the entry sheet."""
        if self.form is AnswerForm.TEXT:
            return (f"{self.name}{POINTS}",)
        if self.form not in (AnswerForm.GRID, AnswerForm.PLAN):
            return (self.name,)
        return tuple(
            cell_name(self.name, row, column)
            for row in range(1, len(self.rows) + 1)
            for column in range(1, len(self.columns) + 1)
        )


POINTS = ".points"
"""Suffix of a column on the entry sheet that holds points assigned by a person."""


def cell_name(name: str, row: int, column: int) -> str:
    """Returns the name of a grid's cell on the entry sheet; rows and columns count from 1."""
    return f"{name}.{row}.{column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedMistake:
    """A typical wrong answer to a part, with its credit and feedback."""

    answer: str
    """Markdown."""
    share: float
    """The share of the points that it keeps."""
    feedback: str
    """Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedPart:
    """A part of a problem as it is printed."""

    letter: str
    """Empty if it is the only part."""
    ask: str
    """Markdown, like all texts here."""
    options: str
    rule: str
    """How close a number must be, if not as usual, and the rule for partial credit, in a few words;
    empty if there is neither."""
    place: AnswerPlace
    accepted_answer: str
    """The right answer, and the accepted range. **Secret.**"""
    mistakes: tuple[PrintedMistake, ...]

    @property
    def points(self) -> float:
        """The points of the part."""
        return self.place.points


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedProblem(ProblemText):
    """A problem of a version, as it is printed."""

    number: int
    parts: tuple[PrintedPart, ...]

    @property
    def points(self) -> float:
        """The points of all parts."""
        return round(sum(part.points for part in self.parts), 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedExam:
    """One version of an exam, as it is printed."""

    version: str
    """Its letter."""
    check: str
    """A short code unique to this version of this release, to be typed in with the letter."""
    title: str
    instructions: str
    minutes: float | None
    tolerance: str
    """How close numbers must be, in a sentence; empty if there are no numbers."""
    problems: tuple[PrintedProblem, ...]

    @property
    def points(self) -> float:
        """The points of all problems."""
        return round(sum(problem.points for problem in self.problems), 6)

    @property
    def places(self) -> tuple[AnswerPlace, ...]:
        """Where all answers are written, in order."""
        return tuple(part.place for problem in self.problems for part in problem.parts)
