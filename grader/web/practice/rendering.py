"""Renders the pages of practice from templates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from grader.figures import draw_once, figure_svg
from grader.model import Verdict
from grader.report.pages import VERDICTS
from grader.text.markdown import author_text, feedback_text, strip_paragraph
from grader.text.templates import html_environment, render_template
from grader.text.words import kind_words, points
from grader.units import format_number

if TYPE_CHECKING:
    from grader.model.figure import DrawnFigure


class PracticeRenderer:
    """The compiled templates of one bank."""

    def __init__(self, folders: tuple[Path, ...]):
        filters = {
            "feedback_text": feedback_text,
            "figure_svg": _figure,
            "inline": _inline,
            "kind": kind_words,
            "plain": format_number,
            "points": points,
        }
        self._environment = html_environment(folders, filters)
        self._environment.globals |= {"VERDICTS": VERDICTS, "Verdict": Verdict}

    def page(self, name: str, **names: object) -> str:
        """Returns the HTML of the page *name*."""
        return draw_once(render_template(self._environment, f"practice/{name}.html.j2", **names))


def _inline(written: str) -> Markup:
    return Markup(strip_paragraph(author_text(written)))  # noqa: S704 - the parser lets no raw HTML through


def _figure(figure: DrawnFigure) -> Markup:
    return Markup(figure_svg(figure))  # noqa: S704 - its only text is escaped
