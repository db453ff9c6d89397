"""A part of a variant as a question of another system: what each answer earns. Secret.

Every kind says what it is in these few forms; what has none is named when it is exported.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What every form has."""

    lost: tuple[str, ...] = ()
    """What the kind's own judge does and this form does not say; a phrase each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Numbers that earn the same."""

    low: int | float
    high: int | float
    """Both ends are included."""
    value: int | float
    """The number that it is about: the key, or the mistake where the range holds it."""
    share: float
    """Of the points: 1 for the key, less for a mistake."""
    feedback: str = ""
    """Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberItem(Form):
    """One number in one unit. The first range that holds the answer decides."""

    ranges: tuple[Range, ...]
    """The key's first, then the mistakes', which never lie in the key's."""
    unit: str = ""
    whole: bool = False
    """Whether only integers make sense."""
    row: str = ""
    column: str = ""
    """Of a table's cell: what stands beside and above it; the latter is Markdown."""
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
class ChoiceItem(Form):
    """One of several things, or all that hold."""

    choices: tuple[Choosable, ...]
    """In the order of this variant."""
    several: bool = False
    """Whether any number of them may be right."""
    rule: str = "all-or-nothing"
    """With `several`: how part of the points is earned; see the kind `multi_choice`."""
    shuffle: bool = True
    """Whether their order is of no meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsItem(Form):
    """Things, each of which belongs to another; every one counts the same."""

    things: tuple[str, ...]
    """Markdown."""
    targets: tuple[str, ...]
    """What they may belong to, in the order of this variant; Markdown."""
    right: tuple[int, ...]
    """The index of each thing's target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderItem(Form):
    """Things that have one right order."""

    things: tuple[str, ...]
    """In the right order; Markdown."""
    rule: str
    """How part of the points is earned; see the kind `ordering`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Texts that earn the same."""

    texts: tuple[str, ...]
    share: float
    feedback: str = ""
    """Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextItem(Form):
    """A word or a short text. The first of the words that match decide."""

    words: tuple[Words, ...]
    """The key's first, then the mistakes'."""
    exact: bool = False
    """Whether upper case counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EssayItem(Form):
    """Something that a person reads and grades."""

    rubric: str = ""
    """Markdown."""


Item = NumberItem | ChoiceItem | PairsItem | OrderItem | TextItem | EssayItem
