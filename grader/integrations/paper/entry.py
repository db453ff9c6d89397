"""Scores paper answers from the sheet that they were typed into; runs nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.errors import SetupError
from grader.files import exclusive_lock, remove_partial_files
from grader.gradebook import Gradebook
from grader.grading.kept_marks import score_safely
from grader.grading.manual import make_override
from grader.grading.run import WRITTEN_INTO
from grader.grading.tally import overrides_by_student
from grader.integrations.paper.printing import printed_exam
from grader.integrations.paper.typed import TypedRow, load_answers, parse_points
from grader.model import Answer, Evidence, Outcome, Raw, Submission, Verdict
from grader.model.evidence import VERSION
from grader.model.printed import AnswerForm, AnswerPlace, cell_name
from grader.release.file import load_release
from grader.release.papers import SEATS, Papers, bind, papers_of, seats_of

HOW = "typed in from paper"
"""Recorded instead of how a notebook was executed."""
BY = "paper"
"""Recorded as the grader of points from the sheet."""
READ = "The answer is on paper and is graded manually."


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryResult:
    """Result of one call of `grader enter`."""

    scored_count: int
    kept_count: int
    """Students whose line has not changed since the last call."""
    absent: tuple[str, ...]
    """Students on the sheet who have no version."""
    unreadable: tuple[str, ...]
    """A sentence for each typed answer that can't be read."""
    open: int


def enter_answers(sheet: Path, release_file: Path, out: Path) -> EntryResult:
    """Scores the answers in *sheet* with a release's versions into the results folder *out*.

    Raises SpecErrors with the line of each invalid entry, and then stores nothing.
    """
    release = load_release(release_file)
    papers = Papers(release=release)
    exams = {version: printed_exam(papers.of(version)) for version in release.students}
    places = {version: exam.places for version, exam in exams.items()}
    rows = load_answers(sheet, {version: exam.check for version, exam in exams.items()}, places)
    with Gradebook.open(out, create=True) as book, exclusive_lock(out):
        for folder in WRITTEN_INTO:
            remove_partial_files(out / folder)
        bind(book, release, release_file)
        before = seats_of(book)
        if before is None and book.submissions():
            raise SetupError(
                "these results belong to notebooks, not to a paper exam",
                where=str(book.folder),
                fix="choose another folder for --out",
            )
        book.add_students(row.student for row in rows)
        # Students who are no longer on the sheet keep their version.
        book.set_setting(SEATS, {**(before or {}), **{row.student.id: row.version for row in rows}})
        return _enter_rows(book, rows, places, sheet)


def _enter_rows(
    book: Gradebook,
    rows: tuple[TypedRow, ...],
    places: Mapping[str, tuple[AnswerPlace, ...]],
    sheet: Path,
) -> EntryResult:
    """Scores the rows that are new or changed, and stores the points from the sheet."""
    run = book.begin_run(f"enter {sheet.name}")
    papers = papers_of(book)
    current = {grade.student: grade for grade in book.grades()}
    manual = _SheetPoints(book)
    scored = kept = waiting = 0
    unreadable: list[str] = []
    for row in rows:
        student = row.student.id
        if row.version is None:
            # For example, a line that was emptied because it had another student's answers.
            manual.store(student, {})
            if student in current:
                book.withdraw_grade(student, by=BY, why="The line on the sheet is empty.")
            continue
        mine = papers.of(student)
        grade = current.get(student)
        # Identifies the submitted paper, as a file's SHA-256 identifies a notebook.
        plain = json.dumps([student, row.version, dict(row.answers)], sort_keys=True)
        sha256 = hashlib.sha256(plain.encode("utf-8", "backslashreplace")).hexdigest()
        if grade and (grade.submission_sha256, grade.release) == (sha256, mine.release):
            kept += 1
        else:
            submission = Submission(student=student, path=sheet.name, sha256=sha256)
            evidence = book.find_evidence(sha256, HOW) or book.put_evidence(
                evidence_of(row, places[row.version], sha256), HOW
            )
            book.add_submissions([submission])
            grade = score_safely(mine, evidence)
            book.put_grade(grade, run=run)
            scored += 1
        texts = (place for place in places[row.version] if place.form is AnswerForm.TEXT)
        written = {place.name: row.answers.get(place.names[0]) for place in texts}
        points = {name: parse_points(text) for name, text in written.items() if text}
        settled = manual.store(student, points)
        for mark in grade.marks:
            if mark.verdict is Verdict.UNREADABLE:
                unreadable.append(f"{grade.student}, {mark.name}: {mark.feedback}")
            waiting += mark.points is None and mark.name not in settled
    return EntryResult(
        scored_count=scored,
        kept_count=kept,
        absent=tuple(row.student.id for row in rows if row.version is None),
        unreadable=tuple(unreadable),
        open=waiting,
    )


