"""What an exporter is given: a class's results, and the files that it made, written out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from grader import __version__
from grader.errors import SetupError
from grader.files import write_whole
from grader.gradebook import Gradebook
from grader.model.exported import ClassResults, Exported, Result
from grader.model.result import Row
from grader.pipeline.papers import Papers, papers_of
from grader.pipeline.results import PUBLISHED
from grader.pipeline.shown import evidence_of, rows_of, shown_to_student
from grader.registry import nearest


def class_results(folder: Path, students: Iterable[str] = ()) -> ClassResults:
    """What students may see of the results in *folder*: of all, or of *students* alone.

    Keys and worked solutions are in it only once the feedback was published.
    Raises SetupError for a student who is not in the release.
    """
    with Gradebook.open(folder) as book:
        papers = papers_of(book)
        published = bool(book.setting(PUBLISHED))
        rows = sorted(rows_of(book, papers), key=lambda row: row.student.id)
        wanted = set(students)
        _known(wanted, papers)
        times = {(s.student, s.sha256): s.received for s in book.submissions()}
        found = tuple(
            _result(row, book, papers, published, times)
            for row in rows
            if not wanted or row.student.id in wanted
        )
        exam = papers.counts.exam
        return ClassResults(
            exam=exam.id,
            title=exam.title,
            release=papers.counts.id,
            engine=__version__,
            results=found,
        )


def _known(wanted: set[str], papers: Papers) -> None:
    for student in sorted(wanted - set(papers.release.students)):
        close = nearest(student, papers.release.students)
        raise SetupError(
            f"the release has no student '{student}'",
            fix=f"did you mean '{close}'?" if close else "see the ids in grades.csv",
        )


def _result(
    row: Row,
    book: Gradebook,
    papers: Papers,
    published: bool,
    times: dict[tuple[str, str], str | None],
) -> Result:
    evidence = evidence_of(book, row)
    sha256 = row.grade.submission_sha256 if row.grade else None
    return Result(
        feedback=shown_to_student(row, book, papers, published=published, evidence=evidence),
        submission_sha256=sha256,
        submitted_at=times.get((row.student.id, sha256)) if sha256 else None,
        seconds=evidence.seconds if evidence else 0.0,
    )


def write_exported(exported: Exported, out: Path) -> list[Path]:
    """Writes the files into the folder *out*, each as a whole; the paths that were written."""
    written = []
    for name, data in exported.files.items():
        target = out / name
        if not target.resolve().is_relative_to(out.resolve()):
            raise SetupError(f"'{name}' would be written outside of '{out}'", fix="rename it")
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, data)
        written.append(target)
    return written
