"""Computes the numbers of the class report."""

from __future__ import annotations

import hashlib
import math
import statistics
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.model import Mark, Outcome, Verdict
from grader.model.course import Deduction
from grader.model.result import EvidenceSummary, Row, Standing
from grader.report.names import question_number

_SLOWEST = 10
_FAILED = 50
_MISTAKES = 12
_NOTHING = hashlib.sha256(b"").hexdigest()
"""SHA-256 of empty files and of files that were not read, such as links or files that are too
large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The class in a few numbers; each student's share is of the settled points, from 0 to 1."""

    students: int
    standings: Mapping[Standing, int]
    graded: int
    """Students with settled points, possibly of an earlier file. Mean, quartiles, range, and
    histogram cover only these."""
    open_totals: int
    open_marks: int
    max_score: float | None
    """Maximum points of every paper; None if papers differ."""
    mean: float | None
    quartiles: tuple[float, float, float] | None
    """The quartiles of the shares."""
    lowest: float | None
    highest: float | None
    bins: tuple[int, ...]
    """Number of students in each tenth of the settled points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeLine:
    """A named mistake: how many students made it, and the feedback that one of them read."""

    id: str
    students: int
    share: float
    feedback: str
    varies: bool
    """Whether the feedback may contain one student's numbers, because it varies between
    students."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartLine:
    """One part over the whole class."""

    problem: str
    part: str
    names: tuple[str, ...]
    """The variables of the part; several if it comes from a pool."""
    kind: str
    max_points: float
    students: int
    settled: int
    share_correct: float | None
    mean_share: float | None
    """Share of the points, over settled marks."""
    mix: Mapping[Verdict, int]
    discrimination: float | None
    """Correlation with the rest of the paper; None if undefined."""
    mistakes: tuple[MistakeLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """How a notebook ran, and whose it is."""

    students: tuple[str, ...]
    run: EvidenceSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentLine:
    """A row of the table of students."""

    id: str
    name: str
    section: str
    standing: Standing
    total: float | None
    """Points of the settled marks, possibly of an earlier file; None if there are none."""
    share: float | None
    """Share of the settled points; None if there are none."""
    max_score: float
    complete: bool
    unsettled: int
    overrides: int
    stale: int
    refusal: str | None
    deduction: Deduction | None = None
    """What the course's policies take from the total, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSummary:
    """The content of the class report."""

    exam: str
    title: str
    release: str
    engine: str
    published: bool
    totals: Totals
    sections: Mapping[str, Totals]
    """The totals of each section, with "" for students without one; empty without sections."""
    parts: tuple[PartLine, ...]
    run_seconds: tuple[float, float] | None
    """The median and the sum of the notebooks' running times."""
    slowest: tuple[RunLine, ...]
    failed: tuple[RunLine, ...]
    failed_count: int
    same_file: tuple[tuple[str, ...], ...]
    """Students who handed in identical files."""
    notices: tuple[str, ...]
    students: tuple[StudentLine, ...]


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
) -> ClassSummary:
    """Computes the report's numbers. Reads *rows* once and keeps none of their marks.

    *evidence* maps the SHA-256 of each file to its latest execution.
    """
    students: list[StudentLine] = []
    owners: dict[str, list[str]] = {}
    parts: dict[tuple[str, str], _Part] = {}
    for row in rows:
        students.append(_student_line(row))
        if row.grade is not None:
            if row.grade.submission_sha256 not in (None, "", _NOTHING):
                owners.setdefault(row.grade.submission_sha256, []).append(row.student.id)
            if row.standing is not Standing.REFUSED:
                _add_marks(parts, row)
    students.sort(key=lambda line: line.id)
    sections = sorted({line.section for line in students})
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
        published=published,
        totals=_totals(students),
        sections={
            section: _totals([line for line in students if line.section == section])
            for section in (sections if any(sections) else ())
        },
        parts=tuple(part.line() for part in sorted(parts.values(), key=_Part.place)),
        run_seconds=(statistics.median(seconds), sum(seconds)) if seconds else None,
        slowest=tuple(sorted(runs, key=lambda line: (-line.run.seconds, line.students))[:_SLOWEST]),
        failed=tuple(failed[:_FAILED]),
        failed_count=len(failed),
        same_file=tuple(sorted(tuple(sorted(ids)) for ids in owners.values() if len(ids) > 1)),
        notices=tuple(notices),
        students=tuple(students),
    )


def _student_line(row: Row) -> StudentLine:
    return StudentLine(
        id=row.student.id,
        name=row.student.name,
        section=row.student.section,
        standing=row.standing,
        total=row.total,
        share=row.share,
        max_score=row.max_score,
        complete=row.complete,
        unsettled=row.unsettled,
        overrides=len(row.overrides),
        stale=len(row.stale),
        refusal=row.refusal,
        deduction=row.deduction,
    )


