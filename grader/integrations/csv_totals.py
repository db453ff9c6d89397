"""A class's totals as CSV: one line per student, with points by problem and part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from grader.integrations.base import ClassExporter
from grader.integrations.results import warning_notes
from grader.model.exported import ClassResults, Exported, Result
from grader.model.result import Feedback, Standing
from grader.report.csv_and_json import DEDUCTION_FIELDS, deduction_cells
from grader.text.spreadsheet import csv_line, escape_cell
from grader.text.words import join_names, points

FILE = "results.csv"
_HEAD = (
    "student", "name", "email", "section", "standing", "complete", "total", "so_far", "max",
)  # fmt: skip

_WITHOUT_TOTAL = (
    Standing.EXEMPT, Standing.MISSING, Standing.REFUSED, Standing.WAITING, Standing.OPEN,
)  # fmt: skip


class _Column(NamedTuple):
    number: int
    problem: str
    name: str
    """The name of a part, such as `q1_share`, or of the whole problem, such as `q1`."""


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
        """Returns `results.csv` in UTF-8 with a byte order mark, which Excel needs."""
        everybody = subject.results
        points_by_student = [dict(_iter_points(result.feedback)) for result in everybody]
        columns = _sort_columns(points_by_student)
        problems = {(column.number, column.problem) for column in columns}
        times = Counter(number for number, _ in problems)
        titles = (f"{c.name} ({c.problem})" if times[c.number] > 1 else c.name for c in columns)
        deducts = any(result.feedback.deduction for result in everybody)
        deduction_titles = DEDUCTION_FIELDS if deducts else ()
        table = [csv_line([*_HEAD, *map(escape_cell, titles), *deduction_titles])]
        for result, earned in zip(everybody, points_by_student, strict=True):
            cells = (points(earned.get(column)) for column in columns)
            taken = deduction_cells(result.feedback) if deducts else ()
            table.append(csv_line([*_student_cells(result.feedback), *cells, *taken]))
        data = ("\ufeff" + "\n".join(table) + "\n").encode("utf-8", "replace")
        return Exported(files={FILE: data}, notes=tuple(_standing_notes(everybody)))


def _sort_columns(
    points_by_student: Sequence[Mapping[_Column, float | None]],
) -> list[_Column]:
    """Returns all columns, those of a problem together, in the order in which parts are asked.

    Problems drawn from one pool are adjacent. Parts drawn from one pool have the same column for
    all students, whatever their letter.
    """
    places: dict[_Column, int] = {}
    for earned in points_by_student:
        for place, column in enumerate(earned):
            places[column] = max(place, places.get(column, 0))
    return sorted(places, key=lambda c: (c.number, c.problem, places[c], c.name))


def _student_cells(feedback: Feedback) -> list[str]:
    """Returns the first cells of a student's line, in the order of `_HEAD`."""
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


def _iter_points(feedback: Feedback) -> Iterator[tuple[_Column, float | None]]:
    """Yields the column of each problem and part with its points; None if they are open."""
    for problem in feedback.problems:
        whole = _Column(problem.number, problem.id, f"q{problem.number}")
        yield whole, None if problem.unsettled else problem.points
        for part in problem.parts:
            yield _Column(problem.number, problem.id, part.name), part.points


def _standing_notes(everybody: Iterable[Result]) -> Iterator[str]:
    """Yields notes that name the students without a total, and the warnings about their files."""
    feedbacks = [result.feedback for result in everybody]
    waiting = join_names(f.student.id for f in feedbacks if f.total is not None and not f.complete)
    if waiting:
        yield f"no total yet for {waiting}: the column so_far has the settled points"
    for standing in _WITHOUT_TOTAL:
        names = join_names(
            f.student.id for f in feedbacks if f.total is None and f.standing is standing
        )
        if names and standing is Standing.EXEMPT:
            yield f"no total for {names}: exempt"
        elif names:
            yield f"no points for {names}: {standing.value}; decide whether this counts as zero"
    yield from warning_notes(everybody)
