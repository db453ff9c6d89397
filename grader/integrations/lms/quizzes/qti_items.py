"""What the items of a QTI 1.2 package show of parts; `templates/qti/item.xml.j2` has their form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.integrations.lms.quizzes.cloze import is_asked_by_option, is_true_false, option_shares
from grader.integrations.lms.quizzes.texts import (
    exact_text,
    inline_html,
    interval_ends,
    split_range,
)
from grader.model.item import ChoiceItem, Item, NumberItem, PairsItem, TextItem
from grader.text.markdown import plain_text


def identifier(*names: object) -> str:
    """Returns a unique identifier in Canvas's form; the same for the same *names*."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).hexdigest()
    return f"g{digest[:32]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QtiChoice:
    """An option, or a thing to match."""

    number: int
    html: str
    right: bool | int = False
    """Whether it is right, or the number of the text that matches it."""
    feedback: str = ""
    """HTML that is shown to students who choose it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QtiForm:
    """What the type of a question adds to an item. Numbers are unique within a quiz."""

    kind: str
    answers: Sequence[int] = ()
    low: str = ""
    high: str = ""
    value: str | None = None
    """The middle of the accepted numbers; None if they have no value in the middle."""
    texts: Sequence[str] = ()
    choices: Sequence[QtiChoice] = ()
    several: bool = False
    targets: Sequence[tuple[int, str]] = ()
    """What there is to match, as plain text."""
    share: str = ""
    """The share of the points for each match, in percent."""


def qti_form(item: Item, numbers: Iterator[int]) -> QtiForm:
    """Returns the form of *item*, with answers that take their numbers from *numbers*."""
    match item:
        case NumberItem():
            return _number_form(item, next(numbers))
        case ChoiceItem() if is_asked_by_option(item):
            # A matching question with yes or no for every option, so that each earns the same.
            right = tuple(0 if choice.right else 1 for choice in item.choices)
            texts = tuple(choice.text for choice in item.choices)
            return _pairs_form(PairsItem(things=texts, targets=("Yes", "No"), right=right), numbers)
        case ChoiceItem():
            return _choice_form(item, numbers)
        case PairsItem():
            return _pairs_form(item, numbers)
        case TextItem():
            texts = item.words[0].texts
            answers = [next(numbers) for _ in texts]
            return QtiForm(kind="short_answer_question", answers=answers, texts=texts)
    return QtiForm(kind="essay_question")


def _number_form(item: NumberItem, answer: int) -> QtiForm:
    """Returns the form of a number, with a middle if one value with a tolerance is the range."""
    key = item.ranges[0]
    value: str | None = None
    low, high = exact_text(key.low), exact_text(key.high)
    around = split_range(key)
    if len(around) == 1:
        value = exact_text(around[0][0])
        low, high = interval_ends(*around[0])
    return QtiForm(kind="numerical_question", answers=[answer], low=low, high=high, value=value)


def _choice_form(item: ChoiceItem, numbers: Iterator[int]) -> QtiForm:
    """Returns the form of a choice, with the option "None of these" if several may be right."""
    kind = "multiple_answers_question" if item.several else "multiple_choice_question"
    if is_true_false(item):
        kind = "true_false_question"
    choices = [
        QtiChoice(
            number=next(numbers),
            html=inline_html(choice.text),
            right=choice.right,
            feedback=inline_html(choice.feedback) if choice.feedback else "",
        )
        for choice, _ in option_shares(item)
    ]
    answers = [choice.number for choice in choices]
    return QtiForm(kind=kind, answers=answers, choices=choices, several=item.several)


def _pairs_form(item: PairsItem, numbers: Iterator[int]) -> QtiForm:
    """Returns the form of a matching question, in which all pairs earn the same."""
    answers = [next(numbers) for _ in item.things]
    targets = [(next(numbers), plain_text(target)) for target in item.targets]
    return QtiForm(
        kind="matching_question",
        answers=answers,
        choices=[
            QtiChoice(number=number, html=inline_html(thing), right=targets[index][0])
            for number, thing, index in zip(answers, item.things, item.right, strict=True)
        ],
        targets=targets,
        share=f"{100 / len(answers):.2f}",
    )
