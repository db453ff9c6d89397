"""Renders the pages of the desk from templates."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from grader.course.times import local_text
from grader.model import Verdict
from grader.model.result import Standing
from grader.report.pages import VERDICTS
from grader.text.templates import html_environment, render_template
from grader.text.words import percent
from grader.web.desk.presence import EVERY
from grader.web.desk.sessions import Capability, DeskSession


def _time_html(text: str, zone: ZoneInfo) -> Markup:
    """Returns a time in ISO 8601 as people in *zone* write it, or *text* if it is not a time.

    >>> _time_html("2026-10-05T21:59:00Z", ZoneInfo("Europe/Berlin"))
    Markup('<time datetime="2026-10-05T21:59:00Z">Oct 5, 2026, 23:59 CEST</time>')
    """
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return escape(text)
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    shown = local_text(instant, zone)
    return Markup('<time datetime="{}">{}</time>').format(text, shown)


class DeskRenderer:
    """The compiled templates of one bank."""

    def __init__(self, folders: tuple[Path, ...], zone: ZoneInfo, *, anonymous: bool = False):
        """Compiles the templates in *folders*; pages show times in *zone*."""
        filters = {
            "moment": lambda text: _time_html(text, zone),
            "percent": percent,
            "segment": lambda text: quote(str(text), safe=""),
        }
        self._environment = html_environment(folders, filters)
        verdicts = {verdict.value: name for verdict, name in VERDICTS.items()}
        self._environment.globals |= {
            "EVERY": EVERY,
            "anonymous": anonymous,
            "Can": Capability,
            "Standing": Standing,
            "VERDICTS": verdicts,
            "Verdict": Verdict,
        }

    def page(self, name: str, session: DeskSession | None, **names: object) -> str:
        """Returns the page *name* for the person of *session*; None for somebody unknown."""
        names = {"place": None, "presence": {}, "page_name": name} | names
        if session is not None:
            names = {"person": session.person, "form_token": session.form_token} | names
        return render_template(self._environment, f"desk/{name}.html.j2", **names)
