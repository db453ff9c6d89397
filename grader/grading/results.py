"""Writes the files of a results folder: CSV, JSON, feedback pages, and the class report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from grader import __version__
from grader.bank.folders import Bank
from grader.files import exclusive_lock, make_write_error
from grader.gradebook import Gradebook
from grader.grading.cache_keys import (
    KEPT,
    ClassFigures,
    ResultDigests,
    forget_files,
    is_up_to_date,
    read_record,
    result_digests,
    write_record,
)
from grader.grading.late_list import minutes_with_paper
from grader.grading.requests import form_of, form_secret
from grader.grading.sources import PUBLISHED, is_published, notices_of, rows_of, source_of
from grader.model.result import Row
from grader.release.papers import seats_of
from grader.report import (
    ClassSummary,
    file_name,
    load_templates,
    summarize,
    write_class_report,
    write_csv,
    write_feedback,
    write_grade_json,
)
from grader.text.words import count_of, percent

_WAIT_SECONDS = 600.0
"""Seconds to wait for another command that writes the same files, which is slow for a large
class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenResults:
    """A summary of what was written."""

    is_published: bool
    figures: ClassFigures
    summary: str


def set_published(out: Path, published: bool) -> None:
    """Sets whether feedback pages show the accepted answers and the worked solutions."""
    with Gradebook.open(out) as book:
        book.set_setting(PUBLISHED, published)


def prepare_pages(bank: Bank) -> None:
    """Compiles the templates of the pages, so that `write_results` takes less time."""
    load_templates(bank.templates)


def write_results(out: Path, bank: Bank) -> WrittenResults:
    """Writes the files of the results folder from the gradebook. A student's files are written only
    if their content has changed. If nothing has changed at all, no marks are read."""
    with Gradebook.open(out) as book, _lock_files(out):
        graded = source_of(book)
        published = is_published(book, graded)
        # Before reading: changes made meanwhile are then written by the next run.
        stamps = result_digests(book, graded, bank, published=published)
        record = read_record(out)
        stale = _outdated_students(out, stamps, record.stamps if record else None)
        if record and not stale and is_up_to_date(out, record, stamps):
            return _describe_written(out, record.short, published)
        # If killed from here on, the next run must not keep files that may be half written.
        forget_files(out, record, stale)
        secret = form_secret(book)
        rows = list(rows_of(book, graded))
        for row in rows:
            if row.student.id in stale or row.student.id not in stamps.students:
                write_grade_json(
                    out, row, exam=graded.exam, engine=__version__, release=graded.release
                )
                shown = graded.feedback_for(row, published=published)
                shown = replace(shown, request_form=form_of(secret, row))
                write_feedback(out, shown, bank.templates, engine=__version__)
        write_csv(out, rows, pooled=graded.pooled_numbers)
        summary = summarize(
            rows,
            exam=graded.exam,
            title=graded.title,
            release=graded.release,
            engine=__version__,
            published=published,
            evidence=None if seats_of(book) else book.evidence_summaries(),
            notices=[f"{one['path']}: {one['text']}" for one in notices_of(book)],
            minutes=minutes_with_paper(book.times()),
        )
        write_class_report(out, summary, bank.templates)
        short = _class_figures(summary, rows)
        write_record(out, stamps, short)
    return _describe_written(out, short, published)


@contextmanager
def _lock_files(out: Path) -> Iterator[None]:
    """Locks the result files against other writers, while grading may go on. Otherwise, a slower
    writer could leave older content in a file while the record describes the newer."""
    folder = (out / KEPT).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_write_error(error, folder) from error
    with exclusive_lock(folder, wait=_WAIT_SECONDS):
        yield


def _outdated_students(
    out: Path, now: ResultDigests, before: ResultDigests | None
) -> frozenset[str]:
    """Returns the students whose files are missing or outdated."""
    were = before.students if before else {}
    pages = _file_names(out / "feedback")
    grades = _file_names(out / "grades")
    return frozenset(
        id_
        for id_, stamp in now.students.items()
        if were.get(id_) != stamp
        or file_name(id_, ".html") not in pages
        or file_name(id_, ".json") not in grades
    )


def _file_names(folder: Path) -> frozenset[str]:
    try:
        return frozenset(path.name for path in folder.iterdir())
    except OSError:
        return frozenset()


def _class_figures(summary: ClassSummary, rows: Iterable[Row]) -> ClassFigures:
    """Returns the numbers in *summary*, with the total of each of *rows*, sorted by student."""
    totals = summary.totals
    return ClassFigures(
        standings={standing.value: n for standing, n in totals.standings.items() if n},
        counted=totals.graded_count,
        mean=totals.mean,
        median=totals.quartiles[1] if totals.quartiles else None,
        open_totals=totals.open_totals,
        statistics=summary.statistics(),
        totals=[
            {
                "student": r.student.id,
                "standing": r.standing.value,
                "score": r.score,
                "max_score": r.max_score,
                "complete": r.complete,
            }
            for r in sorted(rows, key=lambda r: r.student.id)
        ],
    )


def _describe_written(out: Path, short: ClassFigures, published: bool) -> WrittenResults:
    """Returns what was written to *out*, with the numbers of *short* in sentences."""
    standings = [f"{n} {standing}" for standing, n in short.standings.items()]
    head = ", ".join([count_of(len(short.totals), "student"), *standings]) + "."
    if short.mean is not None and short.median is not None:
        of = f"the settled points of {count_of(short.counted, 'student')}"
        head += f" Mean {percent(short.mean)}, median {percent(short.median)} of {of}."
    if short.open_totals:
        still = count_of(short.open_totals, "total is", "totals are")
        head += f" {still} open: see `grader mark {out}`."
    return WrittenResults(
        is_published=published,
        figures=short,
        summary=f"{head}\n{out / 'report' / 'index.html'}: the class report",
    )
