"""What the pages of the catalogue show, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.bank.heads import Head
from grader.bank.statistics import PartStatistics
from grader.model.figure import DrawnFigure
from grader.model.printed import PrintedProblem
from grader.model.result import GivenValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """A concept of the inventory."""

    id: str
    topic: str
    sentence: str

    @property
    def name(self) -> str:
        """The topic with spaces in place of hyphens."""
        return self.topic.replace("-", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class CataloguePart:
    """A part of a variant, with all that a student sees of it."""

    name: str
    """The variable of its answer."""
    letter: str
    kind: str
    points: float
    minutes: float
    ask: str
    """Markdown."""
    options: str
    """Markdown; empty if there are none."""
    answer: str
    """The source of its answer cell."""
    examples: str
    """The source of the cell with its visible examples; empty if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVariant:
    """A variant as a student sees it; nothing of its key."""

    number: int
    """Its number among the variants on the page, from 1."""
    seed: int
    """Its number for `grader show --seed`."""
    prompt: str
    """Markdown."""
    given_values: tuple[GivenValue, ...]
    assumptions: tuple[str, ...]
    """Markdown each."""
    figures: tuple[DrawnFigure, ...]
    """The figures of the prompt."""
    tools: Mapping[str, str]
    """The titles and the sources of the cells with definitions that answers may use."""
    parts: tuple[CataloguePart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvedVariant:
    """The key and the worked solution of a variant. **Secret.**"""

    number: int
    seed: int
    problem: PrintedProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """A problem in the catalogue."""

    head: Head
    family: str
    """The title of its family."""
    code: bool
    """Whether a part needs code or a measurement."""
    concepts: tuple[Concept, ...]
    letters: Mapping[str, str]
    """The letters of the parts that examine a concept, such as "a, c", by the concept's id; without
    concepts that all parts examine."""
    sets: Mapping[str, str]
    """The titles of the sets that may ask it, by id."""
    statistics: Mapping[str, PartStatistics]
    """How students did in earlier terms, by part; empty if unknown."""
    variants: tuple[ShownVariant, ...]
    solved_variants: tuple[SolvedVariant, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its parts, each once."""
        return tuple(dict.fromkeys(part.kind for part in self.head.parts))
