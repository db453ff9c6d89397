"""Builds the cells of nbgrader's source notebook. **Secret**: solutions and hidden tests."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from grader.integrations.nbgrader.assignment import SourceCell
from grader.integrations.nbgrader.making.answers import AnswerCells, answer_of
from grader.integrations.nbgrader.making.reading import CODE
from grader.integrations.nbgrader.regions import TEXT_STUB
from grader.model.item import EssayItem
from grader.model.quiz import Pool, Quiz, QuizPart, QuizQuestion
from grader.words import points

_HOW = """\
Every part has an answer cell with one variable. Replace the three dots with your answer, and \
delete the line `raise NotImplementedError()` below it. Do not change variable names or locked \
cells. The cell below each answer checks whether the answer can be read."""


def notebook_cells(quiz: Quiz) -> list[SourceCell]:
    """The cells of *quiz* in order, with unique ids."""
    cells = [_prose_cell("title", _title_text(quiz)), _code_cell("reading", CODE.strip())]
    for pool in quiz.pools:
        (asked,) = pool.questions
        cells.append(_prose_cell(f"q{pool.number}", _question_text(pool, asked)))
        for field in asked.fields:
            cells += _part_cells(pool, field)
    return cells


def _prose_cell(name: str, source: str) -> SourceCell:
    return SourceCell(grade_id=name, type="markdown", source=source, locked=True)


def _code_cell(name: str, source: str) -> SourceCell:
    return SourceCell(grade_id=name, type="code", source=source, locked=True)


def _title_text(quiz: Quiz) -> str:
    points = sum(pool.points for pool in quiz.pools)
    minutes = f" · {quiz.minutes:g} minutes" if quiz.minutes else ""
    about = f"{_count(len(quiz.pools), 'problem')} · {_count(points, 'point')}{minutes}"
    return "\n\n".join(filter(None, (f"# {quiz.title}", about, quiz.instructions, _HOW)))


def _question_text(pool: Pool, asked: QuizQuestion) -> str:
    blocks = [
        f"## {pool.number}. {asked.title} ({_count(asked.points, 'point')})",
        asked.prompt,
    ]
    if asked.given:
        rows = "\n".join(f"| {one.label} | {one.value} |" for one in asked.given)
        blocks.append(f"| given | value |\n|---|---|\n{rows}")
    if asked.assumptions:
        listed = "\n".join("- " + line.replace("\n", "\n  ") for line in asked.assumptions)
        blocks.append(f"**Conventions**\n\n{listed}")
    return "\n\n".join(filter(None, blocks))


def _part_cells(pool: Pool, field: QuizPart) -> Iterator[SourceCell]:
    name = f"q{pool.number}_{field.id}"
    place = f"{pool.number} ({field.letter})" if field.letter else str(pool.number)
    head = f"**{place}** {field.ask} *({_count(field.points, 'point')})*"
    first = field.items[0]
    if isinstance(first, EssayItem):
        yield _prose_cell(f"{name}-ask", head)
        yield _essay_cell(name, first, field.points)
        return
    answer = answer_of(name, field.items)
    yield _prose_cell(f"{name}-ask", f"{head}\n\n{answer.options}" if answer.options else head)
    yield SourceCell(
        grade_id=name, type="code", solution=True, source=_answer_source(place, name, answer)
    )
    yield SourceCell(
        grade_id=f"{name}-tests",
        type="code",
        grade=True,
        locked=True,
        points=field.points,
        source=_tests_source(name, answer, field.points),
    )


def _essay_cell(name: str, item: EssayItem, points: float) -> SourceCell:
    rubric = item.rubric or TEXT_STUB
    return SourceCell(
        grade_id=name,
        type="markdown",
        grade=True,
        solution=True,
        points=points,
        source=f"### BEGIN SOLUTION\n{rubric}\n### END SOLUTION",
    )


def _answer_source(place: str, name: str, answer: AnswerCells) -> str:
    return (
        f"# {place}: {answer.how}\n{name} = {answer.template}\n"
        f"### BEGIN SOLUTION\n{name} = {answer.right}\n### END SOLUTION"
    )


def _tests_source(name: str, answer: AnswerCells, points: float) -> str:
    """A check that students see, and hidden tests, whose last line is the points as a float."""
    body = indent(answer.share.rstrip(), "    ")
    return f"""\
# Checks only whether your answer can be read. It is graded later.
assert {answer.present}, {f"{name}: {answer.how}"!r}
### BEGIN HIDDEN TESTS
def _earned():
{body}


round({float(points)!r} * _earned(), 6)
### END HIDDEN TESTS"""


def _count(number: float, noun: str) -> str:
    return f"{points(number)} {noun}{'' if number == 1 else 's'}"
