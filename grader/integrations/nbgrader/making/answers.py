"""The forms of questions in nbgrader: an answer to fill in, and its tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from grader.integrations.nbgrader.making import judging, numbers
from grader.integrations.nbgrader.making.options import LETTERS, listed, shuffled
from grader.model.item import (
    ChoiceItem,
    EssayItem,
    Item,
    NumberItem,
    OrderItem,
    PairsItem,
    TextItem,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
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


class FormKind(Protocol):
    """How one form of question is asked in nbgrader."""

    def unfit(self, item: Item) -> str | None:
        """Why *item* can't be asked; None if it can."""

    def lost(self, item: Item) -> Iterator[str]:
        """Yields what nbgrader can't represent, beyond what the item itself states."""

    def answer(self, name: str, items: Sequence[Item]) -> Answer:
        """The content of the part whose variable is *name*."""


class _Plain:
    """A form that can always be asked and loses nothing."""

    def unfit(self, item: Item) -> str | None:  # noqa: ARG002
        return None

    def lost(self, item: Item) -> Iterator[str]:  # noqa: ARG002
        yield from ()


class _Numbers(_Plain):
    def answer(self, name: str, items: Sequence[Item]) -> Answer:
        found = [item for item in items if isinstance(item, NumberItem)]
        if len(found) == 1 and not found[0].row:
            return _number(name, found[0])
        return _table(name, found)


def _number(name: str, item: NumberItem) -> Answer:
    units = numbers.units_of(item.unit)
    read = f"exam_number({name}, {units!r})"
    return Answer(
        how=numbers.how(item),
        template="...",
        right=repr(item.ranges[0].value),
        present=f"{read} is not None",
        share=judging.number(read, item.ranges),
    )


def _table(name: str, items: Sequence[NumberItem]) -> Answer:
    rows = list(dict.fromkeys(item.row for item in items))
    columns = list(dict.fromkeys(item.column for item in items))
    grid = {row: [item for item in items if item.row == row] for row in rows}
    blank = [f"    {row!r}: [{', '.join('...' for _ in columns)}],\n" for row in rows]
    right = {row: [item.ranges[0].value for item in cells] for row, cells in grid.items()}
    units = numbers.units_of(items[0].unit)
    read = f"exam_entries({name}, {rows!r})"
    return Answer(
        how=f"for each row a list of {', '.join(columns)}; {numbers.how(items[0])}",
        template="{\n" + "".join(blank) + "}",
        right=repr(right),
        present=f"any(exam_number(cell, {units!r}) is not None for row in {read} "
        f"for cell in exam_entries(row, range({len(columns)})))",
        share=judging.cells(read, list(grid.values()), units),
    )


class _Choice(_Plain):
    def answer(self, name: str, items: Sequence[Item]) -> Answer:
        (item,) = items
        if not isinstance(item, ChoiceItem):
            raise TypeError(item)
        if [c.text for c in item.choices] == ["True", "False"]:
            return _truth(name, item)
        letters = LETTERS[: len(item.choices)]
        right = [x for x, choice in zip(letters, item.choices, strict=True) if choice.right]
        if item.several:
            read = f"exam_letters({name}, {letters!r})"
            return Answer(
                how=f"a list of letters in quotes, {letters[0]} to {letters[-1]}, or [] for none; "
                f"{judging.SAID[item.rule]}",
                template="...",
                right=repr(right),
                present=f"{read} is not None",
                share=judging.several(read, right, len(letters), item.rule),
                options=listed(item.choices),
            )
        read = f"exam_letter({name}, {letters!r})"
        return Answer(
            how=f"one letter in quotes, {letters[0]} to {letters[-1]}",
            template="...",
            right=repr(right[0]),
            present=f"{read} is not None",
            share=judging.one(read, list(zip(letters, item.choices, strict=True))),
            options=listed(item.choices),
        )

    def unfit(self, item: Item) -> str | None:
        if isinstance(item, ChoiceItem) and not item.several:
            return None if any(c.right for c in item.choices) else "none of its options is right"
        return None


def _truth(name: str, item: ChoiceItem) -> Answer:
    read = f"exam_truth({name})"
    right = next(choice.text for choice in item.choices if choice.right)
    return Answer(
        how="True or False",
        template="...",
        right=right,
        present=f"{read} is not None",
        share=judging.one(read, [(choice.text == "True", choice) for choice in item.choices]),
    )


class _Pairs(_Plain):
    def answer(self, name: str, items: Sequence[Item]) -> Answer:
        (item,) = items
        if not isinstance(item, PairsItem):
            raise TypeError(item)
        letters = LETTERS[: len(item.targets)]
        right = {number: letters[at] for number, at in enumerate(item.right, 1)}
        things = [f"{n}. {text}" for n, text in enumerate(item.things, 1)]
        targets = [f"- **{x}.** {text}" for x, text in zip(letters, item.targets, strict=True)]
        blank = ", ".join(f"{number}: ..." for number in right)
        read = f"exam_entries({name}, {list(right)!r})"
        return Answer(
            how=f"for each number a letter in quotes, {letters[0]} to {letters[-1]}",
            template="{" + blank + "}",
            right=repr(right),
            present=f"any(exam_letter(one, {letters!r}) for one in {read})",
            share=judging.pairs(read, list(right.values()), letters),
            options="\n".join([*things, "", *targets]),
        )


class _Order(_Plain):
    def answer(self, name: str, items: Sequence[Item]) -> Answer:
        (item,) = items
        if not isinstance(item, OrderItem):
            raise TypeError(item)
        letters = LETTERS[: len(item.things)]
        order = shuffled(item.things)
        by_text = {text: letter for letter, text in zip(letters, order, strict=True)}
        right = [by_text[text] for text in item.things]
        read = f"exam_letters({name}, {letters!r})"
        shown = [f"- **{letter}.** {text}" for letter, text in zip(letters, order, strict=True)]
        return Answer(
            how=f"all letters {letters[0]} to {letters[-1]} as a list in the right order; "
            f"{judging.SAID[item.rule]}",
            template="...",
            right=repr(right),
            present=f"sorted({read} or ()) == {list(letters)!r}",
            share=judging.order(read, right, item.rule),
            options="\n".join(shown),
        )


class _Text(_Plain):
    def answer(self, name: str, items: Sequence[Item]) -> Answer:
        (item,) = items
        if not isinstance(item, TextItem):
            raise TypeError(item)
        read = f"exam_text({name})"
        return Answer(
            how="a word or a few, in quotes",
            template="...",
            right=repr(item.words[0].texts[0]),
            present=f"{read} is not None",
            share=judging.text(read, item.words, exact=item.exact),
        )


class _Essay(_Plain):
    def answer(self, name: str, items: Sequence[Item]) -> Answer:
        raise TypeError(f"{name} is graded by a person: {items}")

    def lost(self, item: Item) -> Iterator[str]:  # noqa: ARG002
        yield "written in a Markdown cell, and graded manually in nbgrader"


_FORMS: dict[type, FormKind] = {
    NumberItem: _Numbers(),
    ChoiceItem: _Choice(),
    PairsItem: _Pairs(),
    OrderItem: _Order(),
    TextItem: _Text(),
    EssayItem: _Essay(),
}


def form_of(item: Item) -> FormKind:
    """The form of question for *item*."""
    return _FORMS[type(item)]
