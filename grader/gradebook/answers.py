"""Reads the answers of a class: of one part, those that wait for a person, and what has changed."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import and_, case, func, select

from grader.gradebook import schema
from grader.gradebook.parts import CURRENT_MARKS, is_refused
from grader.gradebook.plain import read_record
from grader.gradebook.signatures import (
    Signatures,
    read_general,
    read_grades_signature,
    read_signatures,
)
from grader.gradebook.store import Store
from grader.gradebook.students import in_chunks
from grader.model.desk import PartAnswer, PartCount, PartId

_OVERRIDDEN = and_(
    schema.overrides.c.student == schema.grades.c.student,
    schema.overrides.c.name == schema.asked.c.name,
)


class Answers:
    """The answers of a gradebook, each with the grader's own mark."""

    def __init__(self, store: Store):
        self._engine = store.engine
        self._signatures: Signatures | None = None
        """The last ones read, which count for as long as nothing has changed."""

    def counts(self, students: Collection[str] | None = None) -> tuple[PartCount, ...]:
        """Returns how many answers to each part there are, are open, and were graded by a person,
        in the order of the first paper. Counts only answers of *students*, if given, and none in
        notebooks that can't be read."""
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
                func.sum(case((by_hand, 1), else_=0)).label("decided_count"),
            )
            .select_from(CURRENT_MARKS.outerjoin(schema.overrides, _OVERRIDDEN))
            .where(~is_refused())
            .group_by(a.problem, a.part)
            .order_by(func.min(m.position), a.problem, a.part)
        )
        if students is not None:
            query = query.where(g.student.in_(list(students)))
        with self._engine.begin() as connection:
            rows = connection.execute(query).mappings()
            return tuple(read_record(PartCount, row) for row in rows)

    def of_part(self, part: PartId) -> tuple[PartAnswer, ...]:
        """Returns every answer to *part*, by student, with the grader's own mark."""
        g, m, a = schema.grades.c, schema.marks.c, schema.asked.c
        query = (
            select(
                g.student, a.name, a.kind, m.points, a.max_points, m.verdict, m.mistake,
                func.coalesce(m.answer, "").label("answer"), m.feedback,
                is_refused().label("refused"),
            )
            .select_from(CURRENT_MARKS)
            .where(a.problem == part.problem, a.part == part.part)
            .order_by(g.student)
        )  # fmt: skip
        with self._engine.begin() as connection:
            return tuple(PartAnswer(**row) for row in connection.execute(query).mappings())

    def waiting(self, students: Collection[str]) -> tuple[tuple[str, PartId, str, str], ...]:
        """Returns student, part, variable, and text of every answer of *students* that has no
        points and whose notebook can be read."""
        g, m, a, o = schema.grades.c, schema.marks.c, schema.asked.c, schema.overrides.c
        query = (
            select(g.student, a.problem, a.part, a.name, m.answer)
            .select_from(CURRENT_MARKS.outerjoin(schema.overrides, _OVERRIDDEN))
            .where(m.points.is_(None), o.points.is_(None), ~is_refused())
        )
        with self._engine.begin() as connection:
            return tuple(
                (row.student, PartId(row.problem, row.part), row.name, row.answer or "")
                for chunk in in_chunks(students)
                for row in connection.execute(query.where(g.student.in_(chunk)))
            )

    def unreadable_students(self) -> frozenset[str]:
        """Returns the students whose notebook can't be read, and with answers that nobody has
        graded."""
        marks = CURRENT_MARKS.outerjoin(schema.overrides, _OVERRIDDEN)
        is_open = schema.overrides.c.points.is_(None)
        query = select(schema.grades.c.student).select_from(marks).where(is_refused(), is_open)
        with self._engine.begin() as connection:
            return frozenset(connection.scalars(query))

    def signatures(self) -> Signatures:
        """Returns what tells whether results have changed: the same object if they have not."""
        with self._engine.begin() as connection:
            current = read_signatures(connection, self._signatures)
        self._signatures = current
        return current

    def grades_signature(self) -> str:
        """Returns a digest that changes with the automatic grades, and not with decisions."""
        with self._engine.begin() as connection:
            return read_grades_signature(connection)

    def general_signature(self) -> int:
        """Returns the part of the signatures that all students share."""
        with self._engine.begin() as connection:
            return read_general(connection)
