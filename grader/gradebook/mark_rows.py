"""Converts independent marks to rows of their table and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sqlalchemy import ColumnElement, Connection, select

from grader.gradebook import schema
from grader.gradebook.decision_rows import choice_from_json, read_items
from grader.gradebook.plain import read_record
from grader.model.desk import Choice, IndependentMark, PartId, mean_choice, sum_points
from grader.model.grouping import group_by_key

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
) -> dict[tuple[str, str, str], list[IndependentMark]]:
    """Returns *marks* by student, name, and digest of the answer."""
    return group_by_key(((mark.student, mark.name, mark.key), mark) for mark in marks)


def mean_choices(marks: Iterable[IndependentMark]) -> Mapping[_Answer, Choice]:
    """Returns the mean of the first two marks of each answer that has two, by student and name."""
    return {
        (student, name): mean_choice(mine[0], mine[1])
        for (student, name, _), mine in by_answer(marks).items()
        if len(mine) > 1
    }
