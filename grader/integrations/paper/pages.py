"""The files of a paper exam: a version and its key as HTML, and the answer sheet as CSV."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path

from grader.figures import draw_once, figure_svg
from grader.model import Student
from grader.model.printed import AnswerForm, PrintedExam
from grader.text.spreadsheet import csv_line, escape_cell
from grader.text.templates import html_environment, render_template
from grader.text.words import count_points

SHEET = "answers.csv"
HEAD = ("student", "name", "version", "check")


def page_html(name: str, exam: PrintedExam, templates: tuple[Path, ...]) -> bytes:
    """Returns a page: `exam`, without any part of the key, or `key`. **Secret.**"""
    page = f"paper/{name}.html.j2"
    text = render_template(_environment(templates), page, exam=exam, Form=AnswerForm)
    return draw_once(text).encode("utf-8", "backslashreplace")


def answer_sheet(exams: Iterable[PrintedExam], students: Iterable[Student]) -> bytes:
    """Returns the CSV that answers are typed into: one line per student, one column per answer."""
    exams = tuple(exams)
    printed = {exam.version for exam in exams}
    names = dict.fromkeys(name for e in exams for place in e.places for name in place.names)
    head = (*HEAD, *names)
    lines = [csv_line(head)]
    for student in students:
        version = student.version if student.version in printed else ""
        who = (escape_cell(student.id), escape_cell(student.name))
        cells = (*who, version, *[""] * (len(head) - 3))
        lines.append(csv_line(cells))
    # With a byte order mark, by which spreadsheets recognize UTF-8.
    return "".join(f"{line}\r\n" for line in lines).encode("utf-8-sig")


_FILTERS = {"figure_svg": figure_svg, "points": count_points}
_environment = lru_cache(maxsize=8)(partial(html_environment, filters=_FILTERS))
