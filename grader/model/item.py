"""A part of a variant as a question of another system, with what each answer earns. Secret.

Every kind maps its parts to one of these forms; exporters report parts without a form.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseItem:
    """The fields that all forms share."""

    lost_features: tuple[str, ...] = ()
    """Features of the kind's judge that this form can't express; a phrase each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRange:
    """A range of numbers that earn the same."""

    low: int | float
    high: int | float
    """Both ends are included."""
    value: int | float
    """The number the range is about: the key, or a mistake inside the range."""
    share: float
    """The share of the points: 1 for the key, less for a mistake."""
    feedback: str = ""
    """Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberItem(BaseItem):
    """One number in one unit. The first range that contains the answer decides."""

    ranges: tuple[NumberRange, ...]
    """The key's range first, then those of mistakes, which never overlap the key's."""
    unit: str = ""
    whole: bool = False
    """Whether only integers are valid."""
    row: str = ""
    column: str = ""
    """Row and column header of a table's cell; the latter is Markdown."""
    weight: float = 1.0
    """The share of the part's points that this number is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceOption:
    """An option that can be chosen."""

    id: str
    text: str
    """Markdown."""
    right: bool
    share: float = 0.0
    """The share of the points if it is chosen alone: 1 for the right one, or a mistake's credit."""
    feedback: str = ""
    """Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceItem(BaseItem):
    """A choice of one option, or of all that apply."""

    choices: tuple[ChoiceOption, ...]
    """In the order of this variant."""
    several: bool = False
    """Whether any number of options can be right."""
    rule: str = "all-or-nothing"
    """With `several`: the rule for partial credit; see the kind `multi_choice`."""
    shuffle: bool = True
    """Whether the options may be shuffled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsItem(BaseItem):
    """Items to match with targets; all count the same."""

    things: tuple[str, ...]
    """Markdown."""
    targets: tuple[str, ...]
    """The targets, in the order of this variant; Markdown."""
    right: tuple[int, ...]
    """The index of each item's target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderItem(BaseItem):
    """Items to put in order."""

    things: tuple[str, ...]
    """In the right order; Markdown."""
    rule: str
    """The rule for partial credit; see the kind `ordering`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedTexts:
    """Texts that earn the same."""

    texts: tuple[str, ...]
    share: float
    feedback: str = ""
    """Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextItem(BaseItem):
    """A word or a short text. The first entry that matches decides."""

    words: tuple[AcceptedTexts, ...]
    """Those of the key first, then those of mistakes."""
    exact: bool = False
    """Whether matching is case-sensitive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EssayItem(BaseItem):
    """A text that a person reads and grades."""

    rubric: str = ""
    """Markdown."""


Item = NumberItem | ChoiceItem | PairsItem | OrderItem | TextItem | EssayItem
