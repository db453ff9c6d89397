"""Exports a set as an nbgrader assignment: the source notebook, and the students' notebook."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import indent
from typing import cast

from grader.bank.folders import Bank
from grader.draw import paper
from grader.errors import SetupError
from grader.integrations.base import QuizExporter, option
from grader.integrations.lms.quizzes.supported_parts import fit_quiz, loss_notes
from grader.integrations.lms.variants import RANDOM_KEY, quiz_question
from grader.integrations.nbgrader.answer_cells import answer_of, reading_code
from grader.integrations.nbgrader.assignment import SourceCell
from grader.integrations.nbgrader.cells import (
    TEXT_STUB,
    cell_metadata,
    clear_answers,
    released_cell,
)
from grader.integrations.nbgrader.course import require_usual_regions
from grader.model import Paper, Student
from grader.model.exported import Exported
from grader.model.item import ChoiceItem, EssayItem, Item
from grader.model.quiz import Pool, Quiz, QuizPart, QuizQuestion
from grader.notebook import Cell, write
from grader.notebook.cells import CellType
from grader.notebook.render.figure_cells import figure_markdown
from grader.release.file import new_release
from grader.release.rendering import draw_sample, private_key_of
from grader.text.escape import escape_controls
from grader.text.words import points

STUDENTS = "students"
"""Not `release`, because nbgrader does not regenerate an assignment that exists there."""
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_HOW = """\
Every part has an answer cell with one variable. Replace the three dots with your answer, and \
delete the line `raise NotImplementedError()` below it. Do not change variable names or locked \
cells. The cell below each answer checks whether the answer can be read."""
_NOTES = (
    (
        f"the notebook in {STUDENTS}/ is what `nbgrader generate_assignment` makes from the one in "
        "source/; if nbgrader will grade it, run that command as well, because it records the cells"
    ),
    (
        "nbgrader runs the hidden tests in the student's kernel, where a malicious notebook can "
        "read and bypass them; this grader's own notebooks do not have this weakness"
    ),
)
_ALIKE = (
    "nbgrader can't give students individual numbers: everyone who gets this assignment has the "
    "numbers of version {version}; to use more versions, export them with --version"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,30}")


@dataclass(frozen=True, kw_only=True)
class Nbgrader(QuizExporter):
    """Write the set SET as the assignment SET-NAME of an nbgrader course, for --version NAME.

    --out is the folder of the course, which contains source/. Hidden tests give partial credit by
    the same ranges, letters, and rules. Parts that nbgrader can't test, such as code, are an error;
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
        """Draws one version of the set, with numbers that depend on the version and the key."""
        notes = [_ALIKE.format(version=self.version)]
        if self.private_key is None:
            notes.append(RANDOM_KEY)
        drawn = version_paper(bank, wanted, self.version, self.private_key)
        exam = drawn.exam
        return Quiz(
            id=exam.id,
            title=f"{exam.title}, version {self.version}",
            instructions=exam.instructions.strip(),
            minutes=exam.minutes,
            pools=tuple(
                Pool(number=q.number, questions=(quiz_question(q.variant, q.points, 1),))
                for q in drawn.questions
            ),
            notes=tuple(notes),
        )

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
        drawn = [f"{pool.number}" for pool in subject.pools if len(pool.questions) > 1]
        if drawn:
            raise SetupError(
                f"nbgrader gives all students the same notebook, and '{subject.id}' has several "
                f"questions at number {', '.join(drawn)}",
                fix="draw one version of the set: `grader export nbgrader SET --version A`",
            )
        fitted = fit_quiz(subject, "nbgrader", _unfit_reason, leave_out=self.leave_out)
        # Clean the text first, because nbgrader's checksums are computed from the written text.
        source = [replace(c, source=escape_controls(c.source)) for c in notebook_cells(fitted)]
        released = [released_cell(clear_answers(cell)) for cell in source]
        place = f"{subject.id}-{self.version}/{subject.id}.ipynb"
        return Exported(
            files={
                f"source/{place}": _notebook_bytes(source, released=False),
                f"{STUDENTS}/{place}": _notebook_bytes(released, released=True),
            },
            notes=(*fitted.notes, *loss_notes(fitted, _iter_losses), *_NOTES),
        )


def version_paper(bank: Bank, wanted: str, version: str, private_key: str | None = None) -> Paper:
    """Returns the paper of a pseudo-student for the version; raises SetupError for a bad name."""
    if not _NAME.fullmatch(version):
        raise SetupError(
            f"'{version}' is not a valid name of a version",
            fix="use letters, digits, - and _, such as --version A",
        )
    exam = bank.exam(wanted)
    for name in exam.problem_ids:
        draw_sample(bank, name)  # raises, with its line, if it can't be drawn or printed
    student = Student(id=f"version-{version}")
    key = private_key_of(private_key) or secrets.token_bytes(32)
    return paper(new_release(bank, exam, (student,), key), student)


