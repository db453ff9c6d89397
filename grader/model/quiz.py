"""A set as a quiz of another system: pools of variants, with each part in a suitable form."""

from __future__ import annotations

from dataclasses import dataclass, replace

from grader.model.item import Item
from grader.model.result import ProblemText


@dataclass(frozen=True, slots=True, kw_only=True)
class QuizPart:
    """One part of a variant. **Secret.**"""

    id: str
    letter: str
    """Its letter in the problem; empty if it is the only part that the set asks."""
    kind: str
    ask: str
    """Markdown."""
    points: float
    items: tuple[Item, ...]
    """Items with weights that add up to 1; empty if only this grader can ask the part."""
    uses: tuple[str, ...] = ()
    """Earlier parts whose answers affect its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuizQuestion(ProblemText):
    """One variant of a problem. **Secret.**"""

    problem: str
    variant: int
    """The number of the variant, from 1."""
    fields: tuple[QuizPart, ...]

    @property
    def points(self) -> float:
        """The points of all parts."""
        return round(sum(field.points for field in self.fields), 4)

    def scaled_to(self, points: float) -> QuizQuestion:
        """Returns the question, worth *points*; the points of its parts keep their ratio."""
        factor = points / self.points
        fields = tuple(replace(f, points=f.points * factor) for f in self.fields)
        return replace(self, fields=fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The questions for one number of a quiz, of which each student gets one."""

    number: int
    questions: tuple[QuizQuestion, ...]
    """Ordered by problem and variant; all are worth the same."""

    @property
    def problems(self) -> tuple[str, ...]:
        """The ids of the problems, without duplicates."""
        return tuple(dict.fromkeys(asked.problem for asked in self.questions))

    @property
    def title(self) -> str:
        """The problem's title, or the ids if there are several problems."""
        titles = tuple(dict.fromkeys(asked.title for asked in self.questions))
        return titles[0] if len(titles) == 1 else " or ".join(self.problems)

    @property
    def points(self) -> float:
        """The points of each question."""
        return self.questions[0].points

    @property
    def points_by_problem(self) -> dict[str, float]:
        """The points of each problem, by id."""
        return {asked.problem: asked.points for asked in self.questions}

    def with_equal_points(self) -> Pool:
        """Returns the pool with all questions scaled to the highest points among them."""
        most = max(asked.points for asked in self.questions)
        return replace(self, questions=tuple(asked.scaled_to(most) for asked in self.questions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiz:
    """The questions of a set, with the drawn variants. **Secret.**"""

    id: str
    title: str
    instructions: str
    """Markdown."""
    minutes: float | None
    pools: tuple[Pool, ...]
    notes: tuple[str, ...] = ()
    """Notes for the instructor about how it was drawn."""
