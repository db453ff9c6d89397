"""Converts grades to rows of the tables and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from grader.gradebook import schema, students
from grader.gradebook.plain import storable, storable_or_none, to_json
from grader.model import Grade, Mark, Verdict

_CHUNK = 200
_Asked = tuple[str, str, str, str, float]
_VERDICTS = {verdict.value: verdict for verdict in Verdict}


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledGrade:
    """A stored grade, with the run that made it."""

    run: int
    at: str
    grade: Grade


def text_digest(text: str) -> str:
    """Returns the SHA-256 of *text*."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def file_grades(connection: Connection, grades: Iterable[Grade], *, run: int, at: str) -> int:
    """Stores those of *grades* that differ from the current ones, and returns how many. Raises
    SetupError, naming the student, if one is unknown."""
    filed = 0
    for chunk in _split_into_chunks(grades):
        filed += _store_chunk(connection, chunk, run=run, at=at)
    return filed


def _split_into_chunks(grades: Iterable[Grade]) -> Iterator[list[Grade]]:
    """Yields *grades* in lists of limited length, each with at most one grade of a student."""
    chunk: dict[str, Grade] = {}
    for grade in grades:
        if grade.student in chunk or len(chunk) == _CHUNK:
            yield list(chunk.values())
            chunk = {}
        chunk[grade.student] = grade
    if chunk:
        yield list(chunk.values())


def _store_chunk(connection: Connection, chunk: list[Grade], *, run: int, at: str) -> int:
    """Stores those grades of *chunk* that differ from the current ones, and returns how many."""
    heads = {grade.student: _grade_row(grade, run=run, at=at) for grade in chunk}
    t = schema.grades
    rows = connection.execute(select(t.c.student, t.c.digest).where(is_current(heads)))
    for student, digest in rows.all():
        if heads[student]["digest"] == digest:
            del heads[student]
    if not heads:
        return 0
    students.require_known(connection, heads)
    changed = [grade for grade in chunk if grade.student in heads]
    _store_environments(connection, changed)
    asked = _number_questions(connection, changed)
    connection.execute(update(t).where(is_current(heads)).values(current=False))
    numbers = connection.scalars(
        insert(t).returning(t.c.number, sort_by_parameter_order=True),
        [heads[grade.student] for grade in changed],
    ).all()
    lines = [
        {"grade": number, "position": position, "asked": asked[_question_of(mark)]}
        | _result_of(mark)
        for number, grade in zip(numbers, changed, strict=True)
        for position, mark in enumerate(grade.marks)
    ]
    if lines:
        connection.execute(insert(schema.marks), lines)
    return len(changed)


def withdraw_grade(connection: Connection, student: str) -> bool:
    """Withdraws the current grade of *student*. Returns whether there was one."""
    query = update(schema.grades).where(is_current([student]))
    return connection.execute(query.values(current=False)).rowcount > 0


def _grade_row(grade: Grade, *, run: int, at: str) -> dict[str, object]:
    """Returns the row of a new current grade, with a digest that equal grades share."""
    head: dict[str, object] = {
        "student": grade.student,
        "exam": grade.exam,
        "submission_sha256": grade.submission_sha256,
        "engine": grade.engine,
        "release": grade.release,
        "environment": text_digest(to_json(grade.environment)),
    }
    marks = [[*_question_of(mark), *_result_of(mark).values()] for mark in grade.marks]
    return head | {
        "digest": text_digest(to_json([head, marks])),
        "run": run,
        "at": at,
        "current": True,
    }


def _question_of(mark: Mark) -> _Asked:
    return mark.problem, mark.part, mark.name, mark.kind, mark.max_points


def _result_of(mark: Mark) -> dict[str, object]:
    return {
        "points": mark.points,
        "verdict": mark.verdict.value,
        "mistake": mark.mistake,
        "answer": storable_or_none(mark.answer),
        "feedback": storable(mark.feedback),
    }


def _number_questions(connection: Connection, grades: list[Grade]) -> dict[_Asked, int]:
    """Stores the new questions in *grades*, and returns the numbers of all stored questions."""
    questions = dict.fromkeys(_question_of(mark) for grade in grades for mark in grade.marks)
    numbers = _read_questions(connection)
    new = [
        dict(zip(("problem", "part", "name", "kind", "max_points"), question, strict=True))
        for question in questions
        if question not in numbers
    ]
    if new:
        connection.execute(insert(schema.asked), new)
        numbers = _read_questions(connection)
    return numbers


def _read_questions(connection: Connection) -> dict[_Asked, int]:
    t = schema.asked
    query = select(t.c.number, t.c.problem, t.c.part, t.c.name, t.c.kind, t.c.max_points)
    return {(row[1], row[2], row[3], row[4], row[5]): row[0] for row in connection.execute(query)}


def _questions_by_number(connection: Connection) -> dict[int, _Asked]:
    """Returns the questions by the numbers under which marks refer to them."""
    return {number: question for question, number in _read_questions(connection).items()}


