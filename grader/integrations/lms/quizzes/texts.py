"""The HTML that students read in a quiz: given values, questions and solutions."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from grader.model.item import NumberItem
from grader.model.quiz import QuizPart, QuizQuestion
from grader.text.markdown import strip_paragraph, typeset_text
from grader.units import printed_unit
from grader.words import points


def inline_html(text: str) -> str:
    """Markdown as HTML, without the enclosing paragraph if it is a single one."""
    return strip_paragraph(typeset_text(text))


def prompt_html(asked: QuizQuestion) -> str:
    """The HTML above the parts: the prompt, the table of given values, the conventions."""
    return "".join((typeset_text(asked.prompt), _given_table(asked), _conventions_list(asked)))


def _given_table(asked: QuizQuestion) -> str:
    if not asked.given:
        return ""
    rows = [[inline_html(one.label), inline_html(one.value)] for one in asked.given]
    return html_table(["given", "value"], rows)


def html_table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """An HTML table; all cells are HTML."""
    top = "".join(f"<th>{cell}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def _conventions_list(asked: QuizQuestion) -> str:
    if not asked.assumptions:
        return ""
    lines = "".join(f"<li>{inline_html(one)}</li>\n" for one in asked.assumptions)
    return f"<p><strong>Conventions</strong></p>\n<ul>\n{lines}</ul>\n"


def part_html(field: QuizPart, more: str = "") -> str:
    """A part's question with its letter and points; *more* is plain text that follows it."""
    letter = f"<strong>({field.letter})</strong> " if field.letter else ""
    tail = f" {escape(more)}" if more else ""
    noun = "point" if field.points == 1 else "points"
    worth = f"{tail} <em>({points(field.points)} {noun})</em>"
    asked = typeset_text(field.ask)
    one = strip_paragraph(asked)
    if one != asked.strip():
        return f"<p>{letter}{one}{worth}</p>\n"
    return f"<p>{letter}</p>\n{asked}<p>{worth.strip()}</p>\n"


def number_hint(item: NumberItem) -> str:
    """How to write the number, in words."""
    what = "a whole number" if item.whole else "a number"
    if item.unit == "%":
        return "a percentage, as a number without the sign"
    return f"{what} in {printed_unit(item.unit)}, without the unit" if item.unit else what


def solution_html(asked: QuizQuestion) -> str:
    """The worked solution; empty if there is none."""
    return typeset_text(asked.solution) if asked.solution else ""
