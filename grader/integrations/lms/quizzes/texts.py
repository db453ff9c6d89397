"""The HTML and XML of a quiz, and numbers and ranges as other systems write them."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING

from grader.bank.index import own_bank
from grader.figures import figure_png
from grader.model.item import NumberItem, NumberRange
from grader.model.quiz import QuizPart, QuizQuestion
from grader.text.markdown import strip_paragraph, typeset_text
from grader.text.templates import make_environment, render_template
from grader.text.words import points
from grader.units import asked_unit

if TYPE_CHECKING:
    from jinja2 import Environment

CenteredRange = tuple[int | float, int | float]
"""A value and its tolerance."""

# Characters that XML 1.0 does not allow, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_BETWEEN_TAGS = re.compile(r">\s+<")
"""White space that templates leave; in texts, both characters are escaped."""


def inline_html(text: str) -> str:
    """Returns Markdown as HTML, without the enclosing paragraph if it is a single one."""
    return strip_paragraph(typeset_text(text))


def prompt_html(asked: QuizQuestion) -> str:
    """Returns the HTML above the parts: prompt, figures, given values, and conventions."""
    html = typeset_text(asked.prompt)
    for figure in asked.figures:
        data = b64encode(figure_png(figure)).decode()
        alt = escape(figure.alt, quote=True)
        html += f'<p><img src="data:image/png;base64,{data}" alt="{alt}" width="560"></p>\n'
    if asked.given_values:
        rows = [
            [inline_html(given.label), inline_html(given.value)] for given in asked.given_values
        ]
        html += html_table(["given", "value"], rows)
    if asked.assumptions:
        lines = "".join(f"<li>{inline_html(assumption)}</li>\n" for assumption in asked.assumptions)
        html += f"<p><strong>Conventions</strong></p>\n<ul>\n{lines}</ul>\n"
    return html


def html_table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Returns an HTML table; all cells are HTML."""
    top = "".join(f"<th>{cell}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def part_html(field: QuizPart, more: str = "") -> str:
    """Returns a part's question with its letter and points; *more* is plain text after it."""
    letter = f"<strong>({field.letter})</strong> " if field.letter else ""
    tail = f" {escape(more)}" if more else ""
    noun = "point" if field.points == 1 else "points"
    worth = f"{tail} <em>({points(field.points)} {noun})</em>"
    asked = typeset_text(field.ask)
    inline = strip_paragraph(asked)
    if inline != asked.strip():
        return f"<p>{letter}{inline}{worth}</p>\n"
    return f"<p>{letter}</p>\n{asked}<p>{worth.strip()}</p>\n"


def number_hint(item: NumberItem) -> str:
    """Returns how to write the number, in words."""
    what = "a whole number" if item.whole else "a number"
    if item.unit == "%":
        return "a percentage, as a number without the sign"
    return f"{what} in {asked_unit(item.unit)}, without the unit" if item.unit else what


def exact_text(value: float) -> str:
    """Returns the shortest text that parses to exactly this number."""
    return repr(value)


def split_range(accepted: NumberRange) -> tuple[CenteredRange, ...]:
    """Returns a range as one value with a tolerance, or as two that overlap.

    The first value is the range's own, which the other system shows as the right answer.
    """
    low, high, value = accepted.low, accepted.high, accepted.value
    if low == high:
        return ((value, 0),)
    nearest_end = min(value - low, high - value)
    if abs((value - low) - (high - value)) <= 1e-9 * (high - low):
        return ((value, _short_width(value, low, high)),)
    middle = (low + high) / 2
    around: CenteredRange = (middle, _short_width(middle, low, high))
    return ((value, nearest_end), around) if nearest_end >= 0 else (around,)


def interval_ends(value: float, width: float) -> tuple[str, str]:
    """Returns both ends of *value* ± *width*, in decimal arithmetic."""
    middle, half = Decimal(exact_text(value)), Decimal(exact_text(width))
    return str(middle - half), str(middle + half)


def _short_width(value: float, low: float, high: float) -> float:
    """Returns a width of 12 digits around *value* that reaches both ends, such as 0.44."""
    width = max(value - low, high - value)
    short = float(f"{width:.11e}")
    reached = [Decimal(end) for end in interval_ends(value, short)]
    if reached[0] <= Decimal(exact_text(low)) and Decimal(exact_text(high)) <= reached[1]:
        return short
    return float(f"{width * (1 + 1e-11):.11e}")


def render_xml(template: str, values: Mapping[str, object]) -> bytes:
    """Returns the document in UTF-8 that one of the package's templates makes of *values*."""
    text = render_template(_environment(), template, **values)
    return _BETWEEN_TAGS.sub(">\n<", text).encode()


@lru_cache(maxsize=1)
def _environment() -> Environment:
    def finalize(value: object) -> object:
        if type(value) is not str:
            return value
        return _FORBIDDEN.sub("\ufffd", value.replace("\r\n", "\n").replace("\r", "\n"))

    return make_environment((own_bank() / "templates",), autoescape=True, finalize=finalize)
