"""An exam on paper: a version of a set, with a place for every answer, and its key; secret."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from grader.model.result import GivenValue


class Form(StrEnum):
    """What an answer on paper looks like."""

    LINE = "line"
    """A number or a word."""
    LETTER = "letter"
    LETTERS = "letters"
    """Any number of them."""
    TRUTH = "truth"
    ORDER = "order"
    """Every letter once, in order."""
    PAIRS = "pairs"
    """A letter for each number."""
    GRID = "grid"
    TEXT = "text"
    """Some sentences, which a person reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a grid."""

    title: str
    """Markdown."""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an answer is written, and what it is called on the sheet that is typed back in."""

    name: str
    """The answer's variable, such as `q3_per_gpu`."""
    form: Form
    unit: str = ""
    count: int = 1
    """How many letters there are to write, of an order or of pairs."""
    points: float = 0.0
    corner: str = ""
    """Of a grid: what its rows are."""
    rows: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the sheet."""
        if self.form is Form.TEXT:
            return (f"{self.name}{POINTS}",)
        if self.form is not Form.GRID:
            return (self.name,)
        return tuple(
            cell_name(self.name, row, column)
            for row in range(1, len(self.rows) + 1)
            for column in range(1, len(self.columns) + 1)
        )


POINTS = ".points"
"""Behind the name of what a person reads on paper: the points that it earned are typed in."""


def cell_name(name: str, row: int, column: int) -> str:
    """What a cell of a grid is called on the sheet; rows and columns count from 1."""
    return f"{name}.{row}.{column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedMistake:
    """A wrong answer that students really give."""

    answer: str
    """Markdown."""
    share: float
    """Of the points, that it keeps."""
    feedback: str
    """Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedPart:
    """One part on paper."""

    letter: str
    """Empty where it is the only one."""
    ask: str
    """Markdown, like all texts here."""
    options: str
    rule: str
    """How part of the points is earned, in a few words; empty where all or nothing is."""
    place: Place
    accepted: str
    """The right answer, and what was accepted. **Secret.**"""
    mistakes: tuple[PrintedMistake, ...]

    @property
    def points(self) -> float:
        """What it is worth."""
        return self.place.points


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedProblem:
    """One problem on paper."""

    number: int
    title: str
    prompt: str
    given: tuple[GivenValue, ...]
    assumptions: tuple[str, ...]
    parts: tuple[PrintedPart, ...]
    solution: str
    """**Secret.**"""

    @property
    def points(self) -> float:
        """Of all its parts."""
        return round(sum(part.points for part in self.parts), 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedExam:
    """One version."""

    version: str
    """Its letter."""
    check: str
    """A short code that only this version of this release has, to be typed in with the letter."""
    title: str
    instructions: str
    minutes: float | None
    problems: tuple[PrintedProblem, ...]

    @property
    def points(self) -> float:
        """Of all problems."""
        return round(sum(problem.points for problem in self.problems), 6)

    @property
    def places(self) -> tuple[Place, ...]:
        """Where all answers are written, in order."""
        return tuple(part.place for problem in self.problems for part in problem.parts)