class _SheetPoints:
    """Stores points from the sheet; those of `grader mark` stay until the sheet's change."""

    def __init__(self, book: Gradebook):
        self._book = book
        self._overrides = overrides_by_student(book.overrides())

    def store(self, student: str, points: Mapping[str, float]) -> set[str]:
        """Stores the sheet's points of *student*. Returns the names of manually graded marks."""
        overrides = self._overrides.get(student, {})
        for name, number in points.items():
            current = overrides.get(name)
            if current and current.by != BY and self._last_points.get((student, name)) == number:
                continue  # the sheet still has what it had before other points were assigned
            if current is None or current.points != number:
                override = make_override(student, name, number, by=BY, why="Read on paper.")
                self._book.put_overrides([override])
        emptied = {n for n, current in overrides.items() if current.by == BY and n not in points}
        for name in sorted(emptied):
            self._book.withdraw_override(student, name, by=BY, why="The sheet has no points.")
        return (overrides.keys() | points.keys()) - emptied

    @cached_property
    def _last_points(self) -> Mapping[tuple[object, object], object]:
        details = (a.detail for a in self._book.audit() if a.who == BY and "name" in a.detail)
        return {(detail["student"], detail["name"]): detail.get("points") for detail in details}


def evidence_of(row: TypedRow, places: tuple[AnswerPlace, ...], sha256: str) -> Evidence:
    """Returns the answers in *row* in the form of evidence from a kernel; runs nothing."""
    return Evidence(
        submission_sha256=sha256,
        outcome=Outcome.FINISHED,
        answers={place.name: _typed_answer(place, row.answers) for place in places},
        cells=(),
        seconds=0.0,
        environment={VERSION: row.version, "how": HOW},
    )


def _typed_answer(place: AnswerPlace, typed: Mapping[str, str]) -> Answer:
    """Returns what is typed into the columns of *place*, as if a kernel had read it."""
    raw: Raw
    if place.form is AnswerForm.TEXT:
        raw = _text_value(READ)
    elif place.form is AnswerForm.GRID:
        rows = range(1, len(place.rows) + 1)
        columns = range(1, len(place.columns) + 1)
        written = [[typed.get(cell_name(place.name, i, j), "") for j in columns] for i in rows]
        cells = [{"t": "list", "v": [_text_value(cell) for cell in row]} for row in written]
        raw = {"t": "list", "v": cells} if any(map(any, written)) else _NO_VALUE
    elif place.form is AnswerForm.PLAN:
        raw = _plan_value(
            [(c, typed.get(n, "")) for c, n in zip(place.choices, place.names, strict=True)]
        )
    else:
        raw = _text_value(typed.get(place.name, ""))
    blank = raw == _NO_VALUE
    return Answer(
        name=place.name,
        raw=None if blank else raw,
        absent="the box on paper is empty" if blank else None,
    )


_NO_VALUE: Raw = {"t": "none"}


def _plan_value(written: list[tuple[str, str]]) -> Raw:
    if not any(value for _, value in written):
        return _NO_VALUE
    return {"t": "dict", "v": [[_text_value(name), _text_value(value)] for name, value in written]}


def _text_value(written: str) -> Raw:
    return {"t": "str", "v": written, "cut": False} if written else _NO_VALUE
