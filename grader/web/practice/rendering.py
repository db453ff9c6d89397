"""Renders the pages of practice from templates."""

from __future__ import annotations

from pathlib import Path

from grader.figures import draw_once, figure_svg
from grader.model import Verdict
from grader.report.pages import VERDICTS
from grader.text.templates import html_environment, render_template


class PracticeRenderer:
    """The compiled templates of one bank."""

    def __init__(self, folders: tuple[Path, ...]):
        self._environment = html_environment(folders, {"figure_svg": figure_svg})
        self._environment.globals |= {"VERDICTS": VERDICTS, "Verdict": Verdict}

    def page(self, name: str, **names: object) -> str:
        """Returns the HTML of the page *name*."""
        return draw_once(render_template(self._environment, f"practice/{name}.html.j2", **names))
