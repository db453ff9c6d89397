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
from grader.pipeline.graded import Graded, graded_of, rows_of
from grader.pipeline.results import PUBLISHED
from grader.pipeline.shown import evidence_of
from grader.registry import nearest


def class_results(folder: Path, students: Iterable[str] = ()) -> ClassResults:
    """What students may see of the results in *folder*: of all, or of *students* alone.

    Keys and worked solutions are in it only once the feedback was published.
    Raises SetupError for a student who is not in the release.
    """
    with Gradebook.open(folder) as book:
        graded = graded_of(book)
        published = bool(book.setting(PUBLISHED))
        rows = sorted(rows_of(book, graded), key=lambda row: row.student.id)
        wanted = set(students)
        _known(wanted, graded)
        times = {(s.student, s.sha256): s.received for s in book.submissions()}
        found = tuple(
            _result(row, book, graded, published, times)
            for row in rows
            if not wanted or row.student.id in wanted
        )
        return ClassResults(
            exam=graded.exam,
            title=graded.title,
            release=graded.release,
            engine=__version__,
            results=found,
        )


def _known(wanted: set[str], graded: Graded) -> None:
    for student in sorted(wanted - set(graded.students)):
        close = nearest(student, graded.students)
        raise SetupError(
            f"the results have no student '{student}'",
            fix=f"did you mean '{close}'?" if close else "see the ids in grades.csv",
        )


def _result(
    row: Row,
    book: Gradebook,
    graded: Graded,
    published: bool,
    times: dict[tuple[str, str], str | None],
) -> Result:
    evidence = evidence_of(book, row)
    sha256 = row.grade.submission_sha256 if row.grade else None
    return Result(
        feedback=graded.shown(row, published=published, evidence=evidence),
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
