"""A part of a variant as a question of another system: what each answer earns. Secret.

Every kind says what it is in these few forms; what has none is named when it is exported.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Numbers that earn the same."""

    low: float
    high: float
    """Both ends are included."""
    value: float
    """The number that it is about."""
    share: float
    """Of the points: 1 for the key, less for a mistake."""
    feedback: str = ""
    """Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberItem:
    """One number in one unit. The first range that holds the answer decides."""

    ranges: tuple[Range, ...]
    """The key's first, then the mistakes', which never lie in the key's."""
    unit: str = ""
    whole: bool = False
    """Whether only integers make sense."""
    label: str = ""
    """Which of several numbers of the part it is, such as a cell of a table; Markdown."""
    weight: float = 1.0
    """The share of the part's points that this number is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choosable:
    """Something that may be chosen."""

    id: str
    text: str
    """Markdown."""
    right: bool
    share: float = 0.0
    """Of the points, where one is chosen: 1 for the right one, what a mistake keeps for others."""
    feedback: str = ""
    """Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceItem:
    """One of several things, or all that hold."""

    choices: tuple[Choosable, ...]
    """In the order of this variant."""
    several: bool = False
    """Whether any number of them may be right."""
    rule: str = "all-or-nothing"
    """With `several`: the rule by which part of the points is earned."""
    shuffle: bool = True
    """Whether their order is of no meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsItem:
    """Things, each of which belongs to another; every pair counts the same."""

    pairs: tuple[tuple[str, str], ...]
    """Texts of a thing and of what belongs to it; Markdown."""
    others: tuple[str, ...] = ()
    """What belongs to nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Texts that earn the same."""

    texts: tuple[str, ...]
    share: float
    feedback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextItem:
    """A word or a short text."""

    words: tuple[Words, ...]
    """The key's first."""
    match: str = "casefold"
    """How texts are compared; see the kind `short_text`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EssayItem:
    """Something that a person reads and grades."""

    rubric: str = ""
    """Markdown."""


Item = NumberItem | ChoiceItem | PairsItem | TextItem | EssayItem
