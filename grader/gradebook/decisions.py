"""Stores people's decisions about answers, and the rubrics that they use.

Decisions are only added. The newest one of an answer that is not undone counts, and is also its
override, which totals are made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, insert, select, update

from grader.errors import SetupError
from grader.gradebook import mark_rows, overrides, parts, request_rows, schema
from grader.gradebook.audit_log import AND
from grader.gradebook.decision_rows import about, current_decisions, every_decision, next_batch
from grader.gradebook.plain import now, storable
from grader.gradebook.rubric_rows import read_items
from grader.gradebook.signatures import (
    Signatures,
    read_general,
    read_grades_signature,
    read_signatures,
)
from grader.gradebook.store import Store
from grader.gradebook.students import in_chunks
from grader.model import Override
from grader.model.desk import (
    AnswerToDecide,
    Choice,
    Decision,
    PartAnswer,
    PartCount,
    PartId,
    RubricItem,
    reason_text,
    sum_points,
)

_ITEMS, _DECISIONS = schema.rubric_items, schema.decisions


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionResult:
    """The outcome of storing a decision about several answers."""

    batch: int
    students: tuple[str, ...]
    """The students whose answers were decided."""
    conflicts: tuple[Decision, ...]
    """Decisions of others that were made meanwhile; these answers are unchanged."""


class Decisions:
    """The decisions and rubrics of a gradebook."""

    def __init__(self, store: Store):
        self._engine, self._write, self._log = store.engine, store.write, store.log

    # Answers

    def counts(self, students: Collection[str] | None = None) -> tuple[PartCount, ...]:
        """Returns how far each part is graded, in the order of the first paper; only answers of
        *students* if given."""
        with self._engine.begin() as connection:
            return tuple(parts.count_parts(connection, students))

    def answers(self, part: PartId) -> tuple[PartAnswer, ...]:
        """Returns every answer to *part*, by student, with the grader's own mark."""
        with self._engine.begin() as connection:
            return tuple(parts.read_part(connection, part))

    def waiting(self, students: Collection[str]) -> tuple[tuple[str, PartId, str, str], ...]:
        """Returns student, part, variable, and text of the answers of *students* without points."""
        with self._engine.begin() as connection:
            return tuple(parts.read_waiting(connection, students))

    def refused(self) -> frozenset[str]:
        """Returns the students whose notebook can't be read, and about whom nobody has decided."""
        with self._engine.begin() as connection:
            return frozenset(parts.read_refused(connection))

    # Rubrics

    def items(self, part: PartId | None = None) -> tuple[RubricItem, ...]:
        """Returns the items of one part's rubric, or all items, in the order of their creation."""
        with self._engine.begin() as connection:
            return tuple(read_items(connection, part))

    def add_item(
        self, part: PartId, text: str, points: float, feedback: str = "", *, by: str
    ) -> RubricItem:
        """Adds an item to the rubric of *part*."""
        line = {
            "problem": part.problem,
            "part": part.part,
            "text": storable(text),
            "points": points,
            "feedback": storable(feedback),
            "retired": False,
        }
        with self._write() as connection:
            number = connection.execute(
                insert(_ITEMS).returning(_ITEMS.c.number), line
            ).scalar_one()
            self._log(connection, "rubric item added", by, "", line)
        return RubricItem(number=number, part=part, text=text, points=points, feedback=feedback)

    def change_item(
        self,
        item: RubricItem,
        max_points: Mapping[tuple[str, str], float],
        *,
        by: str,
        students: Collection[str] | None = None,
    ) -> int:
        """Changes an item, and the points and feedback of every answer that has it.

        *max_points* are those of the answers, by student and name. Returns how many changed. Raises
        SetupError if the part has no such item, or if it was chosen for a student who is not in
        *students*; None means that all may change.
        """
        with self._write() as connection:
            of_part = (_ITEMS.c.problem == item.part.problem) & (_ITEMS.c.part == item.part.part)
            mine = of_part & (_ITEMS.c.number == item.number)
            before = connection.execute(select(_ITEMS).where(mine)).one_or_none()
            if before is None:
                raise SetupError("there is no such item in the rubric", fix="reload the page")
            found = [d for d in current_decisions(connection) if item.number in d.choice.items]
            marks = list(mark_rows.current_marks(connection, *mark_rows.of_part(item.part)))
            theirs = {d.student for d in found}
            theirs |= {m.student for m in marks if item.number in m.choice.items}
            if students is not None and not theirs.issubset(students):
                raise SetupError(
                    "this item was chosen for students of other sections too",
                    fix="ask an instructor to change it, or add another item",
                )
            means = mark_rows.mean_choices(marks)
            are_means = {
                (d.student, d.name) for d in found if means.get((d.student, d.name)) == d.choice
            }
            connection.execute(
                update(_ITEMS)
                .where(mine)
                .values(
                    text=storable(item.text),
                    points=item.points,
                    feedback=storable(item.feedback),
                    retired=item.is_retired,
                )
            )
            detail = {"item": item.number, "before": dict(before._mapping), "after": item.as_data()}
            self._log(connection, "rubric item changed", by, "", detail)
            if all(getattr(before, f) == getattr(item, f) for f in ("text", "points", "feedback")):
                return 0
            answers = [
                AnswerToDecide(
                    student=d.student,
                    name=d.name,
                    max_points=max_points[d.student, d.name],
                    engine_points=d.engine_points,
                    last_decision=d.number,
                )
                for d in found
                if (d.student, d.name) in max_points
            ]
            choices = {(d.student, d.name): d.choice for d in found}
            marks = list(mark_rows.current_marks(connection, *mark_rows.of_part(item.part)))
            again = mark_rows.mean_choices(marks)
            choices |= {answer: again[answer] for answer in are_means}
            batch = next_batch(connection)
            for answer in answers:
                self._store(connection, batch, answer, choices[answer.student, answer.name], by)
        return len(answers)

    # Decisions

    def current(self, names: Collection[str] | None = None) -> dict[tuple[str, str], Decision]:
        """Returns the decisions that count, by student and answer; only answers in *names* if
        given."""
        with self._engine.begin() as connection:
            return {(d.student, d.name): d for d in current_decisions(connection, *about(names))}

    def signatures(self, known: Signatures | None = None) -> Signatures:
        """Returns what tells whether results have changed; *known* itself if they have not."""
        with self._engine.begin() as connection:
            return read_signatures(connection, known)

    def grades_signature(self) -> str:
        """Returns a digest that changes with the automatic grades, and not with decisions."""
        with self._engine.begin() as connection:
            return read_grades_signature(connection)

    def general_signature(self) -> int:
        """Returns the part of the signatures that all students share."""
        with self._engine.begin() as connection:
            return read_general(connection)

    def opinions(self) -> tuple[Decision, ...]:
        """Returns the decisions that count and ask for a second opinion, oldest first."""
        asks = _DECISIONS.c.choice.contains('"second_opinion": true')
        with self._engine.begin() as connection:
            found = current_decisions(connection, asks)
            return tuple(d for d in found if d.choice.second_opinion)

    def list_outdated(self, students: Collection[str]) -> tuple[Decision, ...]:
        """Returns the decisions about answers of *students* that count although the grader's own
        points have changed since."""
        differs = parts.grade_differs_from(_DECISIONS)
        with self._engine.begin() as connection:
            return tuple(
                one
                for chunk in in_chunks(students)
                for one in current_decisions(connection, _DECISIONS.c.student.in_(chunk), differs)
            )

    def history(self, student: str, name: str | None = None) -> tuple[Decision, ...]:
        """Returns all decisions about a student's answers, or one of them, newest first."""
        with self._engine.begin() as connection:
            found = list(every_decision(connection, _DECISIONS.c.student == student))
        return tuple(d for d in reversed(found) if name in (None, d.name))

    def decide(
        self, answers: Sequence[AnswerToDecide], choice: Choice, *, by: str
    ) -> DecisionResult:
        """Stores *choice* for all *answers*, except those that somebody decided meanwhile."""
        with self._write() as connection:
            return self.decide_within(connection, answers, choice, by=by)

    def decide_within(
        self,
        connection: Connection,
        answers: Sequence[AnswerToDecide],
        choice: Choice,
        *,
        by: str,
        batch: int | None = None,
    ) -> DecisionResult:
        """Does the same as `decide` in the transaction of *connection*; under *batch* if given."""
        stored, conflicts = [], []
        names = {answer.name for answer in answers}
        latest = {(d.student, d.name): d for d in current_decisions(connection, *about(names))}
        batch = batch or next_batch(connection)
        for answer in answers:
            other = latest.get((answer.student, answer.name))
            if other is not None and other.number != answer.last_decision:
                conflicts.append(other)
                continue
            self._store(connection, batch, answer, choice, by)
            stored.append(answer.student)
        return DecisionResult(batch=batch, students=tuple(stored), conflicts=tuple(conflicts))

    def undo(self, batch: int, *, by: str, may: Callable[[Decision], bool] = lambda _: True) -> int:
        """Undoes the decisions of *batch* that still count; the earlier ones count again. A regrade
        request that was accepted with them is open again.

        Returns how many answers changed. Raises SetupError, and changes nothing, if none of them
        counts, or if *may* refuses one.
        """
        with self._write() as connection:
            return self.undo_within(connection, batch, by=by, may=may)

    def undo_within(
        self, connection: Connection, batch: int, *, by: str, may: Callable[[Decision], bool]
    ) -> int:
        """Does the same as `undo` in the transaction of *connection*."""
        found = list(current_decisions(connection, _DECISIONS.c.batch == batch))
        if not found:
            raise SetupError(
                "there is nothing to undo: other decisions were made since",
                fix="reload the page",
            )
        if not all(may(one) for one in found):
            raise SetupError(
                "these decisions are not yours to undo",
                fix="ask who made them, or an instructor",
            )
        again = next_batch(connection)
        for one in found:
            mine = _DECISIONS.c.number == one.number
            connection.execute(update(_DECISIONS).where(mine).values(undone=True))
            detail = {"student": one.student, "name": one.name, "points": one.points}
            self._log(connection, "decision undone", by, "", detail)
            self._restore(connection, again, one, by)
        request_rows.undo_answers(connection, batch)
        return len(found)

    def _restore(self, connection: Connection, batch: int, one: Decision, by: str) -> None:
        """Lets the decision before *one* count; stores it anew if its items have changed since."""
        of_answer = (_DECISIONS.c.student == one.student) & (_DECISIONS.c.name == one.name)
        before = next(iter(list(current_decisions(connection, of_answer))), None)
        if before is None:
            overrides.delete_override(connection, one.student, one.name)
            return
        items = {item.number: item for item in read_items(connection, None)}
        mark = parts.find_mark(connection, one.student, one.name)
        if mark and sum_points(before.choice, items, mark.max_points) != before.points:
            answer = AnswerToDecide(
                student=one.student,
                name=one.name,
                max_points=mark.max_points,
                engine_points=before.engine_points,
                last_decision=before.number,
            )
            self._store(connection, batch, answer, before.choice, by)
            return
        overrides.store_override(connection, _override_of(before, items))

    def settle_within(
        self,
        connection: Connection,
        batch: int,
        answer: AnswerToDecide,
        choice: Choice,
        people: Sequence[str],
    ) -> None:
        """Stores what follows from the marks of *people*, in the transaction of *connection*."""
        self._store(connection, batch, answer, choice, AND.join(people))

    def _store(
        self,
        connection: Connection,
        batch: int,
        answer: AnswerToDecide,
        choice: Choice,
        by: str,
    ) -> None:
        items = {item.number: item for item in read_items(connection, None)}
        points = sum_points(choice, items, answer.max_points)
        line: dict[str, object] = {
            "batch": batch,
            "student": answer.student,
            "name": answer.name,
            "choice": json.dumps(asdict(choice)),
            "points": points,
            "engine_points": answer.engine_points,
            "by": by,
            "at": now(),
            "undone": False,
        }
        connection.execute(insert(_DECISIONS), line)
        override = Override(
            student=answer.student,
            name=answer.name,
            points=points,
            reason=reason_text(choice, items),
            by=by,
            at=str(line["at"]),
        )
        before = overrides.store_override(connection, override)
        detail = {
            "student": answer.student,
            "name": answer.name,
            "points": points,
            "before": before,
        }
        self._log(connection, "answer graded", by, override.reason, detail)


def _override_of(decision: Decision, items: dict[int, RubricItem]) -> Override:
    return Override(
        student=decision.student,
        name=decision.name,
        points=decision.points,
        reason=reason_text(decision.choice, items),
        by=decision.by,
        at=decision.at,
    )
