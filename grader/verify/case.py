"""One variant of one problem as the gate looks at it, and what a check may say of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grader.bank.yaml12 import Located, Path_
from grader.draw import draw, loose_paper, numbers, sample_seed
from grader.errors import Location
from grader.model import Facts, Paper, Problem, Variant
from grader.verify.solutions import Solve

CODE_SEEDS = 3
"""Seeds for which code is run: many cases hang on each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that does not hold."""

    problem: str
    check: str
    """Which check found it, such as `second-computation`."""
    where: Location
    what: str
    fix: str
    seed: int | None = None
    values: str = ""
    """The variant's numbers, so that the finding can be seen again."""
    seeds: int = 1
    """How many seeds it was made at; `seed` is the first of them."""
    of: int = 1
    """How many seeds were checked."""

    def __str__(self) -> str:
        numbers = f": {self.values}" if self.values else ""
        count = f"{self.seeds} of {self.of} seeds; first: " if self.of > 1 else ""
        seen = f"\n  {count}seed {self.seed}{numbers}" if self.seed is not None else ""
        return f"{self.where}: {self.what} [{self.check}]{seen}\n  fix: {self.fix}"


@dataclass(frozen=True)
class Case:
    """A variant for one seed of the gate, on a paper of its own."""

    problem: Problem
    source: Located
    facts: Facts
    number: int
    """The seed as the command line counts it."""
    solve: Solve | None
    templates: tuple[Path, ...]
    code_seeds: int = CODE_SEEDS
    found: list[Finding] = field(default_factory=list)

    @cached_property
    def variant(self) -> Variant:
        """The variant; raises SpecError when it can't be drawn."""
        return draw(self.problem, sample_seed(self.problem.id, self.number), self.facts)

    @cached_property
    def paper(self) -> Paper:
        """A paper with this one problem."""
        return loose_paper([self.variant], "gate")

    @cached_property
    def values(self) -> str:
        """The drawn numbers in one line."""
        return numbers(self.problem, self.variant.scope)

    def part_path(self, part_id: str) -> Path_:
        """Where a part stands in the YAML."""
        for index, part in enumerate(self.problem.parts):
            if part.id == part_id:
                return ("parts", index)
        return ("parts",)

    def mistake_path(self, part_id: str, mistake: str) -> Path_:
        """Where a mistake of a part, or the option that stands for one, stands in the YAML."""
        at = self.part_path(part_id)
        part = next(p for p in self.problem.parts if p.id == part_id)
        for listed in ("mistakes", "options"):
            for index, one in enumerate(getattr(part, listed, ())):
                if one.id == mistake:
                    return (*at, listed, index)
        for column, cells in enumerate(getattr(part, "columns", ())):
            for index, one in enumerate(cells.mistakes):
                if one.id == mistake:
                    return (*at, "columns", column, "mistakes", index)
        return at

    def finding(self, check: str, at: Path_, what: str, fix: str) -> Finding:
        """A finding at *at* in the YAML, with this case's seed and numbers."""
        return Finding(
            problem=self.problem.id,
            check=check,
            where=self.source.at(at),
            what=what,
            fix=fix,
            seed=self.number,
            values=self.values,
        )
