"""The files of a results folder: CSV, JSON, feedback pages and the class report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader import __version__
from grader.errors import GraderError
from grader.gradebook import Gradebook
from grader.load import Bank
from grader.model import Audience, Evidence
from grader.model.result import Row
from grader.pipeline.grading import NOTICES
from grader.pipeline.papers import Papers, papers_of
from grader.render import given
from grader.report import (
    ClassSummary,
    summarise,
    write_class_report,
    write_csv,
    write_feedback,
    write_grade_json,
)
from grader.reveal import reveal
from grader.tally import pooled_numbers, tally

PUBLISHED = "published"


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
    """Writes every file of the results folder anew from the gradebook."""
    with Gradebook.open(out) as book:
        papers = papers_of(book)
        published = bool(book.setting(PUBLISHED))
        rows = list(_rows(book, papers))
        for row in rows:
            _write_student(out, row, book, papers, bank, published)
        exam = papers.exam_release.exam
        write_csv(out, rows, pooled=pooled_numbers(exam))
        summary = summarise(
            rows,
            exam=exam.id,
            title=exam.title,
            release=papers.exam_release.id,
            engine=__version__,
            published=published,
            evidence=book.evidence_summaries(),
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


def _rows(book: Gradebook, papers: Papers) -> Iterator[Row]:
    yield from tally(
        papers.release.students,
        book.grades(),
        overrides=book.overrides(),
        submissions=book.submissions(),
    )


def _write_student(
    out: Path, row: Row, book: Gradebook, papers: Papers, bank: Bank, published: bool
) -> None:
    release = papers.exam_release
    write_grade_json(out, row, exam=release.exam.id, engine=__version__, release=release.id)
    paper = papers.of(row.student.id)
    if row.grade is not None and row.grade.release != paper.release:
        # Scored before the specs were corrected, and without evidence to score again: what it was
        # scored by is what its page must show.
        paper = Papers(release=papers.release).of(row.student.id)
    shown = reveal(
        row,
        paper,
        audience=Audience.STUDENT,
        published=published,
        given=given,
        evidence=_evidence(book, row),
    )
    write_feedback(out, shown, bank.templates, engine=__version__)


def _evidence(book: Gradebook, row: Row) -> Evidence | None:
    if row.grade is None or row.grade.submission_sha256 is None:
        return None
    try:
        return book.evidence(row.grade.submission_sha256)
    except GraderError:
        return None  # the marks stand without it; `grader grade` makes it again


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
        head += f" {totals.open_totals} totals are open."
    return f"{head}\n{out / 'report' / 'index.html'}: the class report"
