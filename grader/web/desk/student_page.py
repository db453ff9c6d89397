"""The page of one student: marks with their evidence, decisions, and the submitted notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.collect import load_submission
from grader.errors import GraderError, SetupError, visible
from grader.gradebook import Gradebook
from grader.model import Grade, Submission
from grader.model.desk import Decision, IndependentMark, PartId, state_of, visible_marks
from grader.model.grouping import group_by_key
from grader.model.result import Row
from grader.notebook import read as read_notebook
from grader.web.desk.calls import DeskCall
from grader.web.desk.pages import Names
from grader.web.desk.sessions import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCell:
    """One cell of the notebook, and what happened when it was executed."""

    number: int
    """Counting all cells of the student's notebooks from 1."""
    type: str
    source: str
    output: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentPage:
    """One student's marks, decisions, attempts, and notebook."""

    row: Row
    label: str
    before: str | None
    """The student before this one in the list; None for the first."""
    after: str | None
    parts: Mapping[str, PartId]
    """By the answer's variable."""
    decisions: Mapping[str, tuple[Decision, ...]]
    """All decisions about each answer, newest first."""
    engine_points: Mapping[str, float | None]
    """The grader's own points, by the answer's variable."""
    states: Mapping[str, str]
    new_answers: frozenset[str]
    """The variables of answers that are not those that a person decided about."""
    marks: tuple[IndependentMark, ...]
    """The independent marks that the reader may see, oldest first."""
    attempts: int
    cells: tuple[ShownCell, ...] = ()
    missing_notebook: str = ""

    def cell_of(self, name: str) -> int | None:
        """Returns the number of the last cell that defines *name*; None if none does."""
        word = re.escape(name)
        pattern = rf"^\s*(?:{word}\s*(?::.*)?=(?!=)|(?:def|class) {word}\b)"
        defines = re.compile(pattern, re.MULTILINE)
        code_cells = (cell for cell in reversed(self.cells) if cell.type == "code")
        return next((one.number for one in code_cells if defines.search(one.source)), None)

    def decision(self, name: str) -> Decision | None:
        """Returns the decision about an answer that counts; None if there is none."""
        return next((one for one in self.decisions.get(name, ()) if not one.is_undone), None)


def student_page(call: DeskCall, id_: str) -> StudentPage:
    """Returns the page of one student. Raises SetupError for an unknown student."""
    book, names = call.book, call.names
    row = call.desk.row(book, id_)
    if row is None:
        raise SetupError(f"there is no student '{id_}' here", fix="go back to the list")
    decisions = book.decisions.history(id_)
    history = group_by_key((decision.name, decision) for decision in decisions)
    own_grade = book.grade(id_)
    ids = [one.student.id for one in call.desk.rows(book, names)]
    index = ids.index(id_)
    cells, why_missing = _read_cells(book, row)
    if names.secret:  # the texts of a notebook name its student
        cells = tuple(_mask_cell(cell, names, id_) for cell in cells if cell.type == "code")
        row = replace(row, warnings=tuple(names.hide(warning, id_) for warning in row.warnings))
        why_missing = names.hide(why_missing, id_)
    return StudentPage(
        row=row,
        label=names.label_of(id_),
        before=ids[index - 1] if index else None,
        after=ids[index + 1] if index + 1 < len(ids) else None,
        parts={mark.name: PartId(mark.problem, mark.part) for mark in row.marks},
        decisions={name: tuple(found) for name, found in history.items()},
        engine_points={mark.name: mark.points for mark in own_grade.marks} if own_grade else {},
        states={mark.name: state_of(mark) for mark in own_grade.marks} if own_grade else {},
        new_answers=_find_new_answers(book, id_, history),
        marks=_select_visible_marks(call.person, book.double.of_students([id_])),
        attempts=len(book.submissions(id_)),
        cells=cells,
        missing_notebook=why_missing,
    )


def _select_visible_marks(
    person: Person, marks: tuple[IndependentMark, ...]
) -> tuple[IndependentMark, ...]:
    answers = group_by_key(((mark.name, mark.key), mark) for mark in marks)
    return tuple(one for mine in answers.values() for one in visible_marks(mine, person.id))


def _find_new_answers(
    book: Gradebook, student: str, history: Mapping[str, list[Decision]]
) -> frozenset[str]:
    """Returns the answers that changed after the decision that counts."""
    filed = [(one.at, {m.name: m.answer for m in one.grade.marks}) for one in book.history(student)]
    new_answers = set()
    for name, decisions in history.items():
        counts = next((decision for decision in decisions if not decision.is_undone), None)
        if counts is not None and filed:
            before = [answers.get(name) for at, answers in filed if at <= counts.at]
            if before and before[-1] != filed[-1][1].get(name):
                new_answers.add(name)
    return frozenset(new_answers)


def _mask_cell(cell: ShownCell, names: Names, student: str) -> ShownCell:
    """Returns *cell* without the names of students in its texts."""
    source, output, trouble = (
        names.hide(text, student) for text in (cell.source, cell.output, cell.trouble)
    )
    return replace(cell, source=source, output=output, trouble=trouble)


def _read_cells(book: Gradebook, row: Row) -> tuple[tuple[ShownCell, ...], str]:
    """Returns the cells of the notebooks that the marks are for, with what their execution printed,
    and why notebooks are missing."""
    sha256 = row.grade.submission_sha256 if row.grade else None
    submissions = [
        submission for submission in book.submissions(row.student.id) if submission.sha256 == sha256
    ]
    if not submissions:
        return (), "There is no notebook."
    cells: list[ShownCell] = []
    troubles = []
    for name, submission in _iter_notebooks(submissions[-1], row.grade):
        try:
            notebook = read_notebook(load_submission(submission))
        except GraderError as error:
            troubles.append(f"{name} can't be shown: {error.what}.")
            continue
        evidence = book.find_evidence(submission.sha256)
        runs = {run.index: run for run in evidence.cells} if evidence else {}
        cells += [
            ShownCell(
                number=len(cells) + at + 1,
                type=cell.type,
                source=cell.source,
                output=visible(runs[at].output) if at in runs else "",
                trouble=runs[at].trouble if at in runs else "",
            )
            for at, cell in enumerate(notebook.cells)
        ]
    return tuple(cells), " ".join(troubles)


def _iter_notebooks(
    submission: Submission, grade: Grade | None
) -> Iterator[tuple[str, Submission]]:
    """Yields what to call each notebook of a graded submission, and the notebook.

    A submission with several notebooks, for nbgrader, is a folder.
    """
    named = grade.environment.get("notebooks") if grade else None
    if not isinstance(named, Mapping) or len(named) < 2:
        yield "The notebook", submission
        return
    for name, sha256 in named.items():
        path = Path(submission.path) / f"{name}.ipynb"
        yield f"The notebook {name}", replace(submission, path=str(path), sha256=str(sha256))
