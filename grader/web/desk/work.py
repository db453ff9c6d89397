"""Counts what waits for each person; reads only the students whose results changed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from grader.gradebook import Gradebook
from grader.model import Student
from grader.model.desk import PartId
from grader.web.desk.class_rows import StudentCache
from grader.web.desk.groups import answer_key
from grader.web.desk.roles import Capability
from grader.web.desk.sessions import Person
from grader.web.desk.shares import Shares


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAnswer:
    """An answer that still has no points."""

    part: PartId
    people: frozenset[str]
    """Who graded it independently."""
    graders: tuple[str, ...]
    """Whose share it is in; nobody's in particular if empty."""


@dataclass(slots=True, kw_only=True)
class OpenCounts:
    """How many answers to one part wait for a person, by what the person has to do with them."""

    mine: int = 0
    """In the person's share."""
    others: int = 0
    """In shares of others, or in nobody's."""
    differ: int = 0
    """Graded by two others who differ."""
    not_for_person: int = 0
    """Not for this person to grade: they wait for the second mark, or for somebody to decide."""

    def add(self, answer: OpenAnswer, person: Person) -> None:
        """Counts *answer* once, by what *person* has to do with it."""
        has_graded = person.id in answer.people
        may_settle = not has_graded or person.may(Capability.SETTLE)
        if len(answer.people) > 1 and may_settle:
            self.differ += 1
        elif has_graded:
            self.not_for_person += 1
        elif person.id in answer.graders:
            self.mine += 1
        else:
            self.others += 1


@dataclass(slots=True)
class OpenWork:
    """The open answers of one gradebook. Any thread may read them."""

    _answers: StudentCache[OpenAnswer] = field(default_factory=StudentCache)

    def count_by_part(
        self, book: Gradebook, shares: Shares, students: Mapping[str, Student], person: Person
    ) -> dict[PartId, OpenCounts]:
        """Returns how many answers of *students* wait for *person*, by part."""
        counts: dict[PartId, OpenCounts] = {}
        sections = {id_: student.section for id_, student in students.items()}
        read = partial(_read_open_answers, book, shares, students)
        for answer in self._answers.entries_for(book, sections, read):
            counts.setdefault(answer.part, OpenCounts()).add(answer, person)
        return counts


def _read_open_answers(
    book: Gradebook, shares: Shares, students: Mapping[str, Student], changed: Collection[str]
) -> Iterator[tuple[str, OpenAnswer]]:
    """Yields each open answer of the *changed* students, with its student's id."""
    people: dict[tuple[str, str, str], set[str]] = {}
    for mark in book.double.of_students(changed):
        people.setdefault((mark.student, mark.name, mark.key), set()).add(mark.by)
    for student, part, name, text in book.answers.waiting(changed):
        key = answer_key(text)
        by = people.get((student, name, key), set())
        assigned = shares.graders_of(part, key, students[student].section)
        yield student, OpenAnswer(part=part, people=frozenset(by), graders=assigned)
