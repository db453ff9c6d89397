"""Which concepts of the inventory are examined, and by which problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.bank.heads import read_heads
from grader.bank.index import BankIndex
from grader.errors import SpecError


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The inventory against the bank."""

    concepts: Mapping[str, Mapping[str, str]]
    examined: Mapping[str, tuple[str, ...]]
    """Concept id to the problems that cite it."""
    unknown: Mapping[str, tuple[str, ...]]
    """Ids that problems cite and the inventory does not have."""
    errors: tuple[SpecError, ...] = ()
    """What is wrong with files of problems, which are not counted."""

    def by_family(self) -> dict[str, tuple[int, int]]:
        """Family to how many of its concepts are examined, and how many there are."""
        counts: dict[str, tuple[int, int]] = {}
        for name, concept in self.concepts.items():
            have, total = counts.get(concept["family"], (0, 0))
            counts[concept["family"]] = have + (name in self.examined), total + 1
        return counts

    def as_data(self) -> dict[str, object]:
        """Plain data."""
        return {
            "examined": len(self.examined),
            "concepts": len(self.concepts),
            "families": {f: {"examined": h, "of": t} for f, (h, t) in self.by_family().items()},
            "by_concept": {name: list(problems) for name, problems in self.examined.items()},
            "missing": sorted(set(self.concepts) - set(self.examined)),
            "unknown": {name: list(problems) for name, problems in self.unknown.items()},
        }


def coverage(bank: BankIndex) -> Coverage:
    """The coverage of the banks' inventory by their problems."""
    concepts = bank.concepts()
    cited: dict[str, list[str]] = {}
    heads, errors = read_heads(bank)
    for head in heads:
        for name in head.concepts:
            cited.setdefault(name, []).append(head.id)
    return Coverage(
        concepts=concepts,
        examined={n: tuple(p) for n, p in sorted(cited.items()) if n in concepts},
        unknown={n: tuple(p) for n, p in sorted(cited.items()) if n not in concepts},
        errors=errors,
    )
