"""A number's key as a question for another system: ranges of values and what each earns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from grader.expressions import ExpressionError
from grader.kinds import numbers, tolerance
from grader.kinds.feedback import said
from grader.kinds.numbers import NumericKey
from grader.kinds.shares import share
from grader.model import Mistake
from grader.model.item import NumberItem, Range

Number = int | float


def number_item(
    key: NumericKey, *, whole: bool = False, row: str = "", column: str = "", weight: float = 1.0
) -> NumberItem:
    """Returns *key* as a number question: the accepted range and the mistakes around it."""
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
        yield f"unit slips, such as GiB for GB, are not recognized{kept}"
    if whole:
        yield "a number that is not whole is accepted where it lies between two that are"


def _mistakes(key: NumericKey) -> Iterator[Range]:
    """Yields disjoint ranges for the mistakes of *key*, outside the accepted range.

    Only the judge knows which mistake a number is. It is evaluated between all points where its
    verdict may change, so that a system that knows only ranges gives the same verdicts.
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
            centre = numbers.mistake_value(mistake, key)
        except (ExpressionError, ValueError):
            continue  # the gate checks every other scope
        if centre is not None:
            yield mistake, centre


def _cuts(key: NumericKey, centres: Sequence[tuple[Mistake, Number]]) -> Iterator[Number]:
    """Yields where the verdict may change: the ends of mistakes, and halfway between two."""
    for index, (_, centre) in enumerate(centres):
        yield centre
        yield from tolerance.scaled(key.interval, key.value, centre)
        yield from ((centre + other) / 2 for _, other in centres[:index])


def _named(value: Number, key: NumericKey) -> str | None:
    """Returns the ID of the spec's mistake that *value* is; None if it is none of them."""
    judged = numbers.judge(value, key)
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
