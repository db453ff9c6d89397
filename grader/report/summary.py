"""Computes the numbers of the class report."""

from __future__ import annotations

import hashlib
import math
import statistics
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.model import Mark, Outcome, Verdict
from grader.model.result import EvidenceSummary, Row, Standing
from grader.report.names import question_number
from grader.report.numbers import correlation, histogram, quartiles

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionLine:
    """A section of the roster; shares are of the settled points, as in `Totals`."""

    section: str
    """Empty for students without a section."""
    students: int
    counted: int
    """Students with settled points."""
    mean: float | None
    median: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSummary:
    """The content of the class report."""

    exam: str
    title: str
    release: str
    engine: str
    published: bool
    totals: Totals
    sections: tuple[SectionLine, ...]
    """Empty unless the roster has sections."""
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
    runs = [
        RunLine(students=tuple(sorted(owners[sha])), run=run)
        for sha, run in (evidence or {}).items()
        if sha in owners
    ]
    failed = sorted((line for line in runs if _has_failed(line.run)), key=_severity)
    seconds = [line.run.seconds for line in runs]
    return ClassSummary(
        exam=exam,
        title=title,
        release=release,
        engine=engine,
        published=published,
        totals=_totals(students),
        sections=tuple(_sections(students)),
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
        and line.standing is not Standing.REFUSED
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


def _sections(students: Sequence[StudentLine]) -> Iterator[SectionLine]:
    names = sorted({line.section for line in students})
    for name in names if any(names) else ():
        mine = [line for line in students if line.section == name]
        totals = _totals(mine)
        yield SectionLine(
            section=name,
            students=len(mine),
            counted=totals.graded,
            mean=totals.mean,
            median=totals.quartiles[1] if totals.quartiles else None,
        )


def _has_failed(run: EvidenceSummary) -> bool:
    return run.outcome is not Outcome.FINISHED or run.failed_cells > 0


def _severity(line: RunLine) -> tuple[bool, int, tuple[str, ...]]:
    return line.run.outcome is Outcome.FINISHED, -line.run.failed_cells, line.students


@dataclass(slots=True)
class _Part:
    """Data of one part, collected while reading the class."""

    mark: Mark
    order: int
    names: set[str] = field(default_factory=set)
    mix: dict[Verdict, int] = field(default_factory=dict)
    shares: array[float] = field(default_factory=lambda: array("d"))
    """The share of the points that each student earned on this part."""
    rests: array[float] = field(default_factory=lambda: array("d"))
    """The share that the same student earned on the rest of the paper; NaN without a rest."""
    feedback: dict[str, str] = field(default_factory=dict)
    varies: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, mark: Mark, row: Row, points: float, max_points: float) -> None:
        """Adds one student's mark; the two numbers cover all of the student's settled marks."""
        self.names.add(mark.name)
        verdict, earned, most = mark.verdict, mark.points, mark.max_points
        self.mix[verdict] = self.mix.get(verdict, 0) + 1
        if mark.mistake is not None:
            self.add_mistake(mark.mistake, mark, row)
        if earned is None:
            return
        rest = max_points - most
        self.shares.append(earned / most if most else 0.0)
        self.rests.append((points - earned) / rest if rest > 0 and most else math.nan)

    def add_mistake(self, id_: str, mark: Mark, row: Row) -> None:
        """Counts a named mistake and keeps the feedback that one student reads."""
        self.counts[id_] = self.counts.get(id_, 0) + 1
        # A person's comment on an override is only for that student.
        text = "" if mark.name in row.overrides else mark.feedback
        known = self.feedback.setdefault(id_, text)
        if not known:
            self.feedback[id_] = text
        elif text and text != known:
            self.varies.add(id_)

    def discrimination(self) -> float | None:
        """Returns the correlation of this part with the rest of the paper, without its own
        points."""
        pairs = [(x, y) for x, y in zip(self.shares, self.rests, strict=True) if not math.isnan(y)]
        return correlation([x for x, _ in pairs], [y for _, y in pairs])

    def place(self) -> tuple[int, str, int]:
        """Returns the part's position in the report."""
        return min(map(question_number, self.names)), self.mark.problem, self.order

    def line(self) -> PartLine:
        """Returns the part's numbers."""
        students, settled = sum(self.mix.values()), len(self.shares)
        correct = self.mix.get(Verdict.CORRECT, 0)
        common = sorted(self.counts, key=lambda id_: (-self.counts[id_], id_))[:_MISTAKES]
        return PartLine(
            problem=self.mark.problem,
            part=self.mark.part,
            names=tuple(sorted(self.names, key=lambda name: (question_number(name), name))),
            kind=self.mark.kind,
            max_points=self.mark.max_points,
            students=students,
            settled=settled,
            share_correct=correct / settled if settled else None,
            mean_share=statistics.fmean(self.shares) if settled else None,
            mix={one: self.mix[one] for one in Verdict if one in self.mix},
            discrimination=self.discrimination(),
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
    points = max_points = 0.0
    for mark in row.marks:
        if mark.points is not None:
            points += mark.points
            max_points += mark.max_points
    for order, mark in enumerate(row.marks):
        key = mark.problem, mark.part
        part = parts.get(key)
        if part is None:
            part = parts[key] = _Part(mark, order)
        part.add(mark, row, points, max_points)
