"""A class's totals as CSV: one line per student, with points by problem and part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.integrations.base import ClassExporter
from grader.integrations.results import join_names, warning_notes
from grader.model.exported import ClassResults, Exported, Result
from grader.model.result import Feedback, ShownProblem, Standing
from grader.text.spreadsheet import csv_line, escape_cell
from grader.words import points

FILE = "results.csv"
_HEAD = (
    "student", "name", "email", "section", "standing", "complete", "total", "so_far", "max",
)  # fmt: skip

# A problem or a part: number, position among the number's columns, problem's id, name.
_Column = tuple[int, int, str, str]


@dataclass(frozen=True, kw_only=True)
class Csv(ClassExporter):
    """Write results.csv: names, sections, totals, and points by problem and by part.

    If points are still open, their cells and the total are empty.
    """

    out = "{results}/exports"
    examples = (
        "grader export csv results",
        "grader export csv results --student ada --student bo",
    )

    def export(self, subject: ClassResults) -> Exported:
        """Returns `results.csv`."""
        return totals_csv(subject)


def totals_csv(results: ClassResults) -> Exported:
    """Returns the table. Cells of open points are empty, and so are totals that include them.

    `so_far` is the sum over settled parts. Lines end with LF; the encoding is UTF-8 with a byte
    order mark, which Excel needs.
    """
    everybody = results.results
    columns = _sorted_columns(everybody)
    header = [*_HEAD, *(escape_cell(title) for title in _column_titles(columns))]
    table = [csv_line(header)]
    for result in everybody:
        known = dict(_iter_points(result.feedback))
        table.append(
            csv_line([*_student_cells(result.feedback), *(points(known.get(c)) for c in columns)])
        )
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


def _iter_points(feedback: Feedback) -> Iterator[tuple[_Column, float | None]]:
    for problem in feedback.problems:
        yield _problem_column(problem), None if problem.unsettled else problem.points
        for place, part in enumerate(problem.parts, start=1):
            yield (problem.number, place, problem.id, part.name), part.points


def _problem_column(problem: ShownProblem) -> _Column:
    return problem.number, 0, problem.id, f"q{problem.number}"


def _sorted_columns(everybody: Iterable[Result]) -> list[_Column]:
    """One column for every problem and part that any student has, in the exam's order."""
    found = {column for result in everybody for column, _ in _iter_points(result.feedback)}
    # Problems drawn from one pool are adjacent.
    return sorted(found, key=lambda column: (column[0], column[2], column[1], column[3]))


def _column_titles(columns: Iterable[_Column]) -> Iterator[str]:
    listing = list(columns)
    asked: dict[int, set[str]] = {}
    for number, _, problem, _ in listing:
        asked.setdefault(number, set()).add(problem)
    for number, _, problem, name in listing:
        yield f"{name} ({problem})" if len(asked[number]) > 1 else name


def _standing_notes(everybody: Iterable[Result]) -> Iterator[str]:
    nothing = [r.feedback for r in everybody if r.feedback.total is None]
    waiting = [
        r.feedback for r in everybody if r.feedback.total is not None and not r.feedback.complete
    ]
    if waiting:
        names = join_names(one.student.id for one in waiting)
        yield f"no total yet for {names}: the column so_far has the settled points"
    for standing in (Standing.MISSING, Standing.REFUSED, Standing.WAITING, Standing.OPEN):
        names = join_names(one.student.id for one in nothing if one.standing is standing)
        if names:
            yield f"no points for {names}: {standing.value}; decide whether this counts as zero"
    yield from warning_notes(everybody)
