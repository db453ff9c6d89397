"""Finds the grader's own points for answers, and answers that can't be read."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, and_, func, select

from grader.gradebook import schema

CURRENT_MARKS = schema.marks.join(
    schema.grades,
    and_(schema.grades.c.number == schema.marks.c.grade, schema.grades.c.current.is_(True)),
).join(schema.asked, schema.asked.c.number == schema.marks.c.asked)
"""The marks of the current grades, with their questions."""
_SECONDS = len("2026-01-01T00:00:00")


class MarkPoints(NamedTuple):
    """The grader's own points for an answer."""

    points: float | None
    max_points: float


def find_mark(connection: Connection, student: str, name: str) -> MarkPoints | None:
    """Returns the grader's own points for an answer, or None if it was not graded."""
    g, m, a = schema.grades.c, schema.marks.c, schema.asked.c
    query = (
        select(m.points, a.max_points)
        .select_from(CURRENT_MARKS)
        .where(g.student == student, a.name == name)
    )
    row = connection.execute(query).first()
    return None if row is None else MarkPoints(row.points, row.max_points)


def grade_differs_from(decisions: FromClause) -> ColumnElement[bool]:
    """Returns the condition that the grader's own points are no longer those of *decisions*."""
    g, m, a, d = schema.grades.c, schema.marks.c, schema.asked.c, decisions.c
    return (
        select(m.points)
        .select_from(CURRENT_MARKS)
        .where(g.student == d.student, a.name == d.name, m.points.is_distinct_from(d.engine_points))
        .exists()
    )


def answer_differs_from(decisions: FromClause) -> ColumnElement[bool]:
    """Returns the condition that the answer is not the one that *decisions* were about, such as in
    a newer file."""
    g, m, a, d = schema.grades.c, schema.marks.c, schema.asked.c, decisions.c
    marks, grades, asked = schema.marks.alias(), schema.grades.alias(), schema.asked.alias()
    seen = (
        select(func.coalesce(marks.c.answer, ""))
        .join(grades, grades.c.number == marks.c.grade)
        .join(asked, asked.c.number == marks.c.asked)
        .where(grades.c.student == d.student, asked.c.name == d.name)
        # Without the zone, which is written in two ways.
        .where(func.substr(grades.c.at, 1, _SECONDS) <= func.substr(d.at, 1, _SECONDS))
        .order_by(grades.c.number.desc())
        .limit(1)
        .correlate(decisions)
        .scalar_subquery()
    )
    return (
        select(m.points)
        .select_from(CURRENT_MARKS)
        .where(g.student == d.student, a.name == d.name, func.coalesce(m.answer, "") != seen)
        .correlate(decisions)
        .exists()
    )


def is_refused() -> ColumnElement[bool]:
    """Returns the condition that the file of a grade can't be read: it has no answers to grade."""
    s, grades = schema.submissions.c, schema.grades.alias("refused_grades")
    mine = (s.student == grades.c.student) & (s.sha256 == grades.c.submission_sha256)
    # A set that is found once. A subquery for each mark would take as long as the marks.
    refused = select(grades.c.number).join(schema.submissions, mine)
    return schema.grades.c.number.in_(refused.where(s.refusal.is_not(None)))
