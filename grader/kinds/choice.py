"""A single choice, answered by its letter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from grader.kinds import lettered, samples
from grader.kinds.base import CORRECT, UNDRAWN, Example, Usual, kinds
from grader.kinds.feedback import feedback, said
from grader.kinds.lettered import Lettered
from grader.kinds.options import (
    Option,
    choosable,
    named,
    option_id,
    options_for,
    right_ids,
)
from grader.kinds.shares import share
from grader.model import Draw, Judgement, Key, Part, Raw, Verdict
from grader.model.item import ChoiceItem, Item
from grader.model.spec import STRICT
from grader.units.quantity import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Part):
    """A single choice from several options."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    kind: Literal["choice"] = "choice"
    options: tuple[Option, ...]
    """The options; exactly one is right in every variant."""
    shuffle: bool = True
    """Whether to shuffle the options for each student."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceKey(Key):
    """The options as this student sees them, and the letter of the right one."""

    part: Choice
    choices: tuple[Lettered, ...]
    right: str


class ChoiceKind(Usual[ChoiceKey, str]):
    """A single choice, answered by its letter."""

    spec = Choice

    def key(self, part: Choice, draw: Draw) -> ChoiceKey:
        """Returns the options in this variant's order. Raises ValueError unless exactly one is
        right."""
        choices = options_for(part.options, draw, label=part.id, shuffle=part.shuffle)
        right = right_ids(part.options, draw)
        if len(right) != 1:
            saw = " and ".join(f"'{i}'" for i in right) or "none"
            raise ValueError(f"exactly one option must be correct, but {saw} is")
        letter = lettered.letter_of(choices, right[0])
        return ChoiceKey(part=part, draw=draw, choices=choices, right=letter)

    def read(self, raw: Raw, key: ChoiceKey) -> str:
        """Returns the letter, given in any common form or as the full text of the option."""
        return lettered.read_letter(raw, key.choices, _wanted(key))

    def judge(self, value: str, key: ChoiceKey) -> Judgement:
        """Returns correct, incorrect, or the mistake named after the chosen option."""
        if value == key.right:
            return CORRECT
        option = _option(key, value)
        if not named(option):
            return Judgement(share=0.0, verdict=Verdict.INCORRECT, note="Another option is right.")
        return Judgement(
            share=share(option.credit),
            verdict=Verdict.MISTAKE,
            note=said(option.feedback, key.draw),
            mistake=option_id(option),
        )

    def say(self, value: str, key: ChoiceKey) -> str:
        """Returns the letter and the option's text."""
        choice = lettered.by_letter(key.choices, value)
        return f"{choice.letter} ({lettered.one_line(choice.text)})"

    def examples(self, key: ChoiceKey) -> tuple[Example, ...]:
        """Returns every option, the right one in several forms, and values that are not an
        option."""
        right = lettered.by_letter(key.choices, key.right)
        forms = (key.right, key.right.lower(), f" {key.right}) ", f"({key.right})", right.text)
        return (
            *(Example(raw=samples.text(form), share=1.0, why="the right option") for form in forms),
            *_wrong(key),
            samples.unreadable(samples.text("AB"), "two letters"),
            *samples.NOT_LETTERS,
        )

    def how(self, key: ChoiceKey) -> str:
        """Returns the range of letters."""
        return f"{_wanted(key)}, in quotes"

    def options(self, key: ChoiceKey) -> str:
        """Returns the options as a Markdown list."""
        return lettered.shown(key.choices)

    def answer(self, key: ChoiceKey) -> object:
        """Returns the letter."""
        return key.right

    def true(self, key: ChoiceKey) -> str | None:
        """Returns the letter."""
        return key.right

    def solved(self, answer: object, key: ChoiceKey) -> str:
        """Returns the letter of the option whose ID the solution returned."""
        return lettered.letter_of(key.choices, answer)

    def sheet(self, key: ChoiceKey) -> Mapping[str, object]:
        """Returns the options as this student sees them."""
        return {"options": lettered.sheet(key.choices)}

    def from_sheet(self, sheet: Mapping[str, object]) -> ChoiceKey:
        """Returns the options without the right one."""
        part = Choice(id="", ask="", options=())
        choices = lettered.from_sheet(sheet, "options")
        return ChoiceKey(part=part, draw=UNDRAWN, choices=choices, right="")

    def brief(self, key: ChoiceKey) -> str:
        """Returns the range of letters."""
        return lettered.ends(key.choices)

    def form(self, key: ChoiceKey) -> object:
        """Returns the texts of the options."""
        return [lettered.folded(choice.text) for choice in key.choices]

    def literal(self, key: ChoiceKey) -> str:
        """Returns the letter in quotes."""
        return f'"{key.right}"'

    def items(self, key: ChoiceKey) -> tuple[Item, ...]:
        """Returns the question with its options."""
        right = frozenset(key.right)
        choices = choosable(key.part.options, key.choices, right, key.draw)
        return (ChoiceItem(choices=choices, shuffle=key.part.shuffle),)

    def explain(self, key: ChoiceKey) -> str:
        """Returns the right option as Markdown."""
        return f"**{key.right}.** {lettered.by_letter(key.choices, key.right).text}"

    def carried(self, value: str | None, key: ChoiceKey) -> Value | None:
        """Returns the option's ID."""
        return lettered.by_letter(key.choices, value).id if value else None


def _wanted(key: ChoiceKey) -> str:
    return f"one letter, {lettered.span(key.choices)}"


def _option(key: ChoiceKey, letter: str) -> Option:
    part = key.part
    chosen = lettered.by_letter(key.choices, letter).id
    return next(o for o in part.options if option_id(o) == chosen)


def _wrong(key: ChoiceKey) -> Iterator[Example]:
    for choice in key.choices:
        if choice.letter == key.right:
            continue
        option = _option(key, choice.letter)
        feedback(option.feedback, key.draw)
        yield Example(
            raw=samples.text(choice.letter),
            share=share(option.credit),
            why=f"the option '{choice.id}'",
            mistake=choice.id if named(option) else None,
        )


kinds.add("choice")(ChoiceKind())
