"""A part of a variant as questions of another system: what is asked, and what each answer earns.

Secret, as it contains the key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import singledispatch
from itertools import combinations, groupby, pairwise, product

from grader.kinds import numeric
from grader.kinds.choice import ChoiceKey
from grader.kinds.explanation import ExplanationKey
from grader.kinds.matching import MatchingKey
from grader.kinds.multi_choice import MultiChoice, MultiChoiceKey
from grader.kinds.numeric import Integer, NumericKey
from grader.kinds.options import option_id
from grader.kinds.ordering import OrderingKey
from grader.kinds.prediction import Prediction
from grader.kinds.short_text import ShortTextKey, normalize_spaces
from grader.kinds.table import TableKey
from grader.kinds.texts import try_fill
from grader.kinds.true_false import TrueFalseKey, TrueFalseKind
from grader.model import Key
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
    """Returns the part as questions for another system; empty if only this grader can judge it."""
    return ()


@quiz_items.register
def _(key: NumericKey) -> tuple[Item, ...]:
    if isinstance(key.part, Prediction):
        return ()  # other systems can't measure
    return (_number_item(key, whole=isinstance(key.part, Integer)),)


@quiz_items.register
def _(key: TableKey) -> tuple[Item, ...]:
    """Returns a number question for each cell, all with the same weight."""
    weight = 1 / sum(len(row) for row in key.cells)
    return tuple(
        _number_item(cell, row=f"{key.part.row} {label}", column=title, weight=weight)
        for label, row in zip(key.rows, key.cells, strict=True)
        for title, cell in zip(key.titles, row, strict=True)
    )


@quiz_items.register
def _(key: ChoiceKey | MultiChoiceKey) -> tuple[Item, ...]:
    """Returns a choice of one option or of several."""
    part, options = key.part, {option_id(option): option for option in key.part.options}
    choices = tuple(
        _item_choice(
            choice.id,
            choice.text,
            credit=options[choice.id].credit,
            feedback=try_fill(options[choice.id].feedback, key.draw),
            right=choice.letter in key.right,
        )
        for choice in key.choices
    )
    if isinstance(part, MultiChoice):
        return (ChoiceItem(choices=choices, shuffle=part.shuffle, several=True, rule=part.rule),)
    return (ChoiceItem(choices=choices, shuffle=part.shuffle),)


@quiz_items.register
def _(key: TrueFalseKey) -> tuple[Item, ...]:
    """Returns a choice between True and False, or between their pairs with a reason."""
    if key.choices:
        return (_item_with_reasons(key),)
    note = try_fill(key.part.feedback, key.draw)
    choices = tuple(
        _item_choice(
            str(value).lower(), str(value), credit=0.0, feedback=note, right=value is key.right
        )
        for value in (True, False)
    )
    return (ChoiceItem(choices=choices, shuffle=False),)


def _item_with_reasons(key: TrueFalseKey) -> ChoiceItem:
    """Returns a choice between all pairs of a truth value and a reason, which earn the same."""
    kind, reasons = TrueFalseKind(), {choice.letter: choice for choice in key.choices}
    pairs = []
    for value, letter in product((True, False), reasons):
        judged = kind.judge((value, letter), key)
        pairs.append(
            _item_choice(
                f"{str(value).lower()}-{reasons[letter].id}",
                f"{value}: {reasons[letter].text}",
                credit=judged.share or 0.0,
                feedback=judged.note,
                right=judged.share == 1,
            )
        )
    return ChoiceItem(choices=tuple(pairs), shuffle=False)


def _item_choice(id_: str, text: str, *, credit: float, feedback: str, right: bool) -> ChoiceOption:
    share, shown_feedback = (1.0, "") if right else (credit, feedback)
    return ChoiceOption(id=id_, text=text, right=right, share=share, feedback=shown_feedback)


@quiz_items.register
def _(key: MatchingKey) -> tuple[Item, ...]:
    """Returns a question that asks for the target of each thing."""
    letters = [choice.letter for choice in key.choices]
    item = PairsItem(
        things=key.items,
        targets=tuple(choice.text for choice in key.choices),
        right=tuple(letters.index(letter) for letter in key.right),
    )
    return (item,)


@quiz_items.register
def _(key: OrderingKey) -> tuple[Item, ...]:
    """Returns an ordering; nothing if several orders are right."""
    if not key.has_one_order:
        return ()
    texts = {choice.letter: choice.text for choice in key.choices}
    things = tuple(texts[letter] for letter in key.right)
    return (OrderItem(things=things, rule=key.part.credit),)


@quiz_items.register
def _(key: ShortTextKey) -> tuple[Item, ...]:
    """Returns a question for a text; nothing if a regular expression judges it."""
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
    return (
        TextItem(words=tuple(w for w in words if w.texts), exact=exact, lost_features=(_AS_TYPED,)),
    )


@quiz_items.register
def _(key: ExplanationKey) -> tuple[Item, ...]:
    return (EssayItem(rubric=key.rubric.strip()),)


_AS_TYPED = "letter forms, typeset dashes, and repeated spaces are compared as typed"


def _text_forms(texts: Iterable[str], *, exact: bool) -> tuple[str, ...]:
    """Returns each text on one line, also with the final period that the judge ignores."""
    lines = [normalize_spaces(text) for text in texts]
    ended = [] if exact else [f"{line}." for line in lines if not line.endswith(".")]
    return tuple(dict.fromkeys((*lines, *ended)))


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
        lost_features=tuple(_number_losses(key, whole=whole and low < high)),
    )


def _number_losses(key: NumericKey, *, whole: bool) -> Iterator[str]:
    """Yields what other systems judge differently about the number of *key*."""
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
    mistakes = {mistake.id: (mistake, center) for mistake, center, _, _ in key.mistake_ranges}
    centers = [center for _, center in mistakes.values()]
    # The verdict may change at the ends of a mistake, and halfway between two.
    cuts = {key.low, key.high, *centers}
    cuts.update(end for _, _, *ends in key.mistake_ranges for end in ends)
    cuts |= {(one + other) / 2 for one, other in combinations(centers, 2)}
    ordered = sorted(cuts)
    # Points and the intervals between them alternate.
    places = sorted([*((cut, cut) for cut in ordered), *pairwise(ordered)])
    named = [
        (numeric.judge((low + high) / 2 if low < high else low, key).mistake, low, high)
        for low, high in places
    ]
    for name, group in groupby(named, key=lambda place: place[0]):
        if name not in mistakes:
            continue
        stretch = list(group)
        low, high = stretch[0][1], stretch[-1][2]
        mistake, center = mistakes[name]
        yield NumberRange(
            low=low,
            high=high,
            value=center if low <= center <= high else (low + high) / 2,
            share=mistake.credit,
            feedback=try_fill(mistake.feedback, key.draw),
        )
