"""The kind `choice`: a single choice, answered by its letter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from grader.kinds import lettered, options, samples
from grader.kinds.base import CORRECT, Example, kinds, partial_judgment
from grader.kinds.lettered import LetteredKey, LetteredKind, choice_by_letter
from grader.kinds.options import AnswerOption
from grader.kinds.texts import fill, try_fill
from grader.model import Draw, Judgment, Part, Raw, Verdict
from grader.units.quantity import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleChoice(Part):
    """A single choice from several options."""

    kind: Literal["choice"] = "choice"
    options: tuple[AnswerOption, ...]
    """The options; exactly one is right in every variant."""
    shuffle: bool = True
    """Whether to shuffle the options for each student."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceKey(LetteredKey):
    """The options as this student sees them, and the letter of the right one."""

    part: SingleChoice
    right: str


class ChoiceKind(LetteredKind[ChoiceKey, str]):
    """A single choice, answered by its letter."""

    spec = SingleChoice

    def key(self, part: SingleChoice, draw: Draw) -> ChoiceKey:
        choices = options.label_options(part.options, draw, part.id if part.shuffle else None)
        right = options.right_letters(part.options, choices, draw)
        if len(right) != 1:
            named = " and ".join(f"'{choice_by_letter(choices, r).id}'" for r in right) or "none"
            are = "are" if len(right) > 1 else "is"
            raise ValueError(f"exactly one option must be correct, but {named} {are}")
        return ChoiceKey(part=part, draw=draw, choices=choices, right=right[0])

    def read(self, raw: Raw, key: ChoiceKey) -> str:
        return lettered.read_letter(raw, key.choices)

    def judge(self, value: str, key: ChoiceKey) -> Judgment:
        if value == key.right:
            return CORRECT
        option = options.option_by_letter(key.part.options, key.choices, value)
        if not (option.feedback or option.credit):
            return partial_judgment(0.0, "Another option is right.")
        return Judgment(
            share=option.credit,
            verdict=Verdict.MISTAKE,
            note=try_fill(option.feedback, key.draw),
            mistake=options.option_id(option),
        )

    def format_value(self, value: str, key: ChoiceKey) -> str:
        return key.format_letter(value)

    def examples(self, key: ChoiceKey) -> tuple[Example, ...]:
        right = choice_by_letter(key.choices, key.right)
        forms = (key.right, key.right.lower(), f" {key.right}) ", f"({key.right})", right.text)
        return (
            *(samples.right(form, "the right option") for form in forms),
            *_wrong_option_examples(key),
            samples.unreadable("AB", "two letters"),
            *samples.NOT_LETTERS,
        )

    def instructions(self, key: ChoiceKey) -> str:
        return f"one letter, {lettered.letters_in_words(key.choices)}, in quotes"

    def answer(self, key: ChoiceKey) -> object:
        return key.right

    def read_solution(self, answer: object, key: ChoiceKey) -> str:
        return lettered.letter_of(key.choices, answer)

    def explain(self, key: ChoiceKey) -> str:
        return f"**{key.right}.** {choice_by_letter(key.choices, key.right).text}"

    def carry_value(self, value: str, key: ChoiceKey) -> Value | None:
        return choice_by_letter(key.choices, value).id


def _wrong_option_examples(key: ChoiceKey) -> Iterator[Example]:
    """Yields an example for each wrong option. Raises TextError if feedback has an error."""
    for choice in key.choices:
        if choice.letter == key.right:
            continue
        option = options.option_by_letter(key.part.options, key.choices, choice.letter)
        fill(option.feedback, key.draw)
        is_mistake = option.feedback or option.credit
        why, mistake = f"the option '{choice.id}'", choice.id if is_mistake else None
        yield samples.sample(choice.letter, option.credit, why, mistake)


kinds.add("choice")(ChoiceKind())
