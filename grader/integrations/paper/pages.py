"""An exam on paper as HTML: a version to hand out, its key, and the sheet to type answers into."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader import units
from grader.errors import SpecError
from grader.model import Student
from grader.model.printed import Form, PrintedExam
from grader.text.markup import author_text, inline
from grader.text.spreadsheet import line, text
from grader.words import points

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SHEET = "answers.csv"
HEAD = ("student", "name", "version", "check")
"""The first columns of the sheet."""


def exam_html(exam: PrintedExam, templates: tuple[Path, ...]) -> bytes:
    """What a student gets; nothing of the key is in it."""
    return _filled("paper/exam.html.j2", exam, templates)


def key_html(exam: PrintedExam, templates: tuple[Path, ...]) -> bytes:
    """Answers, tolerances, mistakes and worked solutions of the same version. **Secret.**"""
    return _filled("paper/key.html.j2", exam, templates)


def answer_sheet(exams: Iterable[PrintedExam], students: Iterable[Student]) -> bytes:
    """The CSV that answers are typed into: a line a student, a column for each place.

    Where versions have different problems, it has the places of all of them. Whose version the
    roster names has it filled in, where it is one of *exams*.
    """
    exams = tuple(exams)
    printed = {exam.version for exam in exams}
    names = dict.fromkeys(name for e in exams for place in e.places for name in place.names)
    head = (*HEAD, *names)
    lines = [line(head)]
    for student in students:
        version = student.version if student.version in printed else ""
        cells = (text(student.id), text(student.name), version, *[""] * (len(head) - 3))
        lines.append(line(cells))
    return "".join(f"{one}\r\n" for one in lines).encode()


def _filled(name: str, exam: PrintedExam, templates: tuple[Path, ...]) -> bytes:
    from jinja2 import TemplateError

    try:
        text = _environment(templates).get_template(name).render(exam=exam, Form=Form)
    except TemplateError as error:
        raise SpecError(
            f"the template '{name}' can't be filled in: {error}",
            fix="a bank's templates/ folder overrides ours; compare it with ours",
        ) from None
    return text.encode("utf-8", "backslashreplace")


def _points(number: float) -> str:
    shown = points(number)
    return f"{shown} {'point' if shown == '1' else 'points'}"


def _inline(written: str) -> Markup:
    from markupsafe import Markup

    return Markup(inline(author_text(written)))  # noqa: S704 - the parser lets no raw HTML through


@lru_cache(maxsize=8)
def _environment(folders: tuple[Path, ...]) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(list(folders)),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "author_text": author_text,
        "inline": _inline,
        "points": _points,
        "plain": units.number,
    }
    return environment
