"""Finds which concepts of the inventory are examined, and by which problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.bank.index import BankIndex
from grader.bank.listing import read_heads
from grader.errors import SpecError


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The concepts of the inventory and the problems that examine them."""

    concepts: Mapping[str, Mapping[str, str]]
    problems: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Maps concept ids to the problems that examine them, and those to the ids of the parts that
    do."""
    unknown_concepts: Mapping[str, tuple[str, ...]]
    """Maps cited ids that are not in the inventory to the problems that cite them."""
    errors: tuple[SpecError, ...] = ()
    """Errors in problem files. These problems are not counted."""

    def by_family(self) -> dict[str, tuple[int, int]]:
        """Maps each family to the number of its examined concepts and of all its concepts."""
        counts: dict[str, tuple[int, int]] = {}
        for name, concept in self.concepts.items():
            have, total = counts.get(concept["family"], (0, 0))
            counts[concept["family"]] = have + (name in self.problems), total + 1
        return counts

    def as_data(self) -> dict[str, object]:
        """Returns the coverage as plain data."""
        return {
            "examined": len(self.problems),
            "concepts": len(self.concepts),
            "families": {f: {"examined": h, "of": t} for f, (h, t) in self.by_family().items()},
            "by_concept": {name: list(problems) for name, problems in self.problems.items()},
            "parts": {
                name: {problem: list(parts) for problem, parts in problems.items()}
                for name, problems in self.problems.items()
            },
            "missing": sorted(set(self.concepts) - set(self.problems)),
            "unknown": {name: list(problems) for name, problems in self.unknown_concepts.items()},
        }


def coverage(bank: BankIndex) -> Coverage:
    """Computes the coverage of the inventory by the problems of *bank*."""
    concepts = bank.concepts()
    cited: dict[str, dict[str, tuple[str, ...]]] = {}
    heads, errors = read_heads(bank)
    for head in heads:
        for name in head.concepts:
            cited.setdefault(name, {})[head.id] = head.parts_on(name)
    return Coverage(
        concepts=concepts,
        problems={n: p for n, p in sorted(cited.items()) if n in concepts},
        unknown_concepts={n: tuple(p) for n, p in sorted(cited.items()) if n not in concepts},
        errors=errors,
    )
