"""Which answers are whose to grade, alone or independently of another, and how many wait."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from grader.gradebook import Gradebook
from grader.model import Student
from grader.model.course import Course, GradingPlan, Role
from grader.model.desk import PartId
from grader.web.desk.class_rows import StudentCache
from grader.web.desk.groups import answer_key
from grader.web.desk.sessions import Capability, Person

_ALL = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The division of one set's answers among the staff.

    It depends only on the course file, the part, and the answer. If somebody leaves, only their
    answers move, evenly to the others.
    """

    course: Course
    plan: GradingPlan
    secret: str = field(default="", repr=False)
    """The key of all choices, so that nobody can tell from an answer who will grade it."""

    @property
    def are_divided(self) -> bool:
        """Whether answers are assigned to people."""
        return self.plan.divide is not None

    @property
    def have_doubles(self) -> bool:
        """Whether two people grade some answers."""
        return bool(self.plan.double or self.plan.double_parts)

    def is_double(self, part: PartId, key: str) -> bool:
        """Returns whether two people grade the answer with digest *key* independently."""
        if part.problem in self.plan.double_parts or str(part) in self.plan.double_parts:
            return True
        return self._draw_number("double", part, key) < self.plan.double * _ALL

    def graders_of(self, part: PartId, key: str, section: str = "") -> tuple[str, ...]:
        """Returns who grades the answer with digest *key* in *section*; empty if anybody may."""
        if self.plan.divide is None:
            return ()
        people = self._candidates(part, section)
        count = 2 if self.is_double(part, key) else 1
        if people and len(people) < count:
            people = tuple(dict.fromkeys([*people, *self._other_graders(section)]))
        return tuple(sorted(people, key=lambda id_: self._draw_number(id_, part, key))[:count])

    def unknown_parts(self, parts: Iterable[PartId]) -> tuple[str, ...]:
        """Returns the parts that the plan names and that are not among *parts*."""
        part_names = {text for part in parts for text in (str(part), part.problem)}
        planned_names = dict.fromkeys([*self.plan.parts, *self.plan.double_parts])
        return tuple(one for one in planned_names if one not in part_names)

    def _candidates(self, part: PartId, section: str) -> tuple[str, ...]:
        """Returns who may grade *part* for students in *section*."""
        everybody = self.course.graders_of(self.plan)
        if self.plan.divide == "parts":
            return self.plan.parts.get(str(part), self.plan.parts.get(part.problem, ()))
        if self.plan.divide == "sections":
            return tuple(p for p in everybody if section in self.course.staff[p].sections)
        return tuple(p for p in everybody if self._may_see(p, section))

    def _other_graders(self, section: str) -> tuple[str, ...]:
        able = (id_ for id_, member in self.course.staff.items() if member.role is Role.GRADER)
        return tuple(id_ for id_ in able if self._may_see(id_, section))

    def _may_see(self, person: str, section: str) -> bool:
        sections = self.course.staff[person].sections
        return not sections or section in sections

    def _draw_number(self, what: str, part: PartId, key: str) -> int:
        """Returns a number below 2^64 that is the same for the same arguments, and else random."""
        text = "\0".join((what, str(part), key)).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=8, key=self.secret.encode()[:64])
        return int.from_bytes(digest.digest(), "big")


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
