"""Renders records as HTML pages: a student's feedback and the class report."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.figures import draw_once, figure_svg
from grader.model import Outcome, Verdict
from grader.model.result import Feedback, Standing
from grader.report.names import file_name
from grader.report.summary import ClassSummary
from grader.text.templates import html_environment, render_template
from grader.text.words import count_of, part_letter, percent

if TYPE_CHECKING:
    from jinja2 import Environment

VERDICTS = {
    Verdict.CORRECT: "Correct",
    Verdict.PARTIAL: "Partly correct",
    Verdict.MISTAKE: "Known mistake",
    Verdict.INCORRECT: "Incorrect",
    Verdict.ABSENT: "No answer",
    Verdict.UNREADABLE: "Can't be read",
    Verdict.UNSETTLED: "Open",
}
OUTCOMES = {
    Outcome.FINISHED: "ran to the end",
    Outcome.TIMEOUT: "reached a time limit",
    Outcome.OUT_OF_MEMORY: "used too much memory",
    Outcome.CRASHED: "kernel stopped",
    Outcome.REFUSED: "could not be started",
}
# Control characters are not allowed in a page and would affect a terminal that prints it.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def feedback_page(feedback: Feedback, templates: tuple[Path, ...], *, engine: str = "") -> str:
    """Returns the self-contained page of one student. In *templates*, the first folder wins."""
    waits = _open_parts_text(feedback)
    return _render_page("feedback", templates, feedback=feedback, engine=engine, waits=waits)


def class_page(summary: ClassSummary, templates: tuple[Path, ...]) -> str:
    """Returns the self-contained class report, which links to the feedback pages beside it."""
    return _render_page("class", templates, report=summary)


def load_templates(templates: tuple[Path, ...]) -> None:
    """Compiles the templates of both pages, which takes a tenth of a second."""
    environment = _environment(templates)
    for name in ("base", "macros", "feedback", "class"):
        environment.get_template(f"report/{name}.html.j2")


def _render_page(name: str, templates: tuple[Path, ...], **names: object) -> str:
    """Returns the page with control characters, which only students write, replaced."""
    page = draw_once(render_template(_environment(templates), f"report/{name}.html.j2", **names))
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", page.replace("\r\n", "\n"))


def _open_parts_text(feedback: Feedback) -> str:
    """Returns a text such as "2 parts wait for a person"; empty if nothing is open."""
    if feedback.standing is Standing.WAITING:
        return "your newer file has not been graded yet"
    parts = [p for problem in feedback.problems for p in problem.parts if p.points is None]
    if not parts:
        return ""
    if all(part.kind == "explanation" for part in parts):
        return count_of(len(parts), "part waits", "parts wait") + " for manual grading"
    return count_of(len(parts), "part is", "parts are") + " not graded yet"


def format_percent(share: float | None) -> str:
    """Returns a share as a whole percentage; "n/a" for None."""
    return "n/a" if share is None else percent(share)


def format_coefficient(number: float | None) -> str:
    """Returns a correlation with two digits and a real minus sign; "n/a" for None."""
    return "n/a" if number is None else f"{number:.2f}".replace("-", "\N{MINUS SIGN}")


def format_interval(ends: tuple[float, float]) -> str:
    """Returns the ends of an interval of a coefficient.

    >>> format_interval((0.1, 0.456))
    '0.10 to 0.46'
    """
    return f"{format_coefficient(ends[0])} to {format_coefficient(ends[1])}"


def format_seconds(number: float) -> str:
    """Returns a time with a unit.

    >>> format_seconds(0.25), format_seconds(12.34), format_seconds(312)
    ('0.25 s', '12.3 s', '5 min 12 s')
    """
    if number < 1:
        return f"{number:.2f} s"
    if number < 100:
        return f"{number:.1f} s"
    minutes, rest = divmod(round(number), 60)
    return f"{minutes} min {rest} s"


@lru_cache(maxsize=8)
def _environment(folders: tuple[Path, ...]) -> Environment:
    """Returns the environment with the filters and constants of the report pages."""
    filters = {
        "coefficient": format_coefficient,
        "cut": lambda text, most: text if len(text) <= most else text[:most] + " … (cut)",
        "figure_svg": figure_svg,
        "file_name": file_name,
        "interval": format_interval,
        "letter": lambda place: part_letter(place - 1),
        "percent": format_percent,
        "seconds": format_seconds,
    }
    environment = html_environment(folders, filters)
    constants = {"VERDICTS": VERDICTS, "OUTCOMES": OUTCOMES}
    environment.globals |= {**constants, "Standing": Standing, "Verdict": Verdict}
    return environment
