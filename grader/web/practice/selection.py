"""Which problems to practice: by id, set, family, level, concept, and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.bank.folders import Bank
from grader.bank.heads import Head
from grader.errors import SetupError
from grader.registry import suggest

_Inventory = Mapping[str, Mapping[str, str]]
"""The entries of the concept inventory, by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What the student chose; empty fields allow everything."""

    name: str = ""
    family: str = ""
    level: str = ""
    concept: str = ""
    """An id or a topic of the concept inventory, or a topic of a problem."""
    minutes: float = 0.0
    """How many minutes to practice; 0 means no limit."""


def select(bank: Bank, heads: Sequence[Head], choice: Selection) -> tuple[Head, ...]:
    """Returns the problems of *heads* that *choice* allows.

    Raises SetupError if there are none, or if there is no such problem or set.
    """
    ids = _wanted_ids(bank, heads, choice.name)
    inventory = bank.concepts() if choice.concept else {}
    matching = tuple(
        head
        for head in heads
        if (ids is None or head.id in ids)
        and choice.family in ("", head.family)
        and choice.level in ("", head.level)
        and (not choice.concept or choice.concept in _list_concepts(head, inventory))
    )
    if not matching:
        raise SetupError(
            "no problem of the bank matches this choice",
            fix=_suggest_other(choice, heads, inventory),
        )
    return matching


def _suggest_other(choice: Selection, heads: Sequence[Head], inventory: _Inventory) -> str:
    """Returns what to do if *choice* matches nothing: a misspelled name, or another choice."""
    otherwise = "choose another family, level, or concept; `grader list` shows the problems"
    families = {head.family for head in heads}
    concepts = {name for head in heads for name in _list_concepts(head, inventory)}
    for name, names in ((choice.family, families), (choice.concept, concepts)):
        if name and name not in names:
            return suggest(name, sorted(names), otherwise)
    return otherwise


def _wanted_ids(bank: Bank, heads: Sequence[Head], wanted: str) -> set[str] | None:
    """Returns the ids of the problems that *wanted*, a problem or set, stands for; None for all."""
    if not wanted:
        return None
    if any(head.id == wanted for head in heads):
        return {wanted}
    if wanted not in bank.listed_sets:
        raise SetupError(
            f"there is no problem or set '{wanted}'",
            fix=suggest(
                wanted,
                (*(head.id for head in heads), *bank.listed_sets),
                "choose a set on the page, or an ID that `grader list` shows",
            ),
        )
    return set(bank.exam(wanted).problem_ids)


def _list_concepts(head: Head, inventory: _Inventory) -> set[str]:
    """Returns the names of a concept or topic by which *head* can be chosen."""
    topics = {inventory[name].get("topic", "") for name in head.concepts if name in inventory}
    return {*head.concepts, *head.topics, *topics}
