"""Reads the marks of one part over the whole class, and counts of what is open."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, and_, case, func, select

from grader.gradebook import schema
from grader.gradebook.students import in_chunks
from grader.model.desk import PartAnswer, PartCount, PartId


class MarkPoints(NamedTuple):
    """The grader's own points for an answer."""

    points: float | None
    max_points: float


def find_mark(connection: Connection, student: str, name: str) -> MarkPoints | None:
    """Returns the grader's own points for an answer; None if it was not graded."""
    g, m, a = schema.grades.c, schema.marks.c, schema.asked.c
    query = (
        select(m.points, a.max_points)
        .select_from(schema.grades)
        .join(schema.marks, m.grade == g.number)
        .join(schema.asked, a.number == m.asked)
        .where(g.student == student, g.current.is_(True), a.name == name)
    )
    row = connection.execute(query).first()
    return None if row is None else MarkPoints(row.points, row.max_points)


def grade_differs_from(decisions: FromClause) -> ColumnElement[bool]:
    """Returns the condition that the grader's own points are no longer those of *decisions*."""
    g, m, a, d = schema.grades.c, schema.marks.c, schema.asked.c, decisions.c
    return (
        select(m.points)
        .select_from(schema.grades)
        .join(schema.marks, m.grade == g.number)
        .join(schema.asked, a.number == m.asked)
        .where(
            g.student == d.student,
            g.current.is_(True),
            a.name == d.name,
            m.points.is_distinct_from(d.engine_points),
        )
        .exists()
    )


def _is_refused() -> ColumnElement[bool]:
    """Returns the condition that the file of a grade can't be read: it has no answers to grade."""
    s, grades = schema.submissions.c, schema.grades.alias("refused_grades")
    mine = (s.student == grades.c.student) & (s.sha256 == grades.c.submission_sha256)
    # A set that is found once. A subquery for each mark would take as long as the marks.
    refused = select(grades.c.number).join(schema.submissions, mine)
    return schema.grades.c.number.in_(refused.where(s.refusal.is_not(None)))


def count_parts(
    connection: Connection, students: Collection[str] | None = None
) -> Iterator[PartCount]:
    """Yields how many answers to each part there are, are open, and were graded by a person; only
    answers of *students* if given. Notebooks that can't be read don't count."""
    g, m, a, o = schema.grades.c, schema.marks.c, schema.asked.c, schema.overrides.c
    by_hand = o.points.is_not(None)
    waits = case((and_(m.points.is_(None), o.points.is_(None)), 1), else_=0)
    query = (
        select(
            a.problem,
            a.part,
            func.min(a.name).label("name"),
            func.min(a.kind).label("kind"),
            func.count().label("answers"),
            func.sum(waits).label("waiting"),
            func.sum(case((by_hand, 1), else_=0)).label("decided"),
        )
        .select_from(schema.marks)
        .join(schema.grades, and_(g.number == m.grade, g.current.is_(True)))
        .join(schema.asked, a.number == m.asked)
        .outerjoin(schema.overrides, and_(o.student == g.student, o.name == a.name))
        .where(~_is_refused())
        .group_by(a.problem, a.part)
        .order_by(func.min(m.position), a.problem, a.part)
    )
    if students is not None:
        query = query.where(g.student.in_(list(students)))
    for row in connection.execute(query):
        yield PartCount(
            part=PartId(row.problem, row.part),
            name=row.name,
            kind=row.kind,
            answers=row.answers,
            waiting=row.waiting,
            decided_count=row.decided,
        )


def read_refused(connection: Connection) -> Iterator[str]:
    """Yields the students whose notebook can't be read, and about whom nobody has decided."""
    g, o = schema.grades.c, schema.overrides.c
    decided = select(o.student).where(o.student == g.student).exists()
    query = select(g.student).where(g.current.is_(True), _is_refused(), ~decided)
    yield from connection.scalars(query)


def read_waiting(
    connection: Connection, students: Collection[str]
) -> Iterator[tuple[str, PartId, str, str]]:
    """Yields student, part, variable, and text of every answer of *students* that has no points and
    whose notebook can be read."""
    g, m, a, o = schema.grades.c, schema.marks.c, schema.asked.c, schema.overrides.c
    query = (
        select(g.student, a.problem, a.part, a.name, m.answer)
        .select_from(schema.marks)
        .join(schema.grades, and_(g.number == m.grade, g.current.is_(True)))
        .join(schema.asked, a.number == m.asked)
        .outerjoin(schema.overrides, and_(o.student == g.student, o.name == a.name))
        .where(m.points.is_(None), o.points.is_(None), ~_is_refused())
    )
    for chunk in in_chunks(students):
        for row in connection.execute(query.where(g.student.in_(chunk))):
            yield row.student, PartId(row.problem, row.part), row.name, row.answer or ""


def read_part(connection: Connection, part: PartId) -> Iterator[PartAnswer]:
    """Yields every answer to *part*, by student, with the grader's own mark."""
    g, m, a = schema.grades.c, schema.marks.c, schema.asked.c
    query = (
        select(
            g.student, a.name, a.kind, m.points, a.max_points, m.verdict, m.mistake, m.answer,
            m.feedback, _is_refused().label("refused"),
        )
        .select_from(schema.marks)
        .join(schema.grades, and_(g.number == m.grade, g.current.is_(True)))
        .join(schema.asked, a.number == m.asked)
        .where(a.problem == part.problem, a.part == part.part)
        .order_by(g.student)
    )  # fmt: skip
    for row in connection.execute(query):
        yield PartAnswer(
            student=row.student,
            name=row.name,
            kind=row.kind,
            points=row.points,
            max_points=row.max_points,
            verdict=row.verdict,
            mistake=row.mistake,
            answer=row.answer or "",
            feedback=row.feedback,
            refused=bool(row.refused),
        )
