"""The page of the wrong ideas of a class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grader.gradebook import Gradebook
from grader.model import Mark
from grader.model.desk import PartId
from grader.model.result import Row
from grader.web.desk.idea_search import FEWEST, LEAST, IdeaSearch, Search
from grader.web.desk.pages import Desk, Names

_EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaExample:
    """The answer of a student who has an idea."""

    student: str
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownIdea:
    """An expression that explains the wrong answers of some students."""

    expression: str
    when: str
    """The condition for variants in which it differs from the right answer; empty if all do."""
    students: int
    by_chance: float
    """The share of other students' numbers with which it explains these answers as well."""
    yaml: str
    """A mistake to add to the problem."""
    examples: tuple[IdeaExample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartIdeas:
    """The ideas about one number that a part asks for."""

    part: PartId
    column: str
    """The column of a table; else empty."""
    student_count: int
    wrong: int
    """How many gave a wrong number that no declared mistake explains."""
    ideas: tuple[ShownIdea, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeasPage:
    """What the newest search has found; *search* is None before the first one."""

    search: Search | None
    is_outdated: bool = False
    """Whether automatic grades have changed since it began."""
    parts: tuple[PartIdeas, ...] = ()
    """The parts with ideas, in the order of the exam."""
    least: int = LEAST
    """The smallest minimum number of students to choose."""

    @property
    def explained_count(self) -> int:
        """How many wrong answers the ideas explain."""
        return sum(idea.students for part in self.parts for idea in part.ideas)

    @property
    def wrong(self) -> int:
        """How many wrong numbers were searched."""
        return sum(part["wrong"] for part in self.search.parts) if self.search else 0

    @property
    def ideas(self) -> int:
        """How many ideas were found."""
        return sum(len(part.ideas) for part in self.parts)

    @property
    def fewest(self) -> int:
        """The minimum number of students to propose."""
        return self.search.fewest if self.search else FEWEST


def ideas_page(desk: Desk, book: Gradebook, searches: IdeaSearch, names: Names) -> IdeasPage:
    """Returns the page with the newest search, and examples from the current marks."""
    search = searches.newest()
    if search is None or search.running:
        return IdeasPage(search=search)
    rows = {row.student.id: row for row in desk.rows(book, names)} if search.parts else {}
    return IdeasPage(
        search=search,
        is_outdated=search.signature != book.answers.grades_signature(),
        parts=tuple(_part(part, rows) for part in search.parts if part["ideas"]),
    )


def _part(found: Mapping[str, Any], rows: Mapping[str, Row]) -> PartIdeas:
    part = PartId(found["problem"], found["part"])
    return PartIdeas(
        part=part,
        column=found["column"],
        student_count=found["asked"],
        wrong=found["wrong"],
        ideas=tuple(
            ShownIdea(
                expression=idea["value"],
                when=idea["when"],
                students=len(idea["students"]),
                by_chance=idea["by_chance"],
                yaml=idea["yaml"],
                examples=tuple(_examples(part, idea["students"], rows)),
            )
            for idea in found["ideas"]
        ),
    )


def _examples(
    part: PartId, students: Iterable[str], rows: Mapping[str, Row]
) -> Iterator[IdeaExample]:
    known = [(id_, rows[id_].grade) for id_ in students if id_ in rows]
    for id_, grade in known[:_EXAMPLES]:
        for mark in grade.marks if grade else ():
            if PartId(mark.problem, mark.part) == part:
                yield IdeaExample(student=id_, mark=mark)
