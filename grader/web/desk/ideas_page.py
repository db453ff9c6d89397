"""The page of the wrong ideas of a class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.model import Mark
from grader.model.result import Row
from grader.web.desk.calls import DeskCall
from grader.web.desk.idea_search import FEWEST, LEAST, IdeaSearch, Search

_EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeasPage:
    """What the newest search has found; *search* is None before the first one."""

    search: Search | None
    is_outdated: bool = False
    """Whether automatic grades have changed since it began."""
    rows: Mapping[str, Row] = field(default_factory=dict)
    """The students that the reader may see, for examples."""
    least: int = LEAST

    @property
    def parts(self) -> list[Mapping[str, Any]]:
        """The parts with ideas, in the order of the exam, as in `Search.parts`."""
        return [part for part in (self.search.parts if self.search else ()) if part["ideas"]]

    @property
    def explained_count(self) -> int:
        """How many wrong answers the ideas explain."""
        return sum(len(idea["students"]) for part in self.parts for idea in part["ideas"])

    @property
    def wrong(self) -> int:
        """How many wrong numbers were searched."""
        return sum(part["wrong"] for part in self.search.parts) if self.search else 0

    @property
    def ideas(self) -> int:
        """How many ideas were found."""
        return sum(len(part["ideas"]) for part in self.parts)

    @property
    def fewest(self) -> int:
        """The minimum number of students to propose."""
        return self.search.fewest if self.search else FEWEST

    def examples(self, part: Mapping[str, Any], idea: Mapping[str, Any]) -> list[tuple[str, Mark]]:
        """Returns a few students who have the idea, with their marks of the part."""
        # In the order of the rows: that of the ids tells something about pseudonyms.
        students = set(idea["students"])
        known = [id_ for id_ in self.rows if id_ in students][:_EXAMPLES]
        place = (part["problem"], part["part"])
        marks = ((id_, mark) for id_ in known for mark in self.rows[id_].marks)
        return [(id_, mark) for id_, mark in marks if (mark.problem, mark.part) == place]


def ideas_page(call: DeskCall, searches: IdeaSearch) -> IdeasPage:
    """Returns the page with the newest search, and examples from the current marks."""
    search = searches.newest()
    if search is None or search.running:
        return IdeasPage(search=search)
    rows = call.desk.rows(call.book, call.names) if search.parts else []
    return IdeasPage(
        search=search,
        is_outdated=search.signature != call.book.answers.grades_signature(),
        rows={row.student.id: row for row in rows},
    )
