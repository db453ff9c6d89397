"""One variant of one problem under test by the gate, and the findings of its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from grader.bank.yaml12 import Located, Path_
from grader.draw import draw, format_numbers, sample_seed, standalone_paper
from grader.errors import Location
from grader.kinds import Example, kinds
from grader.model import Facts, Paper, Problem, Variant
from grader.verify.solutions import Solve

CODE_SEEDS = 3
"""Seeds for which code is run, as each has many hidden cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One defect that a check found."""

    problem: str
    check: str
    """Which check found it, such as `second-computation`."""
    where: Location
    what: str
    fix: str
    seed: int | None = None
    values: str = ""
    """The variant's numbers, to reproduce the finding."""
    seeds: int = 1
    """The number of seeds with this finding; `seed` is the first of them."""
    of: int = 1
    """The number of seeds checked."""

    def __str__(self) -> str:
        numbers = f": {self.values}" if self.values else ""
        count = f"{self.seeds} of {self.of} seeds; first: " if self.of > 1 else ""
        seen = f"\n  {count}seed {self.seed}{numbers}" if self.seed is not None else ""
        return f"{self.where}: {self.what} [{self.check}]{seen}\n  fix: {self.fix}"


@dataclass(frozen=True)
class Case:
    """A variant for one seed of the gate, on a paper with no other problem."""

    problem: Problem
    source: Located
    facts: Facts
    number: int
    """The seed as the command line counts it."""
    solve: Solve | None
    templates: tuple[Path, ...]
    code_seeds: int = CODE_SEEDS
    solve_results: dict[str, Mapping[str, object]] = field(default_factory=dict)
    """What `solve` returned for earlier seeds, by the numbers."""
    revealing: dict[str, int] = field(default_factory=dict)
    """By known-wrong function, the index of a call that revealed it for an earlier seed."""
    painted: dict[str, int] = field(default_factory=dict)
    """By figure, how much the largest that was painted for an earlier seed shows."""
    right: dict[str, Sequence[Mapping[str, object]]] = field(default_factory=dict)
    """By code part, the results of its calls by the reference."""
    samples: dict[str, tuple[Example, ...]] = field(default_factory=dict)
    """The samples of each part, as far as `examples` has made them."""

    @cached_property
    def variant(self) -> Variant:
        """The variant. Raises SpecError if it can't be drawn."""
        return draw(self.problem, sample_seed(self.problem.id, self.number), self.facts)

    @cached_property
    def paper(self) -> Paper:
        """A paper with this one problem."""
        return standalone_paper([self.variant], "gate")

    @cached_property
    def values(self) -> str:
        """The drawn numbers in one line."""
        return format_numbers(self.problem, self.variant.draw.scope)

    def examples(self, part_id: str) -> tuple[Example, ...]:
        """Returns the samples of a part. Raises ExpressionError, TextError, or ValueError."""
        if part_id not in self.samples:
            key = self.variant.keys[part_id]
            self.samples[part_id] = kinds.find(key.part.kind).examples(key)
        return self.samples[part_id]

    def part_path(self, part_id: str) -> Path_:
        """Returns the path of a part in the YAML."""
        for index, part in enumerate(self.problem.parts):
            if part.id == part_id:
                return ("parts", index)
        return ("parts",)

    def mistake_path(self, part_id: str, mistake: str) -> Path_:
        """Returns the path of a part's mistake in the YAML, or of the option that represents it."""
        at = self.part_path(part_id)
        part = next(p for p in self.problem.parts if p.id == part_id)
        for listed in ("mistakes", "options"):
            for index, entry in enumerate(getattr(part, listed, ())):
                if entry.id == mistake:
                    return (*at, listed, index)
        for column, cells in enumerate(getattr(part, "columns", ())):
            for index, entry in enumerate(cells.mistakes):
                if entry.id == mistake:
                    return (*at, "columns", column, "mistakes", index)
        return at

    def general_finding(self, check: str, at: Path_, what: str, fix: str) -> Finding:
        """Returns a finding at *at* in the YAML that is not about this case's numbers."""
        where = self.source.at(at)
        return Finding(problem=self.problem.id, check=check, where=where, what=what, fix=fix)

    def finding(self, check: str, at: Path_, what: str, fix: str) -> Finding:
        """Returns a finding at *at* in the YAML, with this case's seed and numbers."""
        general = self.general_finding(check, at, what, fix)
        return replace(general, seed=self.number, values=self.values)

    def part_finding(self, check: str, part_id: str, what: str, fix: str) -> Finding:
        """Returns a finding about a part, whose id the message begins with."""
        return self.finding(check, self.part_path(part_id), f"part '{part_id}': {what}", fix)
