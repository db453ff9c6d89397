"""What each page of the desk shows, read from the gradebook."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.model import Student
from grader.model.course import Course
from grader.model.desk import Decision, PartCount, PartId
from grader.model.requests import RequestState
from grader.model.result import Row
from grader.web.desk.class_rows import ClassRows, StudentCache
from grader.web.desk.masking import Mask
from grader.web.desk.sessions import Person
from grader.web.desk.shares import OpenCounts, OpenWork, Shares

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

    def label_of(self, id_: str) -> str:
        """Returns the student's name and id, or the pseudonym."""
        if self.secret:
            return pseudonym(self.secret, id_)
        name = self.students[id_].name if id_ in self.students else ""
        return f"{name} ({id_})" if name else id_

    @property
    def ids(self) -> list[str]:
        """The ids of the students, in the order of their addresses, because the order of the ids
        tells which pseudonym is whose."""
        return sorted(self.students, key=self.address)

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
        """Returns *text* with pseudonyms for the ids, names, and emails of students, if names are
        hidden; *of* is the id of the student who wrote the text, or whom it is about."""
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
    'student-d0467f86'
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
    open_counts: Mapping[PartId, OpenCounts]
    """What waits for the reader, by part; empty if everything waits for everybody."""
    is_divided: bool
    unknown_parts: tuple[str, ...]
    """Parts in the course file that nobody was asked."""
    opinions: tuple[Decision, ...]
    """Decisions that somebody wants looked at again."""
    outdated_decisions: tuple[Decision, ...]
    """Decisions whose answer or automatic grade has changed since."""
    requests: int
    students: int
    refused: int
    """How many students have a notebook that can't be read and that is not graded completely."""

    @property
    def next(self) -> PartId | None:
        """The part to grade next: one with answers in the reader's share, if there is one."""
        first = (*self.mine, *self.differ, *(count for count in self.waiting if self.waits(count)))
        return first[0].part if first else None

    @property
    def unread(self) -> int:
        """How many answers the reader could grade now."""
        return sum(self.waits(count) for count in self.waiting)

    def waits(self, part: PartCount) -> int:
        """Returns how many answers to *part* the reader could grade now."""
        counts = self.open_counts.get(part.part)
        return part.waiting - counts.not_for_person if counts else part.waiting


@dataclass(slots=True)
class Desk:
    """The pages of one results folder."""

    out: Path
    anonymous: bool = False
    course: Course | None = None
    """Who grades what; nothing is divided without it."""
    _work: OpenWork = field(default_factory=OpenWork, repr=False)
    _outdated_decisions: StudentCache[Decision] = field(default_factory=StudentCache, repr=False)
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
        secret = self._ensure_secret(book)
        return Names(students=students, secret=secret, mask=self._make_mask(everyone, secret))

    def _make_mask(self, everyone: Mapping[str, Student], secret: str) -> Mask:
        """Returns the mask of the names of *everyone*, which is kept until they change."""
        cached = self._mask
        if cached is None or cached[0] is not everyone:
            mask = Mask(partial(pseudonym, secret))
            mask.add(everyone.values())
            cached = self._mask = everyone, mask
        return cached[1]

    def _ensure_secret(self, book: Gradebook) -> str:
        """Returns the secret for pseudonyms, which is made and stored at the first call."""
        if not self._secret:
            secret = book.setting(_PSEUDONYMS)
            if not isinstance(secret, str):
                secret = secrets.token_hex(16)
                book.set_setting(_PSEUDONYMS, secret, secret=True)
            self._secret = secret
        return self._secret

    def shares(self, book: Gradebook) -> Shares | None:
        """Returns how the course divides the answers; None if everything waits for everybody."""
        if self.course is None:
            return None
        plan = self.course.grading_of(self._class.source(book).exam)
        shares = Shares(course=self.course, plan=plan)
        if not (shares.are_divided or shares.have_doubles):
            return None
        return replace(shares, secret=self._ensure_secret(book))

    def queue(self, book: Gradebook, person: Person) -> QueuePage:
        """Returns the page of all parts, with what waits for *person*."""
        source = self._class.source(book)
        students = self.names(book, person).students
        counts = book.answers.counts(students if person.sections else None)
        shares = self.shares(book)
        open_counts = self._work.count_by_part(book, shares, students, person) if shares else {}
        parts = tuple(count.part for count in counts)
        opinions = book.decisions.list_second_opinions()
        return QueuePage(
            title=source.title,
            mine=tuple(c for c in counts if c.part in open_counts and open_counts[c.part].mine),
            differ=tuple(c for c in counts if c.part in open_counts and open_counts[c.part].differ),
            waiting=tuple(count for count in counts if count.waiting),
            others=tuple(count for count in counts if not count.waiting),
            open_counts=open_counts,
            is_divided=shares is not None and shares.are_divided,
            unknown_parts=shares.unknown_parts(parts) if shares else (),
            opinions=tuple(opinion for opinion in opinions if opinion.student in students),
            outdated_decisions=self._find_outdated_decisions(book, students),
            requests=sum(
                request.student in students and request.state is RequestState.OPEN
                for request in book.requests.every()
            ),
            students=len(students),
            refused=len(book.answers.unreadable_students() & students.keys()),
        )

    def _find_outdated_decisions(
        self, book: Gradebook, students: Collection[str]
    ) -> tuple[Decision, ...]:
        """Returns the decisions whose answer or automatic grade has changed since, oldest
        first."""

        def read(changed: Collection[str]) -> Iterator[tuple[str, Decision]]:
            yield from ((one.student, one) for one in book.decisions.list_outdated(changed))

        decisions = self._outdated_decisions.entries_for(book, dict.fromkeys(students), read)
        return tuple(sorted(decisions, key=lambda decision: decision.number))

    def row(self, book: Gradebook, id_: str) -> Row | None:
        """Returns the row of one student; None for an unknown one."""
        return self._class.read(book).get(id_)

    def rows(self, book: Gradebook, names: Names) -> list[Row]:
        """Returns a row for every student that the reader may see, in the order of the list."""
        rows = self._class.read(book)
        mine = rows.keys() & names.students.keys()
        return [rows[id_] for id_ in sorted(mine, key=names.label_of)]
