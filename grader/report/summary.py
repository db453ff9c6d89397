"""Computes the numbers of the class report."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.model import Outcome
from grader.model.records import field_values
from grader.model.result import EvidenceSummary, Row, Standing, StudentResult
from grader.report.part_lines import PartFigures, PartLine
from grader.report.whole_paper import PaperPoints, WholePaper

_SLOWEST = 10
_FAILED = 50
_NOTHING = hashlib.sha256(b"").hexdigest()
"""SHA-256 of empty files and of files that were not read, such as links or files that are too
large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTotals:
    """The class in a few numbers; each student's share is of the settled points, from 0 to 1."""

    students: int
    standings: Mapping[Standing, int]
    graded_count: int
    """Students with settled points, possibly of an earlier file. Mean, quartiles, range, and
    histogram cover only these."""
    open_totals: int
    open_marks: int
    max_score: float | None
    """Maximum points of every paper; None if papers differ, or if marks are open, because shares
    are then of different points."""
    mean: float | None
    quartiles: tuple[float, float, float] | None
    lowest: float | None
    highest: float | None
    bins: tuple[int, ...]
    """Number of students in each tenth of the settled points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """How a notebook ran, and whose it is."""

    students: tuple[str, ...]
    run: EvidenceSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentLine(StudentResult):
    """A row of the table of students."""

    total: float | None
    """Points of the settled marks, possibly of an earlier file; None if there are none."""
    share: float | None
    """Share of the settled points; None if there are none."""
    open_count: int
    override_count: int
    stale_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSummary:
    """The content of the class report."""

    exam: str
    title: str
    release: str
    engine: str
    is_published: bool
    totals: ClassTotals
    sections: Mapping[str, ClassTotals]
    """The totals of each section, with "" for students without one; empty without sections."""
    parts: tuple[PartLine, ...]
    whole: WholePaper
    minutes: tuple[float, float, float] | None
    """The quartiles of the minutes that students had the paper; None if they are not known."""
    run_seconds: tuple[float, float] | None
    """The median and the sum of the notebooks' running times."""
    slowest: tuple[RunLine, ...]
    failed_runs: tuple[RunLine, ...]
    failed_count: int
    same_file: tuple[tuple[str, ...], ...]
    """Students who handed in identical files."""
    notices: tuple[str, ...]
    students: tuple[StudentLine, ...]

    def statistics(self) -> dict[str, object]:
        """Returns the statistics of the whole paper and of each part, as plain data."""
        return {
            "whole": self.whole.as_data() | {"minutes": self.minutes and list(self.minutes)},
            "parts": [part.as_data() for part in self.parts],
        }


def summarize(
    rows: Iterable[Row],
    *,
    exam: str,
    title: str,
    release: str,
    engine: str,
    published: bool,
    evidence: Mapping[str, EvidenceSummary] | None = None,
    notices: Sequence[str] = (),
    minutes: Sequence[float] = (),
) -> ClassSummary:
    """Computes the report's numbers. Reads *rows* once and keeps none of their marks.

    *evidence* maps the SHA-256 of each file to its latest execution.
    """
    students: list[StudentLine] = []
    owners: dict[str, list[str]] = {}
    parts: dict[tuple[str, str], PartFigures] = {}
    papers = PaperPoints()
    for row in rows:
        students.append(_student_line(row))
        if row.grade is not None:
            if row.grade.submission_sha256 not in (None, "", _NOTHING):
                owners.setdefault(row.grade.submission_sha256, []).append(row.student.id)
            if row.standing is not Standing.REFUSED:
                _add_marks(parts, row)
                papers.add(row)
    students.sort(key=lambda line: line.student.id)
    sections = sorted({line.student.section for line in students})
    runs = [
        RunLine(students=tuple(sorted(owners[sha])), run=run)
        for sha, run in (evidence or {}).items()
        if sha in owners
    ]
    finished = Outcome.FINISHED
    failed = [line for line in runs if line.run.outcome is not finished or line.run.failed_cells]
    failed.sort(key=lambda x: (x.run.outcome is finished, -x.run.failed_cells, x.students))
    seconds = [line.run.seconds for line in runs]
    return ClassSummary(
        exam=exam,
        title=title,
        release=release,
        engine=engine,
        is_published=published,
        totals=_class_totals(students),
        sections={
            section: _class_totals([line for line in students if line.student.section == section])
            for section in (sections if any(sections) else ())
        },
        parts=tuple(part.line() for part in sorted(parts.values(), key=PartFigures.sort_key)),
        whole=papers.whole(),
        minutes=quartiles(sorted(minutes)),
        run_seconds=(statistics.median(seconds), sum(seconds)) if seconds else None,
        slowest=tuple(sorted(runs, key=lambda line: (-line.run.seconds, line.students))[:_SLOWEST]),
        failed_runs=tuple(failed[:_FAILED]),
        failed_count=len(failed),
        same_file=tuple(sorted(tuple(sorted(ids)) for ids in owners.values() if len(ids) > 1)),
        notices=tuple(notices),
        students=tuple(students),
    )


