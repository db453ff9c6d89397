"""Stores people's decisions about answers.

Decisions are only added. The newest one of an answer that is not undone counts, and is also its
override, which totals are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, update

from grader.errors import SetupError
from grader.gradebook import overrides, parts, schema
from grader.gradebook.decision_rows import (
    condition_on_names,
    current_decisions,
    iter_decisions,
    next_batch,
    read_items,
    store_decision,
)
from grader.gradebook.plain import now
from grader.gradebook.store import Store
from grader.gradebook.students import in_chunks
from grader.model import Override
from grader.model.desk import (
    AnswerToDecide,
    Choice,
    Decision,
    IndependentMark,
    reason_text,
    sum_points,
)

_DECISIONS, _ANSWERS = schema.decisions, schema.request_answers


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionResult:
    """The outcome of storing a decision about several answers."""

    batch: int
    students: tuple[str, ...]
    """The students whose answers were decided."""
    conflicts: tuple[Decision | IndependentMark, ...]
    """What others decided or gave meanwhile; these answers are unchanged."""


class Decisions:
    """The decisions of a gradebook."""

    def __init__(self, store: Store):
        self._engine, self._write, self._log = store.engine, store.write, store.log

    def current(self, names: Collection[str] | None = None) -> dict[tuple[str, str], Decision]:
        """Returns the decisions that count, by student and answer, or only those about answers in
        *names*."""
        with self._engine.begin() as connection:
            return {
                (d.student, d.name): d
                for d in current_decisions(connection, *condition_on_names(names))
            }

    def list_second_opinions(self) -> tuple[Decision, ...]:
        """Returns the decisions that count and ask for a second opinion, oldest first."""
        asks = _DECISIONS.c.choice.contains('"second_opinion": true')
        with self._engine.begin() as connection:
            decisions = current_decisions(connection, asks)
            return tuple(d for d in decisions if d.choice.second_opinion)

    def list_outdated(self, students: Collection[str]) -> tuple[Decision, ...]:
        """Returns the decisions about answers of *students* that count although the grader's own
        points or the answer have changed since."""
        differs = parts.grade_differs_from(_DECISIONS) | parts.answer_differs_from(_DECISIONS)
        with self._engine.begin() as connection:
            return tuple(
                decision
                for chunk in in_chunks(students)
                for decision in current_decisions(
                    connection, _DECISIONS.c.student.in_(chunk), differs
                )
            )

    def history(self, student: str) -> tuple[Decision, ...]:
        """Returns all decisions about a student's answers, newest first."""
        with self._engine.begin() as connection:
            decisions = list(iter_decisions(connection, _DECISIONS.c.student == student))
        return tuple(reversed(decisions))

    def decide(
        self, answers: Sequence[AnswerToDecide], choice: Choice, *, by: str
    ) -> DecisionResult:
        """Stores *choice* for all *answers*, except those that somebody decided meanwhile."""
        with self._write() as connection:
            return self.decide_in_transaction(connection, answers, choice, by=by)

    def decide_in_transaction(
        self,
        connection: Connection,
        answers: Sequence[AnswerToDecide],
        choice: Choice,
        *,
        by: str,
    ) -> DecisionResult:
        """Stores *choice* for all *answers* in the open transaction of *connection*.

        Skips answers that somebody decided since they were shown, and returns these decisions as
        conflicts.
        """
        stored, conflicts = [], []
        answer_names = {answer.name for answer in answers}
        latest = {
            (d.student, d.name): d
            for d in current_decisions(connection, *condition_on_names(answer_names))
        }
        batch = next_batch(connection)
        for answer in answers:
            latest_decision = latest.get((answer.student, answer.name))
            if latest_decision is not None and latest_decision.number != answer.last_decision:
                conflicts.append(latest_decision)
                continue
            self.store_in_transaction(connection, batch, answer, choice, by=by)
            stored.append(answer.student)
        return DecisionResult(batch=batch, students=tuple(stored), conflicts=tuple(conflicts))

    def undo_in_transaction(
        self, connection: Connection, batch: int, *, by: str, may: Callable[[Decision], bool]
    ) -> int:
        """Undoes the decisions of *batch* that still count, so that earlier ones count. A regrade
        request that was accepted with them is open again.

        Uses the open transaction of *connection*. Returns how many answers changed. Raises
        SetupError, and changes nothing, if none of them counts, or if *may* refuses one.
        """
        decisions = list(current_decisions(connection, _DECISIONS.c.batch == batch))
        if not decisions:
            raise SetupError(
                "there is nothing to undo: other decisions were made since", fix="reload the page"
            )
        if not all(may(decision) for decision in decisions):
            raise SetupError(
                "these decisions are not yours to undo", fix="ask who made them, or an instructor"
            )
        again = next_batch(connection)
        for decision in decisions:
            mine = _DECISIONS.c.number == decision.number
            connection.execute(update(_DECISIONS).where(mine).values(undone=True))
            detail = {"student": decision.student, "name": decision.name, "points": decision.points}
            self._log(connection, "decision undone", by, "", detail)
            self._restore(connection, again, decision, by)
        reopened = update(_ANSWERS).where(_ANSWERS.c.batch == batch)
        connection.execute(reopened.values(undone=True))
        return len(decisions)

    def _restore(self, connection: Connection, batch: int, decision: Decision, by: str) -> None:
        """Lets the decision before *decision*, if any, count again for the same answer.

        If rubric items changed its points since, stores it again with the new points.
        """
        of_answer = (_DECISIONS.c.student == decision.student) & (
            _DECISIONS.c.name == decision.name
        )
        before = next(iter(list(current_decisions(connection, of_answer))), None)
        if before is None:
            overrides.delete_override(connection, decision.student, decision.name)
            return
        items = {item.number: item for item in read_items(connection, None)}
        mark = parts.find_mark(connection, decision.student, decision.name)
        if mark and sum_points(before.choice, items, mark.max_points) != before.points:
            answer = before.as_answer(mark.max_points)
            self.store_in_transaction(connection, batch, answer, before.choice, by=by)
            return
        override = Override(
            student=before.student,
            name=before.name,
            points=before.points,
            reason=reason_text(before.choice, items),
            by=before.by,
            at=before.at,
        )
        overrides.store_override(connection, override)

    def store_in_transaction(
        self, connection: Connection, batch: int, answer: AnswerToDecide, choice: Choice, *, by: str
    ) -> None:
        """Stores *choice* for one answer in the open transaction of *connection*, even if somebody
        decided the answer since it was shown."""
        items = {item.number: item for item in read_items(connection, None)}
        points = sum_points(choice, items, answer.max_points)
        override = Override(
            student=answer.student,
            name=answer.name,
            points=points,
            reason=reason_text(choice, items),
            by=by,
            at=now(),
        )
        store_decision(connection, batch, override, choice, answer.engine_points)
        before = overrides.store_override(connection, override)
        detail = {
            "student": answer.student,
            "name": answer.name,
            "points": points,
            "before": before,
        }
        self._log(connection, "answer graded", by, override.reason, detail)
