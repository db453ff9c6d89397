"""The forms of questions in nbgrader: an answer to fill in, and the Python code of its tests.

The code is generated from the neutral item forms, so kinds of answers need no code for it. Its
templates are in `templates/nbgrader`.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from grader import units
from grader.bank.index import own_bank
from grader.model.item import (
    ChoiceItem,
    ChoiceOption,
    Item,
    NumberItem,
    NumberRange,
    OrderItem,
    PairsItem,
    TextItem,
)
from grader.text.templates import make_environment, render_template

if TYPE_CHECKING:
    from jinja2 import Environment

LETTERS = string.ascii_uppercase


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCells:
    """The content of one part's cells."""

    how: str
    read: str
    """Python expression for the answer as read."""
    right: str
    """Python expression for the right answer, in the source notebook. **Secret.**"""
    share: str
    """Python body of a function that returns the share earned, from 0 to 1. **Secret.**"""
    template: str = "..."
    """Python expression for the unanswered variable."""
    options: str = ""
    condition: str = ""
    """Python condition that is true if there is a readable answer; by default, *read* is one."""


def answer_of(name: str, items: Sequence[Item]) -> AnswerCells:
    """Returns the content of the part whose variable is *name*; an essay has none."""
    return _FORMS[type(items[0])](name, items)


# Numbers

_UNITS = (
    "B kB MB GB TB PB KiB MiB GiB TiB bytes bit kbit Mbit Gbit Tbit s ms us µs μs ns min h "
    "FLOP MFLOP GFLOP TFLOP PFLOP EFLOP ZFLOP token tokens W kW MW mW J kJ MJ mJ Wh kWh MWh "
    "Hz kHz MHz GHz USD"
)


def _unit_factors(unit: str) -> dict[str, int | float]:
    """Returns the accepted unit suffixes, with the factor that converts each to *unit*."""
    if unit in ("", "%"):
        return {"": 1, "%": 1 if unit else 0.01}
    factors: dict[str, int | float] = {"": 1}
    target = units.parse_unit(unit)
    below = unit.partition("/")[2]
    for name in _UNITS.split():
        for text in (name, f"{name}/{below}") if below else (name,):
            try:
                other = units.parse_unit(text)
            except units.UnitError:
                continue
            if other.dimension == target.dimension:
                top, bottom = (
                    other.numerator * target.denominator,
                    other.denominator * target.numerator,
                )
                factors[text] = top // bottom if top % bottom == 0 else top / bottom
    return {**factors, unit: 1}


def _number_instructions(item: NumberItem) -> str:
    what = "a whole number" if item.whole else "a number"
    if not item.unit:
        return what
    example = units.format_with_unit(12.5, item.unit)
    return f'{what} in {units.asked_unit(item.unit)}, or text with a unit such as "{example}"'


def _range_literals(ranges: Sequence[NumberRange]) -> str:
    return repr([(r.low, r.high, r.share, r.feedback) for r in ranges])


def _number_answer(name: str, items: Sequence[NumberItem]) -> AnswerCells:
    """Returns the content of a part that asks for a number, or for a table of numbers."""
    item = items[0]
    if len(items) > 1 or item.row:
        return _table_answer(name, items)
    read = f"exam_number({name}, {_unit_factors(item.unit)!r})"
    return AnswerCells(
        how=_number_instructions(item),
        read=read,
        right=repr(item.ranges[0].value),
        share=_share_code("number", read=read, ranges=_range_literals(item.ranges)),
    )


def _table_answer(name: str, items: Sequence[NumberItem]) -> AnswerCells:
    """Returns the content of a part that asks for a list of numbers per row of a table."""
    rows = list(dict.fromkeys(item.row for item in items))
    columns = list(dict.fromkeys(item.column for item in items))
    grid = {row: [item for item in items if item.row == row] for row in rows}
    blank = [f"    {row!r}: [{', '.join('...' for _ in columns)}],\n" for row in rows]
    factors = _unit_factors(items[0].unit)
    read = f"exam_entries({name}, {rows!r})"
    judges = [
        ", ".join(f"({one.weight!r}, {_range_literals(one.ranges)})" for one in row)
        for row in grid.values()
    ]
    return AnswerCells(
        how=f"for each row, a list of {', '.join(columns)}; {_number_instructions(items[0])}",
        read=read,
        template="{\n" + "".join(blank) + "}",
        right=repr({row: [item.ranges[0].value for item in cells] for row, cells in grid.items()}),
        condition=f"any(exam_number(cell, {factors!r}) is not None for row in {read} "
        f"for cell in exam_entries(row, range({len(columns)})))",
        share=_share_code("table", read=read, judges=judges, factors=repr(factors)),
    )


# Choices, pairs and orders

_RULES = {
    "all-or-nothing": "all or nothing",
    "each-option": "every option counts",
    "net-correct": "each wrong letter cancels a right one",
    "longest-run": "the longest run in the right order counts",
    "pairs": "every pair in the right order counts",
}


