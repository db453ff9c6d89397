"""What a set consists of, and how much the papers of its students differ."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import get_args

from grader.bank.blueprint import PaperTotals, PartGroup, group_in_slot
from grader.bank.folders import Bank
from grader.draw import iter_chosen
from grader.model import ExamSet, Level, Slot

PAPERS = 200
"""The number of sample papers that a composition compares."""
_KEY = hashlib.sha256(b"composition").digest()

Range = tuple[float, float]
"""The lowest and the highest value over the sample papers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositionEntry:
    """An entry of the set, and what it may ask."""

    first: int
    """The number of its first question."""
    count: int
    """How many of the groups a student gets."""
    groups: tuple[PartGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """The entries of a set, and the ranges over `PAPERS` sample papers."""

    exam: ExamSet
    entries: tuple[CompositionEntry, ...]
    questions: Range
    parts: Range
    minutes: Range
    points: Range
    families: Mapping[str, Range]
    """The share of each family in the points of a paper."""
    levels: Mapping[str, Range]
    """The share of each level in the points of a paper."""
    concepts: tuple[str, ...]
    """The ids of the concepts that any part of the set examines, sorted."""
    on_one_concept: int
    """The most problems of one paper that examine the same concept."""

    def as_data(self) -> dict[str, object]:
        """Returns the composition as plain data for `--json`."""
        return {
            "id": self.exam.id,
            "title": self.exam.title,
            "minutes_allowed": self.exam.minutes,
            "entries": [
                {
                    "first": entry.first,
                    "asked": entry.count,
                    "groups": [_group_data(group) for group in entry.groups],
                }
                for entry in self.entries
            ],
            "papers": PAPERS,
            "questions": list(self.questions),
            "parts": list(self.parts),
            "minutes": list(self.minutes),
            "points": list(self.points),
            "families": {name: list(share) for name, share in self.families.items()},
            "levels": {name: list(share) for name, share in self.levels.items()},
            "concepts": list(self.concepts),
            "most_problems_on_one_concept": self.on_one_concept,
        }


def _group_data(group: PartGroup) -> dict[str, object]:
    """Returns *group* as plain data, without what does not apply to it."""
    return {
        "problem": group.problem,
        "parts": list(group.parts),
        **({"drawn": group.pool_draws} if group.pool_draws else {}),
        "minutes": round(group.minutes, 2),
        "points": group.points,
        **({"mean": round(group.mean, 4)} if group.mean is not None else {}),
        "family": group.family,
        "level": group.level,
        "concepts": sorted(group.examined),
    }


def composition(bank: Bank, wanted: str) -> Composition:
    """Returns the composition of the set *wanted*. Raises SpecError or SetupError. Problems are not
    drawn, so that errors in their expressions are not found."""
    exam = bank.exam(wanted)
    heads = bank.heads(exam.problem_ids)
    groups = {
        name: group_in_slot(heads[name], slot) for slot in exam.slots for name in slot.problem_ids
    }
    papers = [
        tuple(groups[name] for _, name in iter_chosen(exam, _KEY, f"student-{number}"))
        for number in range(PAPERS)
    ]
    totals = [reduce(PaperTotals.plus, paper, PaperTotals()) for paper in papers]
    return Composition(
        exam=exam,
        entries=tuple(_entries(exam.slots, groups)),
        questions=_range(total.questions for total in totals),
        parts=_range(sum(group.part_count for group in paper) for paper in papers),
        minutes=_range(total.minutes for total in totals),
        points=_range(total.points for total in totals),
        families=_share_ranges([(total.families, total.points) for total in totals]),
        levels=_sort_levels(_share_ranges([(total.levels, total.points) for total in totals])),
        concepts=tuple(sorted({c for group in groups.values() for c in group.examined})),
        on_one_concept=max(_count_most_on_concept(paper) for paper in papers),
    )


def _entries(slots: Iterable[Slot], groups: Mapping[str, PartGroup]) -> list[CompositionEntry]:
    """Returns what each of *slots* may ask, with the number of its first question."""
    entries = []
    number = 1
    for slot in slots:
        members = tuple(groups[name] for name in slot.problem_ids)
        entries.append(CompositionEntry(first=number, count=slot.count, groups=members))
        number += slot.count
    return entries


def _range(values: Iterable[float]) -> Range:
    rounded = [round(value, 4) for value in values]
    return min(rounded), max(rounded)


def _share_ranges(papers: Sequence[tuple[Mapping[str, float], float]]) -> dict[str, Range]:
    names = sorted({name for points, _ in papers for name in points})
    return {
        name: _range(points.get(name, 0.0) / total for points, total in papers) for name in names
    }


def _sort_levels(levels: Mapping[str, Range]) -> dict[str, Range]:
    return {name: levels[name] for name in get_args(Level) if name in levels}


def _count_most_on_concept(paper: Iterable[PartGroup]) -> int:
    counts = Counter(concept for group in paper for concept in group.examined)
    return max(counts.values(), default=0)
