"""What each page of the desk shows, read from the gradebook."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from grader.collect import load_submission
from grader.errors import GraderError, SetupError
from grader.gradebook import Gradebook
from grader.model import Mark, Student
from grader.model.course import Course
from grader.model.desk import (
    Decision,
    IndependentMark,
    PartAnswer,
    PartCount,
    PartId,
    visible_marks,
)
from grader.model.result import Row
from grader.notebook import Cell
from grader.notebook import read as read_notebook
from grader.web.desk.class_rows import ClassRows
from grader.web.desk.masking import Mask
from grader.web.desk.sessions import Person
from grader.web.desk.shares import Shares
from grader.web.desk.work import Left, OpenWork

_PSEUDONYMS = "pseudonyms"
"""The gradebook's key for the secret that pseudonyms are made with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """How students are called for one reader."""

    students: Mapping[str, Student]
    secret: str = ""
    """If not empty, students are called by pseudonyms made with it."""
    mask: Mask | None = None
    """Masks names in texts, if students are called by pseudonyms."""

    def shown(self, id_: str) -> str:
        """Returns the student's name and id, or the pseudonym."""
        if self.secret:
            return pseudonym(self.secret, id_)
        name = self.students[id_].name if id_ in self.students else ""
        return f"{name} ({id_})" if name else id_

    def find(self, shown: str) -> str:
        """Returns the id of the student with this id or pseudonym. Raises SetupError."""
        if self.secret:
            for id_ in self.students:
                if pseudonym(self.secret, id_) == shown:
                    return id_
        elif shown in self.students:
            return shown
        raise SetupError(f"there is no student '{shown}' here", fix="go back to the list")

    def hide(self, text: str, of: str = "") -> str:
        """Returns *text* with pseudonyms for the ids, names and emails of students, if they have
        pseudonyms; *of* is the id of the student that the text is of or about."""
        return self.mask.hide(text, of) if self.mask else text

    def address(self, id_: str) -> str:
        """Returns what stands for the student in addresses."""
        return pseudonym(self.secret, id_) if self.secret else id_

    def key(self, id_: str) -> str:
        """Returns a digest of the student, which tells nothing about who it is."""
        return hashlib.sha256(f"{self.address(id_)} is here".encode()).hexdigest()[:16]


def pseudonym(secret: str, id_: str) -> str:
    """Returns the student's pseudonym, which is the same as long as the secret is.

    >>> pseudonym("s", "ada")
    'student-1e0a5d4f'
    """
    digest = hmac.new(secret.encode(), id_.encode(), hashlib.sha256).hexdigest()
    return f"student-{digest[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage:
    """All parts, with what waits for a person first."""

    title: str
    mine: tuple[PartCount, ...]
    """The parts with answers in the reader's share that wait."""
    differ: tuple[PartCount, ...]
    """The parts with answers that two others graded differently."""
    waiting: tuple[PartCount, ...]
    others: tuple[PartCount, ...]
    left: Mapping[PartId, Left]
    """What waits for the reader, by part; empty if everything waits for everybody."""
    divided: bool
    """Whether answers are assigned to people."""
    unknown: tuple[str, ...]
    """Parts in the course file that nobody was asked."""
    opinions: tuple[Decision, ...]
    """Decisions that somebody wants looked at again."""
    students: int

    def waits(self, part: PartCount) -> int:
        """Returns how many answers to *part* the reader could grade now."""
        left = self.left.get(part.part)
        return part.waiting - left.away if left else part.waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentPage:
    """One student's marks, decisions, attempts, and notebook."""

    row: Row
    shown: str
    parts: Mapping[str, PartId]
    """By the answer's variable."""
    decisions: Mapping[str, tuple[Decision, ...]]
    """All decisions about each answer, newest first."""
    engine_points: Mapping[str, float | None]
    """The grader's own points, by the answer's variable."""
    states: Mapping[str, str]
    """The state of each answer, by its variable."""
    new_answers: frozenset[str]
    """The variables of answers that are not those that a person decided about."""
    marks: tuple[IndependentMark, ...]
    """The independent marks that the reader may see, oldest first."""
    attempts: int
    cells: tuple[Cell, ...] = ()
    missing_notebook: str = ""
    """Why the notebook can't be shown."""

    def decision(self, name: str) -> Decision | None:
        """Returns the decision about an answer that counts; None if there is none."""
        return next((one for one in self.decisions.get(name, ()) if not one.undone), None)


