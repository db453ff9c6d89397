"""A single choice, answered by its letter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from grader.kinds import lettered, samples
from grader.kinds.base import CORRECT, UNDRAWN, Example, KindOf, kinds
from grader.kinds.lettered import LabeledChoice
from grader.kinds.options import (
    Option,
    is_mistake,
    option_id,
    options_for,
    right_ids,
)
from grader.kinds.texts import fill, try_fill
from grader.model import Draw, Judgement, Key, Part, Raw, Verdict
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
    choices: tuple[LabeledChoice, ...]
    right: str


class ChoiceKind(KindOf[ChoiceKey, str]):
    """A single choice, answered by its letter."""

    spec = Choice

    def key(self, part: Choice, draw: Draw) -> ChoiceKey:
        choices = options_for(part.options, draw, label=part.id, shuffle=part.shuffle)
        right = right_ids(part.options, draw)
        if len(right) != 1:
            saw = " and ".join(f"'{i}'" for i in right) or "none"
            raise ValueError(f"exactly one option must be correct, but {saw} is")
        letter = lettered.letter_of(choices, right[0])
        return ChoiceKey(part=part, draw=draw, choices=choices, right=letter)

    def read(self, raw: Raw, key: ChoiceKey) -> str:
        return lettered.read_letter(raw, key.choices, _expected_form(key))

    def judge(self, value: str, key: ChoiceKey) -> Judgement:
        if value == key.right:
            return CORRECT
        option = _option_by_letter(key, value)
        if not is_mistake(option):
            return Judgement(share=0.0, verdict=Verdict.INCORRECT, note="Another option is right.")
        return Judgement(
            share=option.credit,
            verdict=Verdict.MISTAKE,
            note=try_fill(option.feedback, key.draw),
            mistake=option_id(option),
        )

    def format_value(self, value: str, key: ChoiceKey) -> str:
        choice = lettered.choice_by_letter(key.choices, value)
        return f"{choice.letter} ({lettered.one_line(choice.text)})"

    def examples(self, key: ChoiceKey) -> tuple[Example, ...]:
        right = lettered.choice_by_letter(key.choices, key.right)
        forms = (key.right, key.right.lower(), f" {key.right}) ", f"({key.right})", right.text)
        return (
            *(Example(raw=samples.text(form), share=1.0, why="the right option") for form in forms),
            *_wrong_examples(key),
            samples.unreadable(samples.text("AB"), "two letters"),
            *samples.NOT_LETTERS,
        )

    def instructions(self, key: ChoiceKey) -> str:
        return f"{_expected_form(key)}, in quotes"

    def answer(self, key: ChoiceKey) -> object:
        return key.right

    def read_solution(self, answer: object, key: ChoiceKey) -> str:
        return lettered.letter_of(key.choices, answer)

    def sheet(self, key: ChoiceKey) -> Mapping[str, object]:
        return {"options": lettered.sheet(key.choices)}

    def from_sheet(self, sheet: Mapping[str, object]) -> ChoiceKey:
        part = Choice(id="", ask="", options=())
        choices = lettered.from_sheet(sheet, "options")
        return ChoiceKey(part=part, draw=UNDRAWN, choices=choices, right="")

    def explain(self, key: ChoiceKey) -> str:
        return f"**{key.right}.** {lettered.choice_by_letter(key.choices, key.right).text}"

    def carry_value(self, value: str, key: ChoiceKey) -> Value | None:
        return lettered.choice_by_letter(key.choices, value).id


def _expected_form(key: ChoiceKey) -> str:
    return f"one letter, {lettered.letters_in_words(key.choices)}"


def _option_by_letter(key: ChoiceKey, letter: str) -> Option:
    part = key.part
    chosen = lettered.choice_by_letter(key.choices, letter).id
    return next(o for o in part.options if option_id(o) == chosen)


def _wrong_examples(key: ChoiceKey) -> Iterator[Example]:
    for choice in key.choices:
        if choice.letter == key.right:
            continue
        option = _option_by_letter(key, choice.letter)
        fill(option.feedback, key.draw)
        yield Example(
            raw=samples.text(choice.letter),
            share=option.credit,
            why=f"the option '{choice.id}'",
            mistake=choice.id if is_mistake(option) else None,
        )


kinds.add("choice")(ChoiceKind())
