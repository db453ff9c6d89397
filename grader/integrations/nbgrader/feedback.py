"""What a student may see of the results of an nbgrader assignment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from grader.gradebook import Gradebook
from grader.grading.reveal import run_summary
from grader.grading.sources import ResultSource
from grader.integrations.nbgrader.assignment import Assignment
from grader.integrations.nbgrader.source import release_of, stored_assignment
from grader.model import Evidence, Mark
from grader.model.records import field_values
from grader.model.result import (
    Feedback,
    Row,
    RunSummary,
    ShownPart,
    ShownProblem,
    StudentResult,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedAssignment(ResultSource):
    """Results of an assignment, explained with the stored cells."""

    assignment: Assignment

    def max_points(self, student: str) -> float:  # noqa: ARG002
        """Returns the assignment's maximum, the same for all students."""
        return self.assignment.max_points

    def feedback_for(
        self, row: Row, *, published: bool, evidence: Evidence | None = None
    ) -> Feedback:
        """Returns points and feedback for each cell; with the tests' messages if *published*."""
        runs = [evidence] if evidence is not None else list(self._load_runs(row))
        return Feedback(
            **field_values(row, StudentResult),
            exam=self.exam,
            title=self.title,
            release=self.release,
            is_published=published,
            problems=tuple(self._iter_problems(row)),
            run=_run_summary(runs[0], published=published) if len(runs) == 1 else None,
        )

    def _load_runs(self, row: Row) -> Iterator[Evidence]:
        """Yields the stored evidence of each notebook that the grade in *row* is based on."""
        named = row.grade.environment.get("notebooks") if row.grade else None
        for sha256 in named.values() if isinstance(named, Mapping) else ():
            evidence = self.book.find_evidence(str(sha256))
            if evidence is not None:
                yield evidence

    def _iter_problems(self, row: Row) -> Iterator[ShownProblem]:
        for number, notebook in enumerate(self.assignment.notebooks, 1):
            parts = [_shown_part(mark) for mark in row.marks if mark.problem == notebook.name]
            if parts:
                name = notebook.name
                yield ShownProblem(number=number, id=name, title=name, parts=tuple(parts))


def graded_assignment(book: Gradebook) -> GradedAssignment:
    """Returns the assignment of the results in *book*. Raises SetupError if it can't be read."""
    assignment = stored_assignment(book)
    return GradedAssignment(
        book=book,
        assignment=assignment,
        exam=assignment.name,
        title=assignment.name,  # it has no separate title
        release=release_of(assignment),
        students=book.students(),
    )


def _shown_part(mark: Mark) -> ShownPart:
    """Returns what a student sees of *mark*."""
    return ShownPart(
        id=mark.part,
        name=mark.name,
        kind=mark.kind,
        ask="",
        answer=mark.answer,
        verdict=mark.verdict,
        why=mark.feedback,
        look_at="",
        points=mark.points,
        max_points=mark.max_points,
    )


def _run_summary(evidence: Evidence, *, published: bool) -> RunSummary:
    """Returns how the notebook ran, at first without messages, which could reveal a test."""
    if published:
        return run_summary(evidence)
    test_cells = {answer.raw.get("index") for answer in evidence.answers.values() if answer.raw}
    cells = tuple(
        replace(cell, error=cell.error.partition(":")[0])
        if cell.index in test_cells and cell.error
        else cell
        for cell in evidence.cells
    )
    return run_summary(replace(evidence, cells=cells, note=None))
