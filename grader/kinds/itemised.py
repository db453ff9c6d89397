"""Keys as questions of other systems: what every number, text or choice earns there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from grader.expressions import ExpressionError
from grader.kinds import numeric, tolerance
from grader.kinds.feedback import said
from grader.kinds.matching import MatchingKey
from grader.kinds.numeric import NumericKey
from grader.kinds.ordering import OrderingKey
from grader.kinds.shares import share
from grader.kinds.short_text import ShortTextKey
from grader.kinds.table import TableKey
from grader.model import Mistake
from grader.model.item import NumberItem, OrderItem, PairsItem, Range, TextItem, Words

Number = int | float


def number(
    key: NumericKey, *, whole: bool = False, row: str = "", column: str = "", weight: float = 1.0
) -> NumberItem:
    """The number of *key*: what is accepted, and the mistakes around it."""
    low, high = key.low, key.high
    if whole:
        low, high = math.ceil(low), math.floor(high)
    right = Range(low=low, high=high, value=key.value, share=1.0)
    return NumberItem(
        ranges=(right, *_mistakes(key)),
        unit=key.unit,
        whole=whole,
        row=row,
        column=column,
        weight=weight,
        lost=tuple(_lost(key, whole=whole and low < high)),
    )


def _lost(key: NumericKey, *, whole: bool) -> Iterator[str]:
    slips = key.part.slips
    if slips is not False and key.value != 0:
        credit = share(slips.credit)
        kept = f" and no longer keep {100 * credit:g}% of the points" if credit else ""
        yield f"unit slips, such as GiB for GB, are not recognised{kept}"
    if whole:
        yield "a number that is not whole is accepted where it lies between two that are"


def _mistakes(key: NumericKey) -> Iterator[Range]:
    """Ranges of the mistakes of *key* outside what is accepted; none overlaps another.

    Which mistake a number is, the judge alone knows: it is asked between all places where its
    answer may change, so that a system that knows nothing but ranges comes to the same.
    """
    centres = list(_centres(key))
    cuts = sorted({key.low, key.high, *_cuts(key, centres)})
    places: list[tuple[Number, Number]] = []
    for cut, after in pairwise([*cuts, math.inf]):
        places.append((cut, cut))
        if after < math.inf:
            places.append((cut, after))
    named = [
        (_named((low + high) / 2 if low < high else low, key), low, high) for low, high in places
    ]
    by_id = {mistake.id: (mistake, centre) for mistake, centre in centres}
    for name, group in groupby(named, key=lambda place: place[0]):
        stretch = list(group)
        if name is not None:
            yield _range(*by_id[name], stretch[0][1], stretch[-1][2], key)


def _centres(key: NumericKey) -> Iterator[tuple[Mistake, Number]]:
    for mistake in key.part.mistakes:
        try:
            centre = numeric.mistake_value(mistake, key)
        except (ExpressionError, ValueError):
            continue  # the gate finds it in every other scope
        if centre is not None:
            yield mistake, centre


def _cuts(key: NumericKey, centres: Sequence[tuple[Mistake, Number]]) -> Iterator[Number]:
    """Where the verdict may change: the ends of mistakes, and half-way between two of them."""
    for index, (_, centre) in enumerate(centres):
        yield centre
        yield from tolerance.scaled(key.interval, key.value, centre)
        yield from ((centre + other) / 2 for _, other in centres[:index])


def _named(value: Number, key: NumericKey) -> str | None:
    """The mistake of the author's that *value* is judged to be; None for anything else."""
    judged = numeric.judge(value, key)
    if judged.mistake in {mistake.id for mistake in key.part.mistakes}:
        return judged.mistake
    return None


def _range(mistake: Mistake, centre: Number, low: Number, high: Number, key: NumericKey) -> Range:
    return Range(
        low=low,
        high=high,
        value=centre if low <= centre <= high else (low + high) / 2,
        share=share(mistake.credit),
        feedback=said(mistake.feedback, key.draw),
    )


def cells(key: TableKey) -> tuple[NumberItem, ...]:
    """A number for each cell of a table; each counts the same."""
    weight = 1 / sum(len(row) for row in key.cells)
    return tuple(
        number(cell, row=f"{key.part.row} {label}", column=title, weight=weight)
        for label, row in zip(key.rows, key.cells, strict=True)
        for title, cell in zip(key.titles, row, strict=True)
    )


def pairs(key: MatchingKey) -> PairsItem:
    """Every item with its target."""
    letters = [choice.letter for choice in key.choices]
    return PairsItem(
        things=key.items,
        targets=tuple(choice.text for choice in key.choices),
        right=tuple(letters.index(letter) for letter in key.right),
    )


def order(key: OrderingKey) -> OrderItem | None:
    """The things in their order, when there is no other; otherwise None."""
    count = len(key.choices)
    if len(key.before) < count * (count - 1) // 2:
        return None
    texts = {choice.letter: choice.text for choice in key.choices}
    return OrderItem(things=tuple(texts[letter] for letter in key.right), rule=key.part.credit)


def words(key: ShortTextKey) -> TextItem | None:
    """The texts that are accepted, and those of mistakes; None for patterns."""
    part = key.part
    if part.match == "regex":
        return None
    exact = part.match == "exact"
    found = [Words(texts=_forms(key.accept, exact=exact), share=1.0)]
    for mistake in part.mistakes:
        texts = [said(written, key.draw) for written in mistake.accept]
        found.append(
            Words(
                texts=_forms(filter(None, texts), exact=exact),
                share=share(mistake.credit),
                feedback=said(mistake.feedback, key.draw),
            )
        )
    return TextItem(words=tuple(w for w in found if w.texts), exact=exact, lost=(_AS_TYPED,))


_AS_TYPED = "letters of other alphabets' forms, typeset dashes and several spaces count as typed"


def _forms(texts: Iterator[str] | Sequence[str], *, exact: bool) -> tuple[str, ...]:
    """Texts in one line each; also with the full stop that the judge overlooks."""
    from grader.kinds.short_text import one_line

    lines = [one_line(text) for text in texts]
    ended = [] if exact else [f"{line}." for line in lines if not line.endswith(".")]
    return tuple(dict.fromkeys((*lines, *ended)))