def _choice_answer(name: str, items: Sequence[ChoiceItem]) -> AnswerCells:
    """Returns the content of a part that asks for True or False, a letter, or several letters."""
    (item,) = items
    if [c.text for c in item.choices] == ["True", "False"]:
        read, right = f"exam_truth({name})", next(c.text for c in item.choices if c.right)
        share = _option_shares(read, [(c.text == "True", c) for c in item.choices])
        return AnswerCells(how="True or False", read=read, right=right, share=share)
    letters = LETTERS[: len(item.choices)]
    labeled = list(zip(letters, item.choices, strict=True))
    right_letters = [letter for letter, choice in labeled if choice.right]
    options = "\n".join(f"- **{x}.** " + c.text.replace("\n", "\n  ") for x, c in labeled)
    if not item.several:
        read = f"exam_letter({name}, {letters!r})"
        return AnswerCells(
            how=f"one letter in quotes, {letters[0]} to {letters[-1]}",
            read=read,
            right=repr(right_letters[0]),
            share=_option_shares(read, labeled),
            options=options,
        )
    rule, read = _RULES[item.rule], f"exam_letters({name}, {letters!r})"
    return AnswerCells(
        how=f"a list of letters in quotes, {letters[0]} to {letters[-1]}, or [] for none; {rule}",
        read=read,
        right=repr(right_letters),
        share=_share_code(
            item.rule, read=f"set({read})", right=f"set({right_letters!r})", count=len(letters)
        ),
        options=options,
    )


def _option_shares(read: str, choices: Sequence[tuple[object, ChoiceOption]]) -> str:
    outcomes = {label: (c.share, c.feedback) for label, c in choices if c.share or c.feedback}
    return _share_code("option", read=read, shares=repr(outcomes))


def _pairs_answer(name: str, items: Sequence[PairsItem]) -> AnswerCells:
    """Returns the content of a part that asks for a letter per number."""
    (item,) = items
    letters = LETTERS[: len(item.targets)]
    right = {number: letters[at] for number, at in enumerate(item.right, 1)}
    things = [f"{n}. {text}" for n, text in enumerate(item.things, 1)]
    targets = [f"- **{x}.** {text}" for x, text in zip(letters, item.targets, strict=True)]
    read = f"exam_entries({name}, {list(right)!r})"
    return AnswerCells(
        how=f"for each number a letter in quotes, {letters[0]} to {letters[-1]}",
        read=read,
        template="{" + ", ".join(f"{number}: ..." for number in right) + "}",
        right=repr(right),
        condition=f"any(exam_letter(one, {letters!r}) for one in {read})",
        share=_share_code(
            "matching",
            read=read,
            letters=repr(letters),
            right=repr(list(right.values())),
            count=len(right),
        ),
        options="\n".join([*things, "", *targets]),
    )


def _order_answer(name: str, items: Sequence[OrderItem]) -> AnswerCells:
    """Returns the content of a part that asks for all letters in an order."""
    (item,) = items
    letters = LETTERS[: len(item.things)]
    # In a fixed order that is independent of the original order.
    shuffled = sorted(item.things, key=lambda text: hashlib.sha256(text.encode()).digest())
    by_text = dict(zip(shuffled, letters, strict=True))
    right = [by_text[text] for text in item.things]
    rule, read = _RULES[item.rule], f"exam_letters({name}, {letters!r})"
    return AnswerCells(
        how=f"all letters {letters[0]} to {letters[-1]} as a list in the right order; {rule}",
        read=read,
        right=repr(right),
        condition=f"sorted({read} or ()) == {list(letters)!r}",
        share=_share_code(item.rule, read=read, right=repr(right)),
        options="\n".join(f"- **{x}.** {thing}" for thing, x in by_text.items()),
    )


# Texts


def _text_answer(name: str, items: Sequence[TextItem]) -> AnswerCells:
    """Returns the content of a part that asks for a word or a few."""
    (item,) = items
    read, fold = f"exam_text({name})", "" if item.exact else ".casefold()"
    accepted = [
        (tuple(t if item.exact else t.casefold() for t in w.texts), w.share, w.feedback)
        for w in item.words
    ]
    return AnswerCells(
        how="a word or a few, in quotes",
        read=read,
        right=repr(item.words[0].texts[0]),
        share=_share_code("text", read=f"{read}{fold}", accepted=repr(accepted)),
    )


_FORMS: dict[type, Callable[[str, Sequence[Any]], AnswerCells]] = {
    NumberItem: _number_answer,
    ChoiceItem: _choice_answer,
    PairsItem: _pairs_answer,
    OrderItem: _order_answer,
    TextItem: _text_answer,
}


def reading_code() -> str:
    """Returns the code that reads answers, which every exported notebook shows to students."""
    return render_template(_environment(), "nbgrader/reading.py.j2").strip()


def _share_code(form: str, **values: object) -> str:
    """Returns the Python body that computes the share, from the template's branch for *form*."""
    return render_template(_environment(), "nbgrader/share.py.j2", form=form, **values)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return make_environment((own_bank() / "templates",), autoescape=False)
