"""Scores paper answers from the sheet that they were typed into; runs nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from grader.errors import SetupError
from grader.files import exclusive_lock, remove_partial_files
from grader.gradebook import Gradebook
from grader.grading.kept_marks import score_safely
from grader.grading.run import WRITTEN_INTO
from grader.integrations.paper.printing import check_code, printed_exam
from grader.integrations.paper.typed import TypedRow, load_answers
from grader.model import (
    Answer,
    Evidence,
    Grade,
    Outcome,
    Override,
    Paper,
    Raw,
    Release,
    Submission,
    Verdict,
)
from grader.model.evidence import VERSION
from grader.model.printed import AnswerForm, AnswerPlace, cell_name
from grader.release.file import load_release
from grader.release.papers import SEATS, Papers, bind, papers_of

HOW = "typed in from paper"
"""Recorded instead of how a notebook was executed."""
BY = "paper"
"""Recorded as the grader of points from the sheet."""
READ = "The answer is on paper and is graded manually."


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryResult:
    """Result of one call of `grader enter`."""

    scored: int
    kept: int
    """Students whose line has not changed since the last call."""
    absent: tuple[str, ...]
    """Students on the sheet who have no version."""
    unreadable: tuple[str, ...]
    """A sentence for each typed answer that can't be read."""
    open: int
    """Parts that need manual grading."""


def enter_answers(sheet: Path, release_file: Path, out: Path) -> EntryResult:
    """Scores the answers in *sheet* with a release's versions into the results folder *out*.

    If entered again, changed lines are scored anew. Raises SpecErrors with the line of each
    invalid entry, and then stores nothing.
    """
    release = load_release(release_file)
    versions = _Versions(release)
    rows = load_answers(sheet, versions.codes, versions.places)
    with Gradebook.open(out, create=True) as book, exclusive_lock(out):
        for folder in WRITTEN_INTO:
            remove_partial_files(out / folder)
        bind(book, release, release_file)
        _require_paper(book)
        before = book.setting(SEATS)
        old = before if isinstance(before, dict) else {}
        book.add_students(row.student for row in rows)
        # Students who are no longer on the sheet keep their version.
        book.set_setting(SEATS, {**old, **{row.student.id: row.version for row in rows}})
        return _enter_rows(book, papers_of(book), rows, versions, sheet)


class _Versions:
    """The check code of each version, and the places for its answers."""

    def __init__(self, release: Release):
        papers = Papers(release=release)
        exams = {name: printed_exam(papers.of(name)) for name in release.students}
        self.places = {name: exam.places for name, exam in exams.items()}
        self.codes = {name: check_code(release.id, name) for name in release.students}


def _require_paper(book: Gradebook) -> None:
    if book.setting(SEATS) is None and book.submissions():
        raise SetupError(
            "these results belong to notebooks, not to a paper exam",
            where=str(book.folder),
            fix="choose another folder for --out",
        )


def _enter_rows(
    book: Gradebook, papers: Papers, rows: tuple[TypedRow, ...], versions: _Versions, sheet: Path
) -> EntryResult:
    run = book.begin_run(f"enter {sheet.name}")
    current = {g.student: g for g in book.grades()}
    by_hand = _SheetPoints(book)
    scored = kept = 0
    unreadable: list[str] = []
    waiting = 0
    for row in rows:
        student = row.student.id
        if row.version is None:
            # For example, a line that was emptied because it had another student's answers.
            by_hand.file(student, {})
            if student in current:
                book.withdraw_grade(student, by=BY, why="The line on the sheet is empty.")
            continue
        mine = papers.of(student)
        sha256 = _paper_digest(row)
        grade = current.get(student)
        if grade is not None and (grade.submission_sha256, grade.release) == (
            sha256,
            mine.release,
        ):
            kept += 1
        else:
            grade = _score_row(book, mine, row, versions.places[row.version], sha256, sheet, run)
            scored += 1
        settled = by_hand.file(student, dict(_manual_points(row, versions.places[row.version])))
        unreadable += _unreadable_answers(grade)
        waiting += sum(m.points is None and m.name not in settled for m in grade.marks)
    return EntryResult(
        scored=scored,
        kept=kept,
        absent=tuple(row.student.id for row in rows if row.version is None),
        unreadable=tuple(unreadable),
        open=waiting,
    )