def summarize_part(rows: Iterable[Row], problem: str, part: str) -> PartLine | None:
    """Returns the numbers of one part; None if no row has a mark for it."""
    parts: dict[tuple[str, str], PartFigures] = {}
    for row in rows:
        if row.standing is not Standing.REFUSED:
            _add_marks(parts, row, only=(problem, part))
    return next((one.line() for one in parts.values()), None)


def _student_line(row: Row) -> StudentLine:
    return StudentLine(
        **field_values(row, StudentResult),
        total=row.total,
        share=row.share,
        open_count=row.unsettled,
        override_count=len(row.overrides),
        stale_count=len(row.stale),
    )


def _class_totals(students: Sequence[StudentLine]) -> ClassTotals:
    """Returns the distribution of the totals; students without one are only counted."""
    counted = [line for line in students if line.share is not None]
    shares = sorted(line.share for line in counted if line.share is not None)
    maxima = {None if line.open_count else line.max_score for line in counted}
    unfinished = [
        line
        for line in students
        if not line.complete
        and line.standing is not Standing.EXEMPT
        and (line.open_count or line.total is not None)
    ]
    return ClassTotals(
        students=len(students),
        standings={
            standing: sum(line.standing is standing for line in students) for standing in Standing
        },
        graded_count=len(counted),
        open_totals=len(unfinished),
        open_marks=sum(line.open_count for line in unfinished),
        max_score=maxima.pop() if len(maxima) == 1 else None,
        mean=statistics.fmean(shares) if shares else None,
        quartiles=quartiles(shares),
        lowest=shares[0] if shares else None,
        highest=shares[-1] if shares else None,
        bins=histogram(shares, 10),
    )


def quartiles(numbers: Sequence[float]) -> tuple[float, float, float] | None:
    """Returns lower quartile, median, and upper quartile; None if there are no numbers.

    Between two numbers, they are interpolated linearly, as in spreadsheets.

    >>> quartiles([1, 2, 3, 4])
    (1.75, 2.5, 3.25)
    """
    if len(numbers) < 2:
        return (numbers[0], numbers[0], numbers[0]) if numbers else None
    low, median, high = statistics.quantiles(numbers, n=4, method="inclusive")
    return low, median, high


def histogram(shares: Sequence[float], bins: int) -> tuple[int, ...]:
    """Returns the number of shares in each of *bins* equal parts from 0 to 1; 1 is in the last.

    >>> histogram([0, 0.5, 0.99, 1], 2)
    (1, 3)
    """
    counts = [0] * bins
    for share in shares:
        # A small margin, because 0.29 * 100 is 28.999999999999996.
        counts[max(0, min(int(share * bins + 1e-9), bins - 1))] += 1
    return tuple(counts)


def _add_marks(
    parts: dict[tuple[str, str], PartFigures], row: Row, only: tuple[str, str] | None = None
) -> None:
    """Adds the marks of a student to *parts*, or the mark of one part if *only* names it."""
    settled = [mark for mark in row.marks if mark.points is not None]
    points = sum(mark.points or 0.0 for mark in settled)
    max_points = sum(mark.max_points for mark in settled)
    for order, mark in enumerate(row.marks):
        if only in (None, (mark.problem, mark.part)):
            part = parts.setdefault((mark.problem, mark.part), PartFigures(mark, order))
            part.add(mark, row, points, max_points)
