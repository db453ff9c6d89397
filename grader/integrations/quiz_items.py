"""A part of a variant as questions of another system: what is asked, and what each answer earns.

Secret, as it contains the key.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import groupby, pairwise

from grader.kinds import numbers, tolerance
from grader.kinds.choice import ChoiceKey
from grader.kinds.explanation import ExplanationKey
from grader.kinds.integer import Integer
from grader.kinds.lettered import LabeledChoice
from grader.kinds.matching import MatchingKey
from grader.kinds.multi_choice import MultiChoiceKey
from grader.kinds.numbers import NumericKey
from grader.kinds.options import Option, option_id
from grader.kinds.ordering import OrderingKey
from grader.kinds.prediction import Prediction
from grader.kinds.short_text import ShortTextKey, normalize_spaces
from grader.kinds.table import TableKey
from grader.kinds.texts import try_fill
from grader.kinds.true_false import TrueFalseKey
from grader.model import Draw, Key, Mistake
from grader.model.item import (
    AcceptedTexts,
    ChoiceItem,
    ChoiceOption,
    EssayItem,
    Item,
    NumberItem,
    NumberRange,
    OrderItem,
    PairsItem,
    TextItem,
)

Number = int | float


@singledispatch
def quiz_items(key: Key) -> tuple[Item, ...]:  # noqa: ARG001
    """Returns the part as questions for another system, with weights that add up to 1.

    Empty if only this grader can judge it, such as code.
    """
    return ()


@quiz_items.register
def _(key: NumericKey) -> tuple[Item, ...]:
    if isinstance(key.part, Prediction):
        return ()  # other systems can't measure
    return (_number_item(key, whole=isinstance(key.part, Integer)),)


@quiz_items.register
def _(key: TableKey) -> tuple[Item, ...]:
    weight = 1 / sum(len(row) for row in key.cells)
    return tuple(
        _number_item(cell, row=f"{key.part.row} {label}", column=title, weight=weight)
        for label, row in zip(key.rows, key.cells, strict=True)
        for title, cell in zip(key.titles, row, strict=True)
    )


@quiz_items.register
def _(key: ChoiceKey) -> tuple[Item, ...]:
    choices = _item_choices(key.part.options, key.choices, frozenset(key.right), key.draw)
    return (ChoiceItem(choices=choices, shuffle=key.part.shuffle),)


@quiz_items.register
def _(key: MultiChoiceKey) -> tuple[Item, ...]:
    part = key.part
    choices = _item_choices(part.options, key.choices, key.right, key.draw)
    return (ChoiceItem(choices=choices, several=True, rule=part.rule, shuffle=part.shuffle),)


@quiz_items.register
def _(key: TrueFalseKey) -> tuple[Item, ...]:
    note = try_fill(key.part.feedback, key.draw)
    choices = tuple(
        ChoiceOption(
            id=str(value).lower(),
            text=str(value),
            right=value is key.right,
            share=float(value is key.right),
            feedback="" if value is key.right else note,
        )
        for value in (True, False)
    )
    return (ChoiceItem(choices=choices, shuffle=False),)


@quiz_items.register
def _(key: MatchingKey) -> tuple[Item, ...]:
    letters = [choice.letter for choice in key.choices]
    item = PairsItem(
        things=key.items,
        targets=tuple(choice.text for choice in key.choices),
        right=tuple(letters.index(letter) for letter in key.right),
    )
    return (item,)


@quiz_items.register
def _(key: OrderingKey) -> tuple[Item, ...]:
    if not key.has_one_order:
        return ()
    texts = {choice.letter: choice.text for choice in key.choices}
    things = tuple(texts[letter] for letter in key.right)
    return (OrderItem(things=things, rule=key.part.credit),)


@quiz_items.register
def _(key: ShortTextKey) -> tuple[Item, ...]:
    part = key.part
    if part.match == "regex":
        return ()
    exact = part.match == "exact"
    words = [AcceptedTexts(texts=_text_forms(key.accept, exact=exact), share=1.0)]
    for mistake in part.mistakes:
        texts = [try_fill(written, key.draw) for written in mistake.accept]
        words.append(
            AcceptedTexts(
                texts=_text_forms(filter(None, texts), exact=exact),
                share=mistake.credit,
                feedback=try_fill(mistake.feedback, key.draw),
            )
        )
    return (TextItem(words=tuple(w for w in words if w.texts), exact=exact, lost=(_AS_TYPED,)),)


@quiz_items.register
def _(key: ExplanationKey) -> tuple[Item, ...]:
    return (EssayItem(rubric=key.rubric.strip()),)


_AS_TYPED = "letter forms, typeset dashes, and repeated spaces are compared as typed"


def _text_forms(texts: Iterable[str], *, exact: bool) -> tuple[str, ...]:
    """Returns each text on one line, also with the final period that the judge ignores."""
    lines = [normalize_spaces(text) for text in texts]
    ended = [] if exact else [f"{line}." for line in lines if not line.endswith(".")]
    return tuple(dict.fromkeys((*lines, *ended)))


def _item_choices(
    options: Sequence[Option], choices: Sequence[LabeledChoice], right: Collection[str], draw: Draw
) -> tuple[ChoiceOption, ...]:
    """Returns the options in the order of *choices*; *right* are letters."""
    by_id = {option_id(option): option for option in options}
    found = []
    for choice in choices:
        option, is_right = by_id[choice.id], choice.letter in right
        found.append(
            ChoiceOption(
                id=choice.id,
                text=choice.text,
                right=is_right,
                share=1.0 if is_right else option.credit,
                feedback="" if is_right else try_fill(option.feedback, draw),
            )
        )
    return tuple(found)


def _number_item(
    key: NumericKey, *, whole: bool = False, row: str = "", column: str = "", weight: float = 1.0
) -> NumberItem:
    """Returns *key* as a number question: the accepted range and the mistakes around it."""
    low, high = key.low, key.high
    if whole:
        low, high = math.ceil(low), math.floor(high)
    right = NumberRange(low=low, high=high, value=key.value, share=1.0)
    return NumberItem(
        ranges=(right, *_mistake_ranges(key)),
        unit=key.unit,
        whole=whole,
        row=row,
        column=column,
        weight=weight,
        lost=tuple(_number_losses(key, whole=whole and low < high)),
    )


def _number_losses(key: NumericKey, *, whole: bool) -> Iterator[str]:
    slips = key.part.slips
    if slips is not False and key.value != 0:
        credit = slips.credit
        kept = f" and no longer keep {100 * credit:g}% of the points" if credit else ""
        yield f"unit slips, such as GiB for GB, are not recognized{kept}"
    if whole:
        yield "a number that is not whole is accepted where it lies between two that are"


def _mistake_ranges(key: NumericKey) -> Iterator[NumberRange]:
    """Yields disjoint ranges for the mistakes of *key*, outside the accepted range.

    Only the judge knows which mistake a number is. It is evaluated between all points where its
    verdict may change, so that a system that knows only ranges gives the same verdicts.
    """
    centres = list(_mistake_centers(key))
    cuts = sorted({key.low, key.high, *_verdict_boundaries(key, centres)})
    places: list[tuple[Number, Number]] = []
    for cut, after in pairwise([*cuts, math.inf]):
        places.append((cut, cut))
        if after < math.inf:
            places.append((cut, after))
    named = [
        (_mistake_at((low + high) / 2 if low < high else low, key), low, high)
        for low, high in places
    ]
    by_id = {mistake.id: (mistake, centre) for mistake, centre in centres}
    for name, group in groupby(named, key=lambda place: place[0]):
        stretch = list(group)
        if name is not None:
            yield _mistake_range(*by_id[name], stretch[0][1], stretch[-1][2], key)


def _mistake_centers(key: NumericKey) -> Iterator[tuple[Mistake, Number]]:
    for mistake in key.part.mistakes:
        try:
            centre = numbers.mistake_value(mistake, key)
        except ValueError:
            continue  # the gate checks every other scope
        if centre is not None:
            yield mistake, centre


def _verdict_boundaries(
    key: NumericKey, centres: Sequence[tuple[Mistake, Number]]
) -> Iterator[Number]:
    """Yields where the verdict may change: the ends of mistakes, and halfway between two."""
    for index, (_, centre) in enumerate(centres):
        yield centre
        yield from tolerance.scale_interval(key.interval, key.value, centre)
        yield from ((centre + other) / 2 for _, other in centres[:index])


def _mistake_at(value: Number, key: NumericKey) -> str | None:
    """Returns the ID of the spec's mistake that *value* is; None if it is none of them."""
    judged = numbers.judge(value, key)
    if judged.mistake in {mistake.id for mistake in key.part.mistakes}:
        return judged.mistake
    return None


def _mistake_range(
    mistake: Mistake, centre: Number, low: Number, high: Number, key: NumericKey
) -> NumberRange:
    return NumberRange(
        low=low,
        high=high,
        value=centre if low <= centre <= high else (low + high) / 2,
        share=mistake.credit,
        feedback=try_fill(mistake.feedback, key.draw),
    )