@dataclass(slots=True)
class Desk:
    """The pages of one results folder."""

    out: Path
    anonymous: bool = False
    course: Course | None = None
    """Who grades what; nothing is divided without it."""
    _work: OpenWork = field(default_factory=OpenWork, repr=False)
    _secret: str = field(default="", repr=False)
    _class: ClassRows = field(default_factory=ClassRows, repr=False)
    _mask: tuple[Mapping[str, Student], Mask] | None = field(default=None, repr=False)

    def names(self, book: Gradebook, person: Person) -> Names:
        """Returns how *person* sees the students' names; only students of the person's sections."""
        everyone = self._class.source(book).students
        students = everyone
        if person.sections:
            students = {i: s for i, s in students.items() if s.section in person.sections}
        if not self.anonymous or person.sees_names:
            return Names(students=students)
        secret = self._secret_of(book)
        return Names(students=students, secret=secret, mask=self._mask_of(everyone, secret))

    def _mask_of(self, everyone: Mapping[str, Student], secret: str) -> Mask:
        known = self._mask
        if known is None or known[0] is not everyone:
            mask = Mask(partial(pseudonym, secret))
            mask.add(everyone.values())
            known = self._mask = everyone, mask
        return known[1]

    def _secret_of(self, book: Gradebook) -> str:
        if not self._secret:
            known = book.setting(_PSEUDONYMS)
            if not isinstance(known, str):
                known = secrets.token_hex(16)
                book.set_setting(_PSEUDONYMS, known, secret=True)
            self._secret = known
        return self._secret

    def shares(self, book: Gradebook) -> Shares | None:
        """Returns how the course divides the answers; None if everything waits for everybody."""
        if self.course is None:
            return None
        plan = self.course.grading_of(self._class.source(book).exam)
        shares = Shares(course=self.course, plan=plan)
        if not (shares.are_divided or shares.have_doubles):
            return None
        return replace(shares, secret=self._secret_of(book))

    def queue(self, book: Gradebook, person: Person) -> QueuePage:
        """Returns the page of all parts."""
        graded = self._class.source(book)
        mine = self.names(book, person).students
        counts = book.decisions.counts(mine if person.sections else None)
        shares = self.shares(book)
        left = self._work.left(book, shares, mine, person) if shares else {}
        parts = tuple(one.part for one in counts)
        return QueuePage(
            title=graded.title,
            mine=tuple(one for one in counts if one.part in left and left[one.part].mine),
            differ=tuple(one for one in counts if one.part in left and left[one.part].differ),
            waiting=tuple(one for one in counts if one.waiting),
            others=tuple(one for one in counts if not one.waiting),
            left=left,
            divided=shares is not None and shares.are_divided,
            unknown=shares.unknown_parts(parts) if shares else (),
            opinions=tuple(d for d in book.decisions.opinions() if d.student in mine),
            students=len(mine),
        )

    def rows(self, book: Gradebook, names: Names) -> list[Row]:
        """Returns a row for every student that the reader may see."""
        rows = self._class.read(book)
        return [row for row in rows.values() if row.student.id in names.students]

    def student(self, book: Gradebook, id_: str, names: Names, person: Person) -> StudentPage:
        """Returns the page of one student. Raises SetupError for an unknown student."""
        row = self._class.read(book).get(id_)
        if row is None:
            raise SetupError(f"there is no student '{id_}' here", fix="go back to the list")
        history: dict[str, list[Decision]] = {}
        for decision in book.decisions.history(id_):
            history.setdefault(decision.name, []).append(decision)
        own = book.grade(id_)
        cells, missing = _cells_of(book, row)
        if names.secret:  # the texts of a notebook name its student
            code = (cell for cell in cells if cell.type == "code")
            cells = tuple(replace(cell, source=names.hide(cell.source, id_)) for cell in code)
            row = replace(row, warnings=tuple(names.hide(one, id_) for one in row.warnings))
            missing = names.hide(missing, id_)
        return StudentPage(
            row=row,
            shown=names.shown(id_),
            parts={mark.name: PartId(mark.problem, mark.part) for mark in row.marks},
            decisions={name: tuple(found) for name, found in history.items()},
            engine_points={mark.name: mark.points for mark in own.marks} if own else {},
            states={mark.name: state_of(id_, mark) for mark in own.marks} if own else {},
            new_answers=_new_answers(book, id_, history),
            marks=_marks_for(person, book.double.of_students([id_])),
            attempts=len(book.submissions(id_)),
            cells=cells,
            missing_notebook=missing,
        )


def _marks_for(person: Person, marks: tuple[IndependentMark, ...]) -> tuple[IndependentMark, ...]:
    answers: dict[tuple[str, str], list[IndependentMark]] = {}
    for one in marks:
        answers.setdefault((one.name, one.key), []).append(one)
    return tuple(one for mine in answers.values() for one in visible_marks(mine, person.id))


def state_of(student: str, mark: Mark) -> str:
    """Returns the state of an answer, as in `PartAnswer`."""
    return PartAnswer(
        student=student,
        name=mark.name,
        kind=mark.kind,
        points=mark.points,
        max_points=mark.max_points,
        verdict=mark.verdict.value,
        mistake=mark.mistake,
        answer=mark.answer or "",
        feedback=mark.feedback,
    ).state


def _new_answers(
    book: Gradebook, student: str, history: Mapping[str, list[Decision]]
) -> frozenset[str]:
    """Returns the answers that changed after the decision that counts."""
    filed = [(one.at, {m.name: m.answer for m in one.grade.marks}) for one in book.history(student)]
    found = set()
    for name, decisions in history.items():
        counts = next((one for one in decisions if not one.undone), None)
        if counts is not None and filed:
            before = [answers.get(name) for at, answers in filed if at <= counts.at]
            if before and before[-1] != filed[-1][1].get(name):
                found.add(name)
    return frozenset(found)


def _cells_of(book: Gradebook, row: Row) -> tuple[tuple[Cell, ...], str]:
    """Returns the cells of the notebook that the marks are for, or why there are none."""
    sha256 = row.grade.submission_sha256 if row.grade else None
    mine = [one for one in book.submissions(row.student.id) if one.sha256 == sha256]
    if not mine:
        return (), "There is no notebook."
    try:
        notebook = read_notebook(load_submission(mine[-1]))
    except GraderError as error:
        return (), f"The notebook can't be shown: {error.what}."
    return notebook.cells, ""
