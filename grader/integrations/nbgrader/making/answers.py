"""The forms of questions in nbgrader: an answer to fill in, and its tests."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from grader.integrations.nbgrader.making import judging, numbers
from grader.model.item import (
    ChoiceItem,
    ChoiceOption,
    EssayItem,
    Item,
    NumberItem,
    OrderItem,
    PairsItem,
    TextItem,
)

LETTERS = string.ascii_uppercase


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCells:
    """The content of one part's cells."""

    how: str
    """How to write the answer, in one line."""
    template: str
    """Python expression for the unanswered variable."""
    right: str
    """Python expression for the right answer, in the source notebook. **Secret.**"""
    present: str
    """Python condition that is true if there is a readable answer."""
    share: str
    """Python body of a function that returns the share earned, from 0 to 1. **Secret.**"""
    options: str = ""
    """The options as Markdown."""


def _number_answers(name: str, items: Sequence[NumberItem]) -> AnswerCells:
    if len(items) == 1 and not items[0].row:
        return _number_answer(name, items[0])
    return _table_answer(name, items)


def _number_answer(name: str, item: NumberItem) -> AnswerCells:
    units = numbers.units_of(item.unit)
    read = f"exam_number({name}, {units!r})"
    return AnswerCells(
        how=numbers.number_instructions(item),
        template="...",
        right=repr(item.ranges[0].value),
        present=f"{read} is not None",
        share=judging.number_code(read, item.ranges),
    )


def _table_answer(name: str, items: Sequence[NumberItem]) -> AnswerCells:
    rows = list(dict.fromkeys(item.row for item in items))
    columns = list(dict.fromkeys(item.column for item in items))
    grid = {row: [item for item in items if item.row == row] for row in rows}
    blank = [f"    {row!r}: [{', '.join('...' for _ in columns)}],\n" for row in rows]
    right = {row: [item.ranges[0].value for item in cells] for row, cells in grid.items()}
    units = numbers.units_of(items[0].unit)
    read = f"exam_entries({name}, {rows!r})"
    return AnswerCells(
        how=f"for each row a list of {', '.join(columns)}; {numbers.number_instructions(items[0])}",
        template="{\n" + "".join(blank) + "}",
        right=repr(right),
        present=f"any(exam_number(cell, {units!r}) is not None for row in {read} "
        f"for cell in exam_entries(row, range({len(columns)})))",
        share=judging.table_code(read, list(grid.values()), units),
    )


def _choice_answer(name: str, items: Sequence[ChoiceItem]) -> AnswerCells:
    (item,) = items
    if [c.text for c in item.choices] == ["True", "False"]:
        return _truth_answer(name, item)
    letters = LETTERS[: len(item.choices)]
    right = [x for x, choice in zip(letters, item.choices, strict=True) if choice.right]
    if item.several:
        read = f"exam_letters({name}, {letters!r})"
        return AnswerCells(
            how=f"a list of letters in quotes, {letters[0]} to {letters[-1]}, or [] for none; "
            f"{judging.RULE_TEXTS[item.rule]}",
            template="...",
            right=repr(right),
            present=f"{read} is not None",
            share=judging.choices_code(read, right, len(letters), item.rule),
            options=_option_list(item.choices),
        )
    read = f"exam_letter({name}, {letters!r})"
    return AnswerCells(
        how=f"one letter in quotes, {letters[0]} to {letters[-1]}",
        template="...",
        right=repr(right[0]),
        present=f"{read} is not None",
        share=judging.choice_code(read, list(zip(letters, item.choices, strict=True))),
        options=_option_list(item.choices),
    )


def _truth_answer(name: str, item: ChoiceItem) -> AnswerCells:
    read = f"exam_truth({name})"
    right = next(choice.text for choice in item.choices if choice.right)
    return AnswerCells(
        how="True or False",
        template="...",
        right=right,
        present=f"{read} is not None",
        share=judging.choice_code(
            read, [(choice.text == "True", choice) for choice in item.choices]
        ),
    )


def _pairs_answer(name: str, items: Sequence[PairsItem]) -> AnswerCells:
    (item,) = items
    letters = LETTERS[: len(item.targets)]
    right = {number: letters[at] for number, at in enumerate(item.right, 1)}
    things = [f"{n}. {text}" for n, text in enumerate(item.things, 1)]
    targets = [f"- **{x}.** {text}" for x, text in zip(letters, item.targets, strict=True)]
    blank = ", ".join(f"{number}: ..." for number in right)
    read = f"exam_entries({name}, {list(right)!r})"
    return AnswerCells(
        how=f"for each number a letter in quotes, {letters[0]} to {letters[-1]}",
        template="{" + blank + "}",
        right=repr(right),
        present=f"any(exam_letter(one, {letters!r}) for one in {read})",
        share=judging.pairs_code(read, list(right.values()), letters),
        options="\n".join([*things, "", *targets]),
    )


def _order_answer(name: str, items: Sequence[OrderItem]) -> AnswerCells:
    (item,) = items
    letters = LETTERS[: len(item.things)]
    order = _shuffle(item.things)
    by_text = {text: letter for letter, text in zip(letters, order, strict=True)}
    right = [by_text[text] for text in item.things]
    read = f"exam_letters({name}, {letters!r})"
    shown = [f"- **{letter}.** {text}" for letter, text in zip(letters, order, strict=True)]
    return AnswerCells(
        how=f"all letters {letters[0]} to {letters[-1]} as a list in the right order; "
        f"{judging.RULE_TEXTS[item.rule]}",
        template="...",
        right=repr(right),
        present=f"sorted({read} or ()) == {list(letters)!r}",
        share=judging.order_code(read, right, item.rule),
        options="\n".join(shown),
    )


def _text_answer(name: str, items: Sequence[TextItem]) -> AnswerCells:
    (item,) = items
    read = f"exam_text({name})"
    return AnswerCells(
        how="a word or a few, in quotes",
        template="...",
        right=repr(item.words[0].texts[0]),
        present=f"{read} is not None",
        share=judging.text_code(read, item.words, exact=item.exact),
    )


_FORMS: dict[type, Callable[[str, Sequence[Any]], AnswerCells]] = {
    NumberItem: _number_answers,
    ChoiceItem: _choice_answer,
    PairsItem: _pairs_answer,
    OrderItem: _order_answer,
    TextItem: _text_answer,
}


def answer_of(name: str, items: Sequence[Item]) -> AnswerCells:
    """Returns the content of the part whose variable is *name*; an essay has none."""
    return _FORMS[type(items[0])](name, items)


def unfit_reason(item: Item, _points: float = 0.0) -> str | None:
    """Returns why nbgrader can't ask *item*; None if it can."""
    if isinstance(item, ChoiceItem) and not item.several and not any(c.right for c in item.choices):
        return "none of its options is right"
    return None


def iter_losses(item: Item) -> Iterator[str]:
    """Yields what nbgrader can't represent, beyond what the item itself states."""
    if isinstance(item, EssayItem):
        yield "written in a Markdown cell, and graded manually in nbgrader"


def _option_list(choices: Sequence[ChoiceOption]) -> str:
    """Returns the options as a Markdown list."""
    lines = (
        f"- **{letter}.** " + choice.text.replace("\n", "\n  ")
        for letter, choice in zip(LETTERS, choices, strict=False)
    )
    return "\n".join(lines)


def _shuffle(things: Sequence[str]) -> tuple[str, ...]:
    """Returns *things* in a fixed order that is independent of their original order."""
    return tuple(sorted(things, key=lambda text: hashlib.sha256(text.encode()).digest()))