class _SheetPoints:
    """Stores points from manual grading on paper next to those from `grader mark`.

    Points from `grader mark` stay until the points on the sheet change.
    """

    def __init__(self, book: Gradebook):
        self._book = book
        self._given: dict[str, dict[str, Override]] = {}
        for one in book.overrides():
            self._given.setdefault(one.student, {})[one.name] = one

    def file(self, student: str, points: Mapping[str, float]) -> set[str]:
        """Stores the sheet's points of *student*; returns the names of manually graded marks."""
        given = self._given.get(student, {})
        for name, number in points.items():
            one = given.get(name)
            if one is None or (one.points != number and self._is_changed(one, number)):
                self._book.put_override(_make_override(student, name, number))
        emptied = {name for name, one in given.items() if one.by == BY and name not in points}
        for name in sorted(emptied):
            self._book.withdraw_override(student, name, by=BY, why="The sheet has no points.")
        return (given.keys() | points.keys()) - emptied

    def _is_changed(self, one: Override, number: float) -> bool:
        """Whether *number* is not what the sheet had before somebody assigned other points."""
        return one.by == BY or self._last_points.get((one.student, one.name)) != number

    @cached_property
    def _last_points(self) -> Mapping[tuple[object, object], object]:
        """The last points on the sheet, by student and mark."""
        lines = (a.detail for a in self._book.audit() if a.who == BY and "name" in a.detail)
        return {(said["student"], said["name"]): said.get("points") for said in lines}


def _score_row(
    book: Gradebook,
    mine: Paper,
    row: TypedRow,
    places: tuple[AnswerPlace, ...],
    sha256: str,
    sheet: Path,
    run: int,
) -> Grade:
    submission = Submission(student=row.student.id, path=sheet.name, sha256=sha256)
    evidence = book.find_evidence(sha256, HOW)
    if evidence is None:
        evidence = book.put_evidence(evidence_of(row, places, sha256), HOW)
    book.add_submissions([submission])
    grade = score_safely(mine, evidence)
    book.put_grade(grade, run=run)
    return grade


def evidence_of(row: TypedRow, places: tuple[AnswerPlace, ...], sha256: str) -> Evidence:
    """The answers in *row* in the form of evidence from a kernel; runs nothing."""
    answers = {p.name: _typed_answer(p, row.answers) for p in places}
    return Evidence(
        submission_sha256=sha256,
        outcome=Outcome.FINISHED,
        answers=answers,
        cells=(),
        seconds=0.0,
        environment={VERSION: row.version, "how": HOW},
    )


def _typed_answer(place: AnswerPlace, typed: Mapping[str, str]) -> Answer:
    raw: Raw | None
    if place.form is AnswerForm.TEXT:
        raw = _text_value(READ)
    elif place.form is AnswerForm.GRID:
        cells = [
            [
                _cell_value(typed.get(cell_name(place.name, i, j), ""))
                for j, _ in enumerate(place.columns, 1)
            ]
            for i, _ in enumerate(place.rows, 1)
        ]
        blank = all(cell["t"] == "none" for row in cells for cell in row)
        raw = None if blank else _list_value([_list_value(row) for row in cells])
    else:
        written = typed.get(place.name, "")
        raw = _text_value(written) if written else None
    return Answer(name=place.name, raw=raw, absent=None if raw else "the box on paper is empty")


def _text_value(written: str) -> Raw:
    return {"t": "str", "v": written, "cut": False}


def _cell_value(written: str) -> Raw:
    return _text_value(written) if written else {"t": "none"}


def _list_value(items: list[Raw]) -> Raw:
    return {"t": "list", "v": items}


def _paper_digest(row: TypedRow) -> str:
    """Identifies the submitted paper, as a file's SHA-256 identifies a notebook."""
    plain = json.dumps([row.student.id, row.version, dict(row.answers)], sort_keys=True)
    return hashlib.sha256(plain.encode("utf-8", "backslashreplace")).hexdigest()


def _manual_points(row: TypedRow, places: tuple[AnswerPlace, ...]) -> Iterator[tuple[str, float]]:
    """Yields the name of each manually graded answer with its points on the sheet."""
    for place in places:
        if place.form is AnswerForm.TEXT and (written := row.answers.get(place.names[0])):
            yield place.name, float(written)


def _make_override(student: str, name: str, points: float) -> Override:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Override(
        student=student, name=name, points=points, reason="Read on paper.", by=BY, at=now
    )


def _unreadable_answers(grade: Grade) -> Iterator[str]:
    for mark in grade.marks:
        if mark.verdict is Verdict.UNREADABLE:
            yield f"{grade.student}, {mark.name}: {mark.feedback}"
