"""Computes the reliability of the totals, if the papers of the class allow it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from grader.model import Mark
from grader.model.grouping import group_by_key
from grader.model.paper import question_number
from grader.model.result import Row, Standing
from grader.report.statistics.reliability import Reliability, reliability

Shape = tuple[tuple[str, float], ...]
"""The items of a paper, each with its maximum points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholePaper:
    """The reliability of the totals, or why it can't be computed."""

    reliability: Reliability | None
    items: str
    """What the items are: "questions" or "parts"."""
    omitted_count: int
    """Students with open marks, who don't count."""
    why_not: str = ""
    """Why the reliability can't be computed; a sentence."""

    def as_data(self) -> dict[str, object]:
        """Returns the reliability as plain data for `--json`."""
        reliability = self.reliability
        return {
            "alpha": reliability.alpha if reliability else None,
            "alpha_interval": list(reliability.interval) if reliability else None,
            "standard_error": reliability.error if reliability else None,
            "students": reliability.students if reliability else 0,
            "items": reliability.items if reliability else 0,
            "items_are": self.items,
            "left_out": self.omitted_count,
            "why_not": self.why_not,
        }


@dataclass(slots=True)
class PaperPoints:
    """The points of each student by question and by part, collected while reading the class."""

    questions: list[tuple[Shape, tuple[float, ...]]] = field(default_factory=list)
    parts: list[tuple[Shape, tuple[float, ...]]] = field(default_factory=list)
    """Only of papers with a single question."""
    omitted_count: int = 0

    def add(self, row: Row) -> None:
        """Adds the points of a student whose marks are all settled."""
        if row.standing not in (Standing.GRADED, Standing.WAITING, Standing.OPEN):
            return
        if row.unsettled or not row.marks:
            self.omitted_count += 1
            return
        by_question = group_by_key((f"q{question_number(m.name)}", m) for m in row.marks)
        self.questions.append(_sum_points(by_question.items()))
        if len(by_question) == 1:
            self.parts.append(
                _sum_points((f"{mark.problem}/{mark.name}", [mark]) for mark in row.marks)
            )

    def whole(self) -> WholePaper:
        """Returns the reliability of the totals, with whole questions as the items.

        The parts of one question share its numbers, so that parts as items would make the totals
        look more reliable than they are. They are the items only if papers have a single question.
        """
        is_single = len(self.parts) == len(self.questions) and bool(self.parts)
        items, papers = ("parts", self.parts) if is_single else ("questions", self.questions)
        why = _describe_obstacle(items, [shape for shape, _ in papers])
        computed = None if why else reliability([points for _, points in papers])
        if not why and computed is None:
            why = "All students have the same total." if len(papers) > 2 else _TOO_FEW
        return WholePaper(
            reliability=computed, items=items, omitted_count=self.omitted_count, why_not=why
        )


_TOO_FEW = "Fewer than three students have a complete grade."


def _sum_points(groups: Iterable[tuple[str, list[Mark]]]) -> tuple[Shape, tuple[float, ...]]:
    """Returns each item with its maximum points, and the points that the student earned."""
    sums = {
        name: (sum(m.max_points for m in marks), sum(m.points or 0.0 for m in marks))
        for name, marks in groups
    }
    counts = {name: pair for name, pair in sums.items() if pair[0] > 0}
    shape = tuple((name, round(max_points, 6)) for name, (max_points, _) in counts.items())
    return shape, tuple(earned for _, earned in counts.values())


def _describe_obstacle(items: str, shapes: list[Shape]) -> str:
    """Returns why alpha can't be computed for papers of these shapes; empty if it can."""
    if len(shapes) < 3:
        return _TOO_FEW
    if len(Counter(shapes)) > 1:
        if items == "parts":
            return "Students answered different parts of a single question."
        return "The papers differ in the number of their questions, or in the points of a question."
    if len(shapes[0]) < 2:
        item = items.removesuffix("s")
        return f"A paper with a single {item} that counts has no reliability of this kind."
    return ""
