"""The files of a results folder: CSV, JSON, feedback pages and the class report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path

from grader import __version__
from grader.files import write_whole
from grader.gradebook import Gradebook
from grader.load import Bank
from grader.model import Grade, Mark
from grader.model.result import Row
from grader.pipeline.graded import Graded, graded_of, rows_of
from grader.pipeline.grading import NOTICES
from grader.pipeline.papers import SEATS
from grader.report import (
    ClassSummary,
    file_name,
    summarise,
    write_class_report,
    write_csv,
    write_feedback,
    write_grade_json,
)

PUBLISHED = "published"
PAGES = "feedback/.pages.json"
"""What each student's files were written from; lost, all are written again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written, in short."""

    published: bool
    totals: list[dict[str, object]]
    """A line a student: id, standing, score, maximum, complete."""
    summary: str


def set_published(out: Path, published: bool) -> None:
    """Whether feedback pages show the accepted answers and the worked solutions from now on."""
    with Gradebook.open(out) as book:
        book.set_setting(PUBLISHED, published)


def write_results(out: Path, bank: Bank) -> Written:
    """Writes the files of the results folder from the gradebook.

    A student's files are written only when something that they show has changed since.
    """
    with Gradebook.open(out) as book:
        graded = graded_of(book)
        published = bool(book.setting(PUBLISHED))
        look = _look(graded, bank, published)
        rows = list(rows_of(book, graded))
        before = _written(out)
        pages = {row.student.id: _content(row, look) for row in rows}
        for row in rows:
            student = row.student.id
            if before.get(student) != pages[student] or not _there(out, student):
                _write_student(out, row, graded, bank, published)
        write_whole(out / PAGES, json.dumps(pages).encode())
        write_csv(out, rows, pooled=graded.pooled)
        summary = summarise(
            rows,
            exam=graded.exam,
            title=graded.title,
            release=graded.release,
            engine=__version__,
            published=published,
            evidence=None if book.setting(SEATS) else book.evidence_summaries(),
            notices=_notices(book),
        )
        write_class_report(out, summary, bank.templates)
    totals: list[dict[str, object]] = [
        {
            "student": r.student.id,
            "standing": r.standing.value,
            "score": r.score,
            "max_score": r.max_score,
            "complete": r.complete,
        }
        for r in sorted(rows, key=lambda r: r.student.id)
    ]
    return Written(published=published, totals=totals, summary=_summary(summary, out))


def _look(graded: Graded, bank: Bank, published: bool) -> str:
    """What all pages depend on beside the grades."""
    templates = hashlib.sha256()
    for folder in bank.templates:
        for path in sorted((folder / "report").glob("*")):
            templates.update(path.read_bytes())
    parts = (__version__, graded.release, str(published), templates.hexdigest()[:16])
    return "/".join(parts)


def _written(out: Path) -> Mapping[str, object]:
    try:
        found = json.loads((out / PAGES).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _others(record: type, *names: str) -> attrgetter[tuple[object, ...]]:
    """What reads all fields of a record but those with these names."""
    return attrgetter(*(field.name for field in fields(record) if field.name not in names))


_OF_A_ROW, _OF_A_GRADE, _OF_A_MARK = _others(Row, "grade"), _others(Grade, "marks"), _others(Mark)


def _content(row: Row, look: str) -> str:
    """Stands for everything that a student's files show."""
    text = f"{look}{_OF_A_ROW(row)!r}"
    if row.grade is not None:
        # Most of it is marks, which `json` writes out five times as fast as `repr`.
        text += f"{_OF_A_GRADE(row.grade)!r}{json.dumps([_OF_A_MARK(mark) for mark in row.marks])}"
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _there(out: Path, student: str) -> bool:
    page = out / "feedback" / file_name(student, ".html")
    return page.exists() and (out / "grades" / file_name(student, ".json")).exists()


def _write_student(out: Path, row: Row, graded: Graded, bank: Bank, published: bool) -> None:
    write_grade_json(out, row, exam=graded.exam, engine=__version__, release=graded.release)
    shown = graded.shown(row, published=published)
    write_feedback(out, shown, bank.templates, engine=__version__)


def _notices(book: Gradebook) -> list[str]:
    kept = book.setting(NOTICES)
    if not isinstance(kept, list):
        return []
    return [f"{n['path']}: {n['text']}" for n in kept if isinstance(n, dict)]


def _summary(summary: ClassSummary, out: Path) -> str:
    totals = summary.totals
    lines = [f"{totals.students} students"]
    lines += [f"{n} {standing.value}" for standing, n in totals.standings.items() if n]
    head = ", ".join(lines) + "."
    if totals.mean is not None and totals.quartiles is not None:
        head += f" Mean {totals.mean:.0%}, median {totals.quartiles[1]:.0%} of the points."
    if totals.open_totals:
        are = "total is" if totals.open_totals == 1 else "totals are"
        head += f" {totals.open_totals} {are} open: see `grader mark {out}`."
    return f"{head}\n{out / 'report' / 'index.html'}: the class report"
