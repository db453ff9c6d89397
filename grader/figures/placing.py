"""The figures of a variant, and their places in its worked solution."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from grader.figures.base import FieldReader, FigureError, figure_types
from grader.model import Figure, Variant
from grader.model.figure import DrawnFigure, TextBlock
from grader.model.grouping import group_by_key
from grader.text.words import part_letter


def prompt_figures(variant: Variant) -> tuple[DrawnFigure, ...]:
    """Returns the figures of the question. Raises FigureError."""
    return _draw_all(variant, "prompt")


def explanation_figures(variant: Variant) -> tuple[DrawnFigure, ...]:
    """Returns the figures of the worked solution. Raises FigureError. **Secret.**"""
    return _draw_all(variant, "explanation")


def _draw_all(variant: Variant, show: Literal["prompt", "explanation"]) -> tuple[DrawnFigure, ...]:
    """Returns the figures of the prompt or the explanation, with the variant's numbers."""
    figures = variant.problem.figures
    return tuple(
        _draw_figure(variant, index, figure)
        for index, figure in enumerate(figures)
        if figure.show == show
    )


def _draw_figure(variant: Variant, index: int, figure: Figure) -> DrawnFigure:
    """Returns one figure with the variant's numbers. Raises FigureError with its path."""
    read = FieldReader(figure, variant.draw)
    try:
        alt = read.text(figure.alt, "alt")
        picture = figure_types.find(figure.type).picture(figure, read)
    except FigureError as error:
        error.path = ("figures", index, *error.path)
        raise
    return DrawnFigure(id=figure.id, type=figure.type, alt=alt, part=figure.part, picture=picture)


def solution_blocks(variant: Variant, asked: Iterable[str], text: str) -> tuple[TextBlock, ...]:
    """Returns the worked solution *text* in blocks, each followed by its figures.

    A figure of a part follows the paragraphs that begin with the part's letter, such as **(b)**;
    other figures, and those without such paragraphs, follow the whole text. Figures of parts that
    are not among those *asked* are left out. Raises FigureError.
    """
    letters = {part_id: part_letter(index) for index, part_id in enumerate(asked)}
    figures = [f for f in explanation_figures(variant) if f.part is None or f.part in letters]
    cuts = group_by_key((_end_of_part(text, letters.get(f.part or "", "")), f) for f in figures)
    blocks, start = [], 0
    for cut, placed in sorted(cuts.items()):
        blocks.append(TextBlock(text[start:cut].strip(), tuple(placed)))
        start = cut
    if rest := text[start:].strip():
        blocks.append(TextBlock(rest))
    return tuple(blocks)


_PART = re.compile(r"^\*\*\(([a-z]+)\)", re.M)


def _end_of_part(text: str, letter: str) -> int:
    """Returns the position after the paragraphs of a part; the end of *text* if there are none."""
    matches = list(_PART.finditer(text))
    for index, match in enumerate(matches):
        if match[1] == letter:
            return matches[index + 1].start() if index + 1 < len(matches) else len(text)
    return len(text)
