"""A class's totals as CSV: one line per student, with points by problem and part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from grader.integrations.base import ClassExporter
from grader.integrations.results import warning_notes
from grader.model.exported import ClassResults, Exported, Result
from grader.model.result import Feedback, Standing
from grader.text.spreadsheet import csv_line, escape_cell
from grader.text.words import join_names, points

FILE = "results.csv"
_HEAD = (
    "student", "name", "email", "section", "standing", "complete", "total", "so_far", "max",
)  # fmt: skip

_DEDUCTION = ("raw", "deduction", "why")
"""More columns, if the course deducts points from anybody."""


class _Column(NamedTuple):
    number: int
    problem: str
    place: int
    """The position among the problem's columns; 0 for the whole problem."""
    name: str


@dataclass(frozen=True, kw_only=True)
class Csv(ClassExporter):
    """Write results.csv: names, sections, totals, and points by problem and by part.

    If points are still open, their cells and the total are empty. The total is what counts after
    deductions; if there are any, further columns have the points before and the reason.
    """

    out = "{results}/exports"
    examples = (
        "grader export csv results",
        "grader export csv results --student ada --student bo",
    )

    def export(self, subject: ClassResults) -> Exported:
        """Returns `results.csv`. Cells of open points are empty, and so are totals with them.

        `so_far` is the sum over settled parts. Lines end with LF; the encoding is UTF-8 with a
        byte order mark, which Excel needs.
        """
        everybody = subject.results
        every = [dict(_iter_points(result.feedback)) for result in everybody]
        # Problems drawn from one pool are adjacent.
        columns = sorted({column for known in every for column in known})
        problems = {(column.number, column.problem) for column in columns}
        times = Counter(number for number, _ in problems)
        titles = (f"{c.name} ({c.problem})" if times[c.number] > 1 else c.name for c in columns)
        deducts = any(result.feedback.deduction for result in everybody)
        deduction_titles = _DEDUCTION if deducts else ()
        table = [csv_line([*_HEAD, *map(escape_cell, titles), *deduction_titles])]
        for result, known in zip(everybody, every, strict=True):
            cells = (points(known.get(column)) for column in columns)
            taken = _deduction_cells(result.feedback) if deducts else ()
            table.append(csv_line([*_student_cells(result.feedback), *cells, *taken]))
        data = ("\ufeff" + "\n".join(table) + "\n").encode("utf-8", "replace")
        return Exported(files={FILE: data}, notes=tuple(_standing_notes(everybody)))


def _student_cells(feedback: Feedback) -> list[str]:
    student, total = feedback.student, feedback.total
    final = total is not None and feedback.complete
    return [
        *(escape_cell(cell) for cell in (student.id, student.name, student.email, student.section)),
        feedback.standing.value,
        "yes" if final else "no",
        points(total) if final else "",
        points(total),
        points(feedback.max_score),
    ]


def _deduction_cells(feedback: Feedback) -> tuple[str, str, str]:
    taken = feedback.deduction
    if taken is None:
        return points(feedback.total), "", ""
    return points(feedback.raw_score), points(taken.points), escape_cell(taken.why)


def _iter_points(feedback: Feedback) -> Iterator[tuple[_Column, float | None]]:
    for problem in feedback.problems:
        whole = _Column(problem.number, problem.id, 0, f"q{problem.number}")
        yield whole, None if problem.unsettled else problem.points
        for place, part in enumerate(problem.parts, start=1):
            yield _Column(problem.number, problem.id, place, part.name), part.points


def _standing_notes(everybody: Iterable[Result]) -> Iterator[str]:
    every = [result.feedback for result in everybody]
    nothing = [feedback for feedback in every if feedback.total is None]
    waiting = [
        feedback.student.id
        for feedback in every
        if feedback.total is not None and not feedback.complete
    ]
    if waiting:
        names = join_names(waiting)
        yield f"no total yet for {names}: the column so_far has the settled points"
    if exempt := join_names(
        feedback.student.id for feedback in nothing if feedback.standing is Standing.EXEMPT
    ):
        yield f"no total for {exempt}: exempt"
    for standing in (Standing.MISSING, Standing.REFUSED, Standing.WAITING, Standing.OPEN):
        names = join_names(
            feedback.student.id for feedback in nothing if feedback.standing is standing
        )
        if names:
            yield f"no points for {names}: {standing.value}; decide whether this counts as zero"
    yield from warning_notes(everybody)
