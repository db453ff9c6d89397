"""Converts independent marks to rows of their table and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from sqlalchemy import ColumnElement, Connection, insert, select, update

from grader.gradebook import schema
from grader.gradebook.decision_rows import choice_from_json
from grader.gradebook.plain import read_record
from grader.gradebook.rubric_rows import read_items
from grader.model.desk import (
    AnswerToDecide,
    Choice,
    IndependentMark,
    PartId,
    mean_choice,
    sum_points,
)

_MARKS = schema.independent_marks
_Answer = tuple[str, str]


def condition_on_part(part: PartId) -> tuple[ColumnElement[bool], ...]:
    """Returns the condition that a mark is about an answer to *part*."""
    return _MARKS.c.problem == part.problem, _MARKS.c.part == part.part


def iter_marks(connection: Connection, *where: ColumnElement[bool]) -> Iterator[IndependentMark]:
    """Yields the marks that fit, oldest first, with their points by the rubric of today."""
    items = {item.number: item for item in read_items(connection, None)}
    query = select(_MARKS).where(*where).order_by(_MARKS.c.number)
    for row in connection.execute(query).mappings():
        choice = choice_from_json(row["choice"])
        points = sum_points(choice, items, row["max_points"])
        yield read_record(IndependentMark, row, choice=choice, points=points)


def current_marks(connection: Connection, *where: ColumnElement[bool]) -> list[IndependentMark]:
    """Returns each person's newest mark of each answer, except those taken back, oldest first."""
    newest = {
        (mark.student, mark.name, mark.key, mark.by): mark
        for mark in iter_marks(connection, _MARKS.c.undone.is_(False), *where)
    }
    return sorted(newest.values(), key=lambda mark: mark.number)


def by_answer(
    marks: Iterable[IndependentMark],
) -> dict[tuple[str, str, str], tuple[IndependentMark, ...]]:
    """Returns *marks* by student, name, and digest of the answer."""
    marks_by_answer: dict[tuple[str, str, str], tuple[IndependentMark, ...]] = {}
    for mark in marks:
        key = mark.student, mark.name, mark.key
        marks_by_answer[key] = (*marks_by_answer.get(key, ()), mark)
    return marks_by_answer


def mean_choices(marks: Iterable[IndependentMark]) -> Mapping[_Answer, Choice]:
    """Returns what stands for two marks of an answer, by student and name."""
    return {
        (student, name): mean_choice(mine[0], mine[1])
        for (student, name, _), mine in by_answer(marks).items()
        if len(mine) > 1
    }


def store_mark(
    connection: Connection,
    batch: int,
    part: PartId,
    answer: AnswerToDecide,
    choice: Choice,
    *,
    by: str,
    at: str,
) -> None:
    """Stores the mark that one of two independent graders gave."""
    line = {
        "batch": batch,
        "problem": part.problem,
        "part": part.part,
        "student": answer.student,
        "name": answer.name,
        "key": answer.key,
        "choice": json.dumps(asdict(choice)),
        "max_points": answer.max_points,
        "by": by,
        "at": at,
        "undone": False,
    }
    connection.execute(insert(_MARKS), line)


def take_back(connection: Connection, marks: Sequence[IndependentMark]) -> None:
    """Stores that *marks* are undone."""
    for mark in marks:
        connection.execute(update(_MARKS).where(_MARKS.c.number == mark.number).values(undone=True))
