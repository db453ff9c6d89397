"""Checks of figures: they can be drawn, stay small, and give no answer away before release."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader import units
from grader.figures import (
    FigureError,
    explanation_figures,
    figure_svg,
    painted_texts,
    prompt_figures,
    shown_values,
)
from grader.kinds import kinds
from grader.kinds.numeric import NumericKey
from grader.model import Key
from grader.model.figure import DrawnFigure
from grader.units.quantity import Quantity
from grader.verify.case import Case, Finding
from grader.verify.numbers import cells_of, printed_numbers

MAX_SVG = 100_000
"""Maximum size of a figure in bytes."""
_GROWTH = 1.2
"""A figure is painted again if what it shows takes this many times the text of the one painted."""


def check_figures(case: Case) -> Iterator[Finding]:
    """Yields a finding for each figure that can't be drawn, is too large, or shows an answer in the
    prompt."""
    try:
        asked, solved = prompt_figures(case.variant), explanation_figures(case.variant)
    except FigureError as error:
        yield case.finding("figures", error.path, error.what, error.fix or "check its fields")
        return
    for figure in (*asked, *solved):
        yield from _check_size(case, figure)
    for figure in asked:
        yield from _check_secrets(case, figure)


def _check_size(case: Case, figure: DrawnFigure) -> Iterator[Finding]:
    """Yields a finding if *figure* is too large. Does not paint it if one that shows nearly as much
    was painted, since painting takes long."""
    shown = len(repr(figure.picture))
    if shown < _GROWTH * case.painted.get(figure.id, 0):
        return
    case.painted[figure.id] = shown
    size = len(figure_svg(figure).encode())
    if size > MAX_SVG:
        what = f"figure '{figure.id}': its SVG has {size} bytes, more than {MAX_SVG}"
        fix = "draw fewer items, for example only the first ones"
        yield case.finding("figures", _path_of(case, figure), what, fix)


def _check_secrets(case: Case, figure: DrawnFigure) -> Iterator[Finding]:
    """Yields a finding for each part whose answer the figure shows."""
    texts, numbers = shown_values(figure.picture)
    texts |= painted_texts(figure) | {figure.alt}
    for part_id, key in case.variant.keys.items():
        shown = _shown_answer(key, texts, numbers)
        if shown is not None:
            what = f"figure '{figure.id}' of the prompt shows {shown}, the answer of '{part_id}'"
            fix = "use 'show: explanation', or draw only what the student is given"
            yield case.finding("figures", _path_of(case, figure), what, fix)


def _shown_answer(key: Key, texts: frozenset[str], numbers: frozenset[float]) -> str | None:
    """Returns the text or the number that gives the answer away; None if nothing does."""
    printed = {number for text in texts for number in printed_numbers(text)}
    for cell in cells_of(key):
        for number in sorted(numbers):
            if any(low <= number <= high for low, high in _ranges(cell)):
                return units.format_number(number)
        for number in sorted(printed):
            if cell.low <= number <= cell.high:
                return units.format_number(number)
    folded = {_fold(text): text for text in texts}
    for answer in _right_texts(key):
        if _fold(answer) in folded:
            return f"'{folded[_fold(answer)]}'"
    return None


def _ranges(key: NumericKey) -> Iterator[tuple[float, float]]:
    """Yields the accepted range of *key* in the unit of the answer, and in base units."""
    yield key.low, key.high
    low, high = units.quantity(key.low, key.unit), units.quantity(key.high, key.unit)
    if isinstance(low, Quantity) and isinstance(high, Quantity):
        yield low.magnitude, high.magnitude


def _right_texts(key: Key) -> Iterator[str]:
    """Yields the right answer of a text, or the text of the only right option."""
    choices = {choice.letter: choice.text for choice in getattr(key, "choices", ())}
    right = getattr(key, "right", None)
    if isinstance(right, str) and right in choices:
        yield choices[right]
    elif not choices and isinstance(answer := kinds.find(key.part.kind).answer(key), str):
        yield answer


def _fold(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().casefold()


def _path_of(case: Case, figure: DrawnFigure) -> tuple[str | int, ...]:
    ids = [listed.id for listed in case.problem.figures]
    return ("figures", ids.index(figure.id))
