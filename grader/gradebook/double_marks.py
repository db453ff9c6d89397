"""Stores the marks of two people who grade the same answers independently.

The first mark of an answer changes nothing: the answer stays open. The second one settles it, with
a decision for the mean, if the two are close enough. Otherwise, somebody else decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict

from sqlalchemy import Connection, insert, update

from grader.errors import SetupError
from grader.gradebook import mark_rows, schema
from grader.gradebook.audit_log import AND
from grader.gradebook.decision_rows import condition_on_names, current_decisions, next_batch
from grader.gradebook.decisions import DecisionResult, Decisions
from grader.gradebook.plain import now
from grader.gradebook.store import Store
from grader.gradebook.students import in_chunks
from grader.model.desk import (
    AnswerToDecide,
    Choice,
    Decision,
    IndependentMark,
    PartId,
    mean_choice,
    visible_marks,
)

_MARKS = schema.independent_marks
_ROUNDING = 1e-9


class DoubleMarks:
    """The independent marks of a gradebook."""

    def __init__(self, store: Store, decisions: Decisions):
        self._engine, self._write, self._log = store.engine, store.write, store.log
        self._decisions = decisions

    def current(self, part: PartId | None = None) -> tuple[IndependentMark, ...]:
        """Returns each person's mark of each answer to *part*, or to all parts, oldest first."""
        where = () if part is None else mark_rows.condition_on_part(part)
        with self._engine.begin() as connection:
            return tuple(mark_rows.current_marks(connection, *where))

    def by_answer(self, part: PartId) -> Mapping[tuple[str, str, str], Sequence[IndependentMark]]:
        """Returns each person's newest mark of each answer to *part*, by student, name, and digest
        of the answer."""
        return mark_rows.by_answer(self.current(part))

    def of_students(self, students: Collection[str]) -> tuple[IndependentMark, ...]:
        """Returns each person's mark of each answer of *students*, oldest first."""
        with self._engine.begin() as connection:
            chunks = [_MARKS.c.student.in_(chunk) for chunk in in_chunks(students)]
            marks_by_chunk = [mark_rows.current_marks(connection, mine) for mine in chunks]
        return tuple(mark for chunk in marks_by_chunk for mark in chunk)

    def decide(
        self,
        part: PartId,
        answers: Sequence[AnswerToDecide],
        choice: Choice,
        *,
        by: str,
        tolerance: float = 0.0,
        final: bool = False,
        may_settle: bool = False,
    ) -> DecisionResult:
        """Stores *choice* for all *answers*, except those that somebody decided meanwhile.

        For an answer that two people grade independently, the choice is the mark of *by*, unless it
        is *final*. The second mark settles the answer if the points differ by at most the share
        *tolerance* of the maximum. Raises SetupError if two people have graded an answer
        independently and *by* is one of them, unless *may_settle*.
        """
        with self._write() as connection:
            batch = next_batch(connection)
            earlier_marks = mark_rows.by_answer(
                mark_rows.current_marks(connection, *mark_rows.condition_on_part(part))
            )
            names = condition_on_names({answer.name for answer in answers})
            decided = {(d.student, d.name): d for d in current_decisions(connection, *names)}
            stored: list[str] = []
            conflicts: list[Decision | IndependentMark] = []
            for answer in answers:
                marks = earlier_marks.get((answer.student, answer.name, answer.key), ())
                people = {mark.by for mark in marks}
                shown = visible_marks(marks, by)
                decision = decided.get((answer.student, answer.name))
                if decision is not None and decision.number != answer.last_decision:
                    conflicts.append(decision)
                elif shown and shown[-1].number != answer.last_mark:
                    conflicts.append(shown[-1])
                elif decision or len(people) > 1 or final or not answer.double:
                    _refuse_same_person(people, by, may_settle)
                    self._decisions.store_in_transaction(connection, batch, answer, choice, by=by)
                    stored.append(answer.student)
                else:
                    self._store_mark(connection, batch, part, answer, choice, by)
                    stored.append(answer.student)
                    if people - {by}:
                        self._settle_if_close(connection, batch, part, answer, tolerance)
        return DecisionResult(batch=batch, students=tuple(stored), conflicts=tuple(conflicts))

    def undo(self, batch: int, *, by: str, may: Callable[[str, str], bool]) -> int:
        """Undoes the marks and the decisions that were stored as *batch*, such as for the mean of
        two marks.

        *may* is asked with the author and the student. Returns how many answers changed. Raises
        SetupError, and changes nothing, if somebody has graded one of the answers since.
        """
        with self._write() as connection:
            mine = _MARKS.c.batch == batch
            marks = list(mark_rows.iter_marks(connection, mine, _MARKS.c.undone.is_(False)))
            answers = {(mark.student, mark.name) for mark in marks}
            names = condition_on_names({name for _, name in answers})
            decided = list(current_decisions(connection, *names))
            for mark in marks:
                if not may(mark.by, mark.student):
                    raise SetupError("these marks are not yours to undo", fix="ask who gave them")
                self._require_newest(connection, mark)
            if any((d.student, d.name) in answers and d.batch != batch for d in decided):
                raise SetupError(_SINCE, fix="reload the page")
            for mark in marks:
                query = update(_MARKS).where(_MARKS.c.number == mark.number)
                connection.execute(query.values(undone=True))
                detail = {"student": mark.student, "name": mark.name, "points": mark.points}
                self._log(connection, "independent mark undone", by, "", detail)

            def may_undo(decision: Decision) -> bool:
                return (decision.student, decision.name) in answers or may(
                    decision.by, decision.student
                )

            if not marks or any(d.batch == batch for d in decided):
                return self._decisions.undo_in_transaction(connection, batch, by=by, may=may_undo)
        return len(marks)

    def _require_newest(self, connection: Connection, mark: IndependentMark) -> None:
        """Raises SetupError if somebody has marked the answer of *mark* since."""
        mine = (_MARKS.c.student == mark.student) & (_MARKS.c.name == mark.name)
        marks = list(mark_rows.iter_marks(connection, mine, _MARKS.c.undone.is_(False)))
        if marks[-1].number != mark.number:
            raise SetupError(_SINCE, fix="reload the page")

    def _store_mark(
        self,
        connection: Connection,
        batch: int,
        part: PartId,
        answer: AnswerToDecide,
        choice: Choice,
        by: str,
    ) -> None:
        """Stores *choice* as the independent mark of *by* for *answer*, and logs it."""
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
            "at": now(),
            "undone": False,
        }
        connection.execute(insert(_MARKS), line)
        mine = (_MARKS.c.batch == batch) & (_MARKS.c.student == answer.student)
        points = [mark.points for mark in mark_rows.iter_marks(connection, mine)][-1]
        detail = {"student": answer.student, "name": answer.name, "points": points}
        self._log(connection, "answer graded independently", by, choice.comment, detail)

    def _settle_if_close(
        self,
        connection: Connection,
        batch: int,
        part: PartId,
        answer: AnswerToDecide,
        tolerance: float,
    ) -> None:
        """Stores the mean of the two marks as a decision, unless the marks differ by too much."""
        mine = (_MARKS.c.student == answer.student, _MARKS.c.name == answer.name)
        marks = mark_rows.current_marks(connection, *mark_rows.condition_on_part(part), *mine)
        first, second = [mark for mark in marks if mark.key == answer.key][:2]
        if abs(first.points - second.points) <= tolerance * answer.max_points + _ROUNDING:
            choice, by = mean_choice(first, second), AND.join((first.by, second.by))
            self._decisions.store_in_transaction(connection, batch, answer, choice, by=by)


_SINCE = "there is nothing to undo: these answers were graded again since"


def _refuse_same_person(people: Collection[str], by: str, may_settle: bool) -> None:
    """Raises SetupError if *by* is one of two *people* who graded, unless *by* may settle."""
    if len(people) > 1 and by in people and not may_settle:
        raise SetupError(
            "two people graded this answer independently, and you are one of them",
            fix="ask an instructor or another grader to decide",
        )
