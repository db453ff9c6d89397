"""Exports a set as an nbgrader assignment: the source notebook, and the students' notebook."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from grader.bank.folders import Bank
from grader.errors import SetupError
from grader.integrations.base import QuizExporter, option
from grader.integrations.lms.quizzes.supported_parts import fit_quiz, loss_notes
from grader.integrations.nbgrader.assignment import SourceCell
from grader.integrations.nbgrader.course import require_usual_regions
from grader.integrations.nbgrader.making.answers import iter_losses, unfit_reason
from grader.integrations.nbgrader.making.cells import notebook_cells
from grader.integrations.nbgrader.metadata import cell_metadata
from grader.integrations.nbgrader.regions import clear_answers, released_cell
from grader.integrations.nbgrader.version import make_version
from grader.model.exported import Exported
from grader.model.quiz import Quiz
from grader.notebook import Cell, write
from grader.notebook.cells import CellType
from grader.text.escape import escape_controls

STUDENTS = "students"
"""Not `release`, because nbgrader does not regenerate an assignment that exists there."""
_ABOUT = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclass(frozen=True, kw_only=True)
class Nbgrader(QuizExporter):
    """Write the set SET as the assignment SET-NAME of an nbgrader course, for --version NAME.

    --out is the folder of the course, which contains source/. Hidden tests give partial credit by
    the same ranges, letters and rules. Parts that nbgrader can't test, such as code, are an error;
    with --leave-out, they are dropped and listed.
    """

    out = ""
    examples = (
        "grader export nbgrader midterm --version A --out course --private-key SECRET --leave-out",
        "cd course && nbgrader generate_assignment midterm-A",
    )
    version: str = option(
        metavar="NAME",
        help="Version, such as A or B. Everyone who gets the same version has the same numbers.",
    )

    def quiz(self, bank: Bank, wanted: str) -> Quiz:
        """Draws one version of the set; see `make_version`."""
        return make_version(bank, wanted, self.version, self.private_key)

    def check_target(self, subject: Quiz, out: Path) -> None:
        """Raises SetupError if the course has unusual regions or the assignment exists already."""
        require_usual_regions(out)
        source = out / "source" / f"{subject.id}-{self.version}"
        if self.private_key is None and source.exists():
            raise SetupError(
                f"'{source}' exists already, and would get different numbers",
                fix="use the --private-key that it was made with, or choose another --version",
            )

    def public(self, name: str) -> bool:
        """Returns True for the students' notebook, False for the source with the hidden tests."""
        return name.startswith(f"{STUDENTS}/")

    def export(self, subject: Quiz) -> Exported:
        """Returns the source notebook and the students' notebook."""
        return nbgrader_assignment(
            subject, f"{subject.id}-{self.version}", leave_out=self.leave_out
        )


def nbgrader_assignment(quiz: Quiz, assignment: str, *, leave_out: bool = False) -> Exported:
    """The files of the assignment in a course, and notes on what nbgrader can't represent.

    Raises SetupError if a number has several questions, which a notebook can't draw from, and for
    parts that nbgrader's tests can't grade, unless *leave_out* is True.
    """
    drawn = [f"{pool.number}" for pool in quiz.pools if len(pool.questions) > 1]
    if drawn:
        raise SetupError(
            f"nbgrader gives all students the same notebook, and '{quiz.id}' has several questions "
            f"at number {', '.join(drawn)}",
            fix="draw one version of the set: `grader export nbgrader SET --version A`",
        )
    fitted = fit_quiz(quiz, "nbgrader", unfit_reason, leave_out=leave_out)
    # Clean the text first, because nbgrader's checksums are computed from the written text.
    source = [replace(cell, source=escape_controls(cell.source)) for cell in notebook_cells(fitted)]
    released = [released_cell(clear_answers(cell)) for cell in source]
    return Exported(
        files={
            f"source/{assignment}/{quiz.id}.ipynb": _notebook_bytes(source, released=False),
            f"{STUDENTS}/{assignment}/{quiz.id}.ipynb": _notebook_bytes(released, released=True),
        },
        notes=(*fitted.notes, *loss_notes(fitted, iter_losses), _WHERE, _WHO),
    )


_WHERE = (
    f"the notebook in {STUDENTS}/ is what `nbgrader generate_assignment` makes from the one in "
    "source/; if nbgrader will grade it, run that command as well, because it records the cells"
)
_WHO = (
    "nbgrader runs the hidden tests in the student's kernel, where a malicious notebook can read "
    "and bypass them; this grader's own notebooks do not have this weakness"
)


def _notebook_bytes(cells: list[SourceCell], *, released: bool) -> bytes:
    written = [
        Cell(
            type=cast("CellType", cell.type),
            source=cell.source,
            id=f"{number}-{cell.grade_id}"[:64].rstrip("-_"),
            metadata=cell_metadata(cell, released=released),
        )
        for number, cell in enumerate(cells, 1)
    ]
    return write(written, _ABOUT)