def _store_environments(connection: Connection, grades: list[Grade]) -> None:
    texts = {text_digest(text): text for text in (to_json(grade.environment) for grade in grades)}
    t = schema.environments
    stored = set(connection.scalars(select(t.c.digest).where(t.c.digest.in_(list(texts)))))
    new = [{"digest": key, "json": text} for key, text in texts.items() if key not in stored]
    if new:
        connection.execute(insert(t), new)


def is_current(students: Collection[str] | None = None) -> ColumnElement[bool]:
    """Returns the condition that a grade is current, and of one of *students* if given."""
    t = schema.grades.c
    current = t.current.is_(True)
    return current if students is None else current & t.student.in_(list(students))


def read_grades(connection: Connection, condition: ColumnElement[bool]) -> Iterator[FiledGrade]:
    """Yields each grade that meets *condition*, by student and age.

    Uses two statements, so the connection must be in a transaction.
    """
    g, e, m = schema.grades, schema.environments, schema.marks
    heads = connection.execute(
        select(g, e.c.json)
        .join(e, e.c.digest == g.c.environment)
        .where(condition)
        .order_by(g.c.student, g.c.number)
    )
    lines = connection.execute(
        select(m.c.grade, m.c.asked, m.c.points, m.c.verdict, m.c.mistake, m.c.answer, m.c.feedback)
        .join(g, g.c.number == m.c.grade)
        .where(condition)
        .order_by(g.c.student, g.c.number, m.c.position)
        .execution_options(yield_per=1000)
    )
    # In chunks, because fetching single rows takes longer than reading them.
    yield from _assemble(connection, heads, chain.from_iterable(lines.partitions()))


def attempts_condition(*, of_several: bool) -> ColumnElement[bool]:
    """Returns the condition for the newest grade of each file, only of students with several graded
    files if *of_several*."""
    g = schema.grades.c
    any_grade = schema.grades.alias().c
    newest = select(func.max(any_grade.number)).group_by(
        any_grade.student, any_grade.submission_sha256
    )
    if not of_several:
        return g.number.in_(newest)
    files = func.count(any_grade.submission_sha256.distinct())
    students_ = select(any_grade.student).group_by(any_grade.student).having(files > 1)
    return g.number.in_(newest) & g.student.in_(students_)


def read_digests(
    connection: Connection, condition: ColumnElement[bool]
) -> Iterator[tuple[str, str, str | None]]:
    """Yields the student, the digest, and the SHA-256 of the graded file for each grade that meets
    *condition*."""
    t = schema.grades.c
    query = select(t.student, t.digest, t.submission_sha256)
    for row in connection.execute(query.where(condition).order_by(t.student, t.number)):
        yield row.student, row.digest, row.submission_sha256


def read_open_marks(connection: Connection) -> Iterator[tuple[str, Mark]]:
    """Yields student and mark of each mark without points in the current grades, in order."""
    g, m = schema.grades.c, schema.marks.c
    asked = _questions_by_number(connection)
    query = (
        select(g.student, g.number, m.asked, m.points, m.verdict, m.mistake, m.answer, m.feedback)
        .join(schema.marks, g.number == m.grade)
        .where(g.current.is_(True), m.points.is_(None))
        .order_by(g.student, m.position)
    )
    shared: dict[str, str] = {}
    for student, *line in connection.execute(query):
        yield from ((student, mark) for mark in _read_marks([line], asked, shared))


def _assemble(
    connection: Connection, heads: Iterable[Any], lines: Iterable[Sequence[Any]]
) -> Iterator[FiledGrade]:
    """Yields the grade of each of *heads*, with its marks from *lines*.

    Both are in the order of the numbers of the grades.
    """
    asked = _questions_by_number(connection)
    # Equal feedback is stored once: a class of thousands repeats a few hundred sentences.
    shared: dict[str, str] = {}
    environments: dict[str, dict[str, object]] = {}
    groups = groupby(lines, key=itemgetter(0))
    number, group = next(groups, (None, iter(())))
    for head in heads:
        marks: list[Mark] = []
        if number == head.number:
            marks = _read_marks(group, asked, shared)
            number, group = next(groups, (None, iter(())))
        if head.environment not in environments:
            environments[head.environment] = json.loads(head.json)
        grade = Grade(
            student=head.student,
            exam=head.exam,
            submission_sha256=head.submission_sha256,
            marks=tuple(marks),
            engine=head.engine,
            release=head.release,
            environment=environments[head.environment],
        )
        yield FiledGrade(run=head.run, at=head.at, grade=grade)


def _read_marks(
    lines: Iterable[Sequence[Any]], asked: dict[int, _Asked], shared: dict[str, str]
) -> list[Mark]:
    """Returns the marks in *lines*, in which equal feedback is one object, kept in *shared*."""
    # One comprehension, because reading a large class spends its time here.
    return [
        Mark(
            problem=ask[0],
            part=ask[1],
            name=ask[2],
            kind=ask[3],
            points=points,
            max_points=ask[4],
            verdict=_VERDICTS[verdict],
            mistake=mistake,
            answer=answer,
            feedback=shared.setdefault(feedback, feedback),
        )
        for _, number, points, verdict, mistake, answer, feedback in lines
        for ask in (asked[number],)
    ]