def _unfit_reason(item: Item, _points: float) -> str | None:
    if isinstance(item, ChoiceItem) and not item.several and not any(c.right for c in item.choices):
        return "none of its options is right"
    return None


def _iter_losses(item: Item) -> Iterator[str]:
    if isinstance(item, EssayItem):
        yield "written in a Markdown cell, and graded manually in nbgrader"


def _notebook_bytes(cells: list[SourceCell], *, released: bool) -> bytes:
    """Returns the notebook file with *cells*, with checksums if it is *released* to students."""
    written = [
        Cell(
            type=cast("CellType", cell.type),
            source=cell.source,
            id=f"{number}-{cell.grade_id}"[:64].rstrip("-_"),
            metadata=cell_metadata(cell, released=released),
        )
        for number, cell in enumerate(cells, 1)
    ]
    return write(written, _METADATA)


def notebook_cells(quiz: Quiz) -> list[SourceCell]:
    """Returns the cells of the source notebook in order. **Secret**: solutions, hidden tests."""
    reading = SourceCell(grade_id="reading", type="code", source=reading_code(), locked=True)
    cells = [_prose_cell("title", _title_text(quiz)), reading]
    for pool in quiz.pools:
        (asked,) = pool.questions
        cells.append(_prose_cell(f"q{pool.number}", _question_text(pool, asked)))
        for field in asked.fields:
            cells += _part_cells(pool, field)
    return cells


def _prose_cell(name: str, source: str) -> SourceCell:
    return SourceCell(grade_id=name, type="markdown", source=source, locked=True)


def _title_text(quiz: Quiz) -> str:
    worth = sum(pool.points for pool in quiz.pools)
    minutes = f" · {quiz.minutes:g} minutes" if quiz.minutes else ""
    about = f"{_count(len(quiz.pools), 'problem')} · {_count(worth, 'point')}{minutes}"
    return "\n\n".join(filter(None, (f"# {quiz.title}", about, quiz.instructions, _HOW)))


def _question_text(pool: Pool, asked: QuizQuestion) -> str:
    """Returns what precedes the parts: title, prompt, figures, given values, and conventions."""
    title = f"## {pool.number}. {asked.title} ({_count(asked.points, 'point')})"
    blocks = [title, asked.prompt, *map(figure_markdown, asked.figures)]
    if asked.given_values:
        rows = "\n".join(f"| {given.label} | {given.value} |" for given in asked.given_values)
        blocks.append(f"| given | value |\n|---|---|\n{rows}")
    if asked.assumptions:
        listed = "\n".join("- " + line.replace("\n", "\n  ") for line in asked.assumptions)
        blocks.append(f"**Conventions**\n\n{listed}")
    return "\n\n".join(filter(None, blocks))


def _part_cells(pool: Pool, field: QuizPart) -> Iterator[SourceCell]:
    """Yields the cells of a part: the question, the answer, and, except for an essay, the tests."""
    name = f"q{pool.number}_{field.id}"
    place = f"{pool.number} ({field.letter})" if field.letter else str(pool.number)
    head = f"**{place}** {field.ask} *({_count(field.points, 'point')})*"
    first = field.items[0]
    if isinstance(first, EssayItem):
        yield _prose_cell(f"{name}-ask", head)
        yield SourceCell(
            grade_id=name,
            type="markdown",
            grade=True,
            solution=True,
            points=field.points,
            source=f"### BEGIN SOLUTION\n{first.rubric or TEXT_STUB}\n### END SOLUTION",
        )
        return
    answer = answer_of(name, field.items)
    yield _prose_cell(f"{name}-ask", f"{head}\n\n{answer.options}" if answer.options else head)
    yield SourceCell(
        grade_id=name,
        type="code",
        solution=True,
        source=f"# {place}: {answer.how}\n{name} = {answer.template}\n"
        f"### BEGIN SOLUTION\n{name} = {answer.right}\n### END SOLUTION",
    )
    # A check that students see, and hidden tests, whose last line is the points as a float.
    yield SourceCell(
        grade_id=f"{name}-tests",
        type="code",
        grade=True,
        locked=True,
        points=field.points,
        source=f"""\
# Checks only whether your answer can be read. It is graded later.
assert {answer.condition or f"{answer.read} is not None"}, {f"{name}: {answer.how}"!r}
### BEGIN HIDDEN TESTS
def _share():
{indent(answer.share.rstrip(), "    ")}


round({float(field.points)!r} * _share(), 6)
### END HIDDEN TESTS""",
    )


def _count(number: float, noun: str) -> str:
    return f"{points(number)} {noun}{'' if number == 1 else 's'}"
