"""Writes grades as CSV and JSON, feedback pages, and the class report."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from grader.files import write_atomic
from grader.model.result import Feedback, Row
from grader.report.csv_and_json import grade_json, grades_csv
from grader.report.names import file_name
from grader.report.pages import class_page, feedback_page, load_templates
from grader.report.summary import ClassSummary, summarize


def write_csv(results: Path, rows: Iterable[Row], *, pooled: Collection[int] = ()) -> Path:
    """Writes `grades.csv` to the folder *results*."""
    return _write_text(results / "grades.csv", grades_csv(rows, pooled=pooled))


def write_grade_json(results: Path, row: Row, *, exam: str, engine: str, release: str) -> Path:
    """Writes `grades/STUDENT.json`; the keyword arguments replace data of a missing grade."""
    path = results / "grades" / file_name(row.student.id, ".json")
    return _write_text(path, grade_json(row, exam=exam, engine=engine, release=release))


def write_feedback(
    results: Path, feedback: Feedback, templates: tuple[Path, ...], *, engine: str = ""
) -> Path:
    """Writes a student's feedback page to `feedback/STUDENT.html`, and returns its path."""
    path = results / "feedback" / file_name(feedback.student.id, ".html")
    return _write_text(path, feedback_page(feedback, templates, engine=engine))


def write_class_report(results: Path, summary: ClassSummary, templates: tuple[Path, ...]) -> Path:
    """Writes the class report to `report/index.html`, and returns its path."""
    return _write_text(results / "report" / "index.html", class_page(summary, templates))


def _write_text(path: Path, text: str) -> Path:
    # Strings from student code may contain invalid Unicode.
    write_atomic(path, text.encode("utf-8", "backslashreplace"))
    return path