def _totals(students: Sequence[StudentLine]) -> Totals:
    counted = [line for line in students if line.share is not None]
    shares = sorted(line.share for line in counted if line.share is not None)
    worth = {line.max_score for line in counted}
    # A file that can't be read has its own line in the report, and all its marks are open.
    unfinished = [
        line
        for line in students
        if not line.complete
        and line.standing not in (Standing.REFUSED, Standing.EXEMPT)
        and (line.unsettled or line.total is not None)
    ]
    return Totals(
        students=len(students),
        standings={one: sum(line.standing is one for line in students) for one in Standing},
        graded=len(counted),
        open_totals=len(unfinished),
        open_marks=sum(line.unsettled for line in unfinished),
        max_score=worth.pop() if len(worth) == 1 else None,
        mean=statistics.fmean(shares) if shares else None,
        quartiles=quartiles(shares),
        lowest=shares[0] if shares else None,
        highest=shares[-1] if shares else None,
        bins=histogram(shares, 10),
    )


def quartiles(numbers: Sequence[float]) -> tuple[float, float, float] | None:
    """Returns lower quartile, median and upper quartile; None if there are no numbers.

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


def correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Returns Pearson's correlation; None for fewer than three pairs or no variance."""
    # Equal shares may differ in the last digits due to the order of summation.
    if len(xs) < 3 or max(xs) - min(xs) < 1e-9 or max(ys) - min(ys) < 1e-9:
        return None
    return max(-1.0, min(1.0, statistics.correlation(xs, ys)))


@dataclass(slots=True)
class _Part:
    """Data of one part, collected while reading the class."""

    mark: Mark
    order: int
    names: set[str] = field(default_factory=set)
    mix: Counter[Verdict] = field(default_factory=Counter)
    shares: array[float] = field(default_factory=lambda: array("d"))
    """The share of the points that each student earned on this part."""
    rests: array[float] = field(default_factory=lambda: array("d"))
    """The share that the same student earned on the rest of the paper; NaN without a rest."""
    feedback: dict[str, str] = field(default_factory=dict)
    varies: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, mark: Mark, row: Row, points: float, max_points: float) -> None:
        """Adds one student's mark; the two numbers cover all of the student's settled marks."""
        self.names.add(mark.name)
        earned, most = mark.points, mark.max_points
        self.mix[mark.verdict] += 1
        if mark.mistake is not None:
            self.add_mistake(mark.mistake, mark, row)
        if earned is None:
            return
        rest = max_points - most
        self.shares.append(earned / most if most else 0.0)
        self.rests.append((points - earned) / rest if rest > 0 and most else math.nan)

    def add_mistake(self, id_: str, mark: Mark, row: Row) -> None:
        """Counts a named mistake and keeps the feedback that one student reads."""
        self.counts[id_] += 1
        # A person's comment on an override is only for that student.
        text = "" if mark.name in row.overrides else mark.feedback
        known = self.feedback.setdefault(id_, text)
        if not known:
            self.feedback[id_] = text
        elif text and text != known:
            self.varies.add(id_)

    def place(self) -> tuple[int, str, int]:
        """Returns the part's position in the report."""
        return min(map(question_number, self.names)), self.mark.problem, self.order

    def line(self) -> PartLine:
        """Returns the part's numbers."""
        students, settled = self.mix.total(), len(self.shares)
        # The points of the part itself do not count.
        pairs = [(x, y) for x, y in zip(self.shares, self.rests, strict=True) if not math.isnan(y)]
        common = sorted(self.counts, key=lambda id_: (-self.counts[id_], id_))[:_MISTAKES]
        return PartLine(
            problem=self.mark.problem,
            part=self.mark.part,
            names=tuple(sorted(self.names, key=lambda name: (question_number(name), name))),
            kind=self.mark.kind,
            max_points=self.mark.max_points,
            students=students,
            settled=settled,
            share_correct=self.mix[Verdict.CORRECT] / settled if settled else None,
            mean_share=statistics.fmean(self.shares) if settled else None,
            mix={one: self.mix[one] for one in Verdict if one in self.mix},
            discrimination=correlation([x for x, _ in pairs], [y for _, y in pairs]),
            mistakes=tuple(
                MistakeLine(
                    id=id_,
                    students=self.counts[id_],
                    share=self.counts[id_] / students,
                    feedback=self.feedback[id_],
                    varies=id_ in self.varies or self.counts[id_] == 1,
                )
                for id_ in common
            ),
        )


def _add_marks(parts: dict[tuple[str, str], _Part], row: Row) -> None:
    settled = [mark for mark in row.marks if mark.points is not None]
    points = sum(mark.points or 0.0 for mark in settled)
    max_points = sum(mark.max_points for mark in settled)
    for order, mark in enumerate(row.marks):
        part = parts.setdefault((mark.problem, mark.part), _Part(mark, order))
        part.add(mark, row, points, max_points)
