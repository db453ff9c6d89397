"""Stores people's decisions about answers, and the rubrics that they use.

Decisions are only added. The newest one of an answer that is not undone counts, and is also its
override, which totals are made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, Engine, func, insert, select, update

from grader.errors import SetupError
from grader.gradebook import overrides, parts, schema
from grader.gradebook.plain import now, storable
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

Log = Callable[[Connection, str, str, str, Mapping[str, object]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The outcome of storing a decision about several answers."""

    batch: int
    stored: tuple[str, ...]
    """The students whose answers were decided."""
    conflicts: tuple[Decision, ...]
    """Decisions of others that were made meanwhile; these answers are unchanged."""


class Decisions:
    """The decisions and rubrics of a gradebook."""

    def __init__(
        self,
        engine: Engine,
        write: Callable[[], AbstractContextManager[Connection]],
        log: Log,
    ):
        self._engine = engine
        self._write = write
        self._log = log

    # Answers

    def counts(self) -> tuple[PartCount, ...]:
        """Returns how far each part is graded, in the order of the first paper."""
        with self._engine.begin() as connection:
            return tuple(parts.count_parts(connection))

    def answers(self, part: PartId) -> tuple[PartAnswer, ...]:
        """Returns every answer to *part*, by student, with the grader's own mark."""
        with self._engine.begin() as connection:
            return tuple(parts.read_part(connection, part))

    # Rubrics

    def items(self, part: PartId | None = None) -> tuple[RubricItem, ...]:
        """Returns the items of one part's rubric, or all items, in the order of their creation."""
        with self._engine.begin() as connection:
            return tuple(_read_items(connection, part))

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
        self, item: RubricItem, max_points: Mapping[tuple[str, str], float], *, by: str
    ) -> int:
        """Changes an item, and the points and feedback of every answer that has it.

        *max_points* are those of the answers, by student and name. Returns how many changed.
        """
        with self._write() as connection:
            mine = _ITEMS.c.number == item.number
            before = connection.execute(select(_ITEMS).where(mine)).one_or_none()
            if before is None:
                raise SetupError("there is no such item in the rubric", fix="reload the page")
            connection.execute(
                update(_ITEMS)
                .where(mine)
                .values(
                    text=storable(item.text),
                    points=item.points,
                    feedback=storable(item.feedback),
                    retired=item.retired,
                )
            )
            detail = {"item": item.number, "before": dict(before._mapping), "after": asdict(item)}
            self._log(connection, "rubric item changed", by, "", detail)
            found = [d for d in _current(connection) if item.number in d.choice.items]
            answers = [
                AnswerToDecide(
                    student=d.student,
                    name=d.name,
                    max_points=max_points[d.student, d.name],
                    engine_points=d.engine_points,
                    seen=d.number,
                )
                for d in found
                if (d.student, d.name) in max_points
            ]
            choices = {(d.student, d.name): d.choice for d in found}
            batch = _next_batch(connection)
            for answer in answers:
                self._store(connection, batch, answer, choices[answer.student, answer.name], by)
        return len(answers)

    # Decisions

    def current(self, names: Collection[str] | None = None) -> dict[tuple[str, str], Decision]:
        """Returns the decisions that count, by student and answer; only answers in *names* if
        given."""
        with self._engine.begin() as connection:
            return {(d.student, d.name): d for d in _current(connection, names)}

    def history(self, student: str, name: str | None = None) -> tuple[Decision, ...]:
        """Returns all decisions about a student's answers, or one of them, newest first."""
        with self._engine.begin() as connection:
            found = [d for d in _every(connection) if d.student == student]
        return tuple(d for d in reversed(found) if name in (None, d.name))

    def decide(self, answers: Sequence[AnswerToDecide], choice: Choice, *, by: str) -> Decided:
        """Stores *choice* for all *answers*, except those that somebody decided meanwhile."""
        stored, conflicts = [], []
        with self._write() as connection:
            names = {answer.name for answer in answers}
            latest = {(d.student, d.name): d for d in _current(connection, names)}
            batch = _next_batch(connection)
            for answer in answers:
                other = latest.get((answer.student, answer.name))
                if other is not None and other.number != answer.seen:
                    conflicts.append(other)
                    continue
                self._store(connection, batch, answer, choice, by)
                stored.append(answer.student)
        return Decided(batch=batch, stored=tuple(stored), conflicts=tuple(conflicts))

    def undo(self, batch: int, *, by: str) -> int:
        """Undoes the decisions of *batch* that still count; the earlier ones count again.

        Returns how many answers changed.
        """
        changed = 0
        with self._write() as connection:
            for one in [d for d in _current(connection) if d.batch == batch]:
                mine = _DECISIONS.c.number == one.number
                connection.execute(update(_DECISIONS).where(mine).values(undone=True))
                before = next(
                    (
                        d
                        for d in reversed(list(_every(connection)))
                        if (d.student, d.name) == (one.student, one.name) and not d.undone
                    ),
                    None,
                )
                self._restore(connection, one, before)
                detail = {"student": one.student, "name": one.name, "points": one.points}
                self._log(connection, "decision undone", by, "", detail)
                changed += 1
        return changed

    def _restore(self, connection: Connection, one: Decision, before: Decision | None) -> None:
        if before is None:
            overrides.delete_override(connection, one.student, one.name)
            return
        items = {item.number: item for item in _read_items(connection, None)}
        override = _override_of(before, items)
        overrides.store_override(connection, override)

    def _store(
        self,
        connection: Connection,
        batch: int,
        answer: AnswerToDecide,
        choice: Choice,
        by: str,
    ) -> None:
        items = {item.number: item for item in _read_items(connection, None)}
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


def _read_items(connection: Connection, part: PartId | None) -> Iterator[RubricItem]:
    t = _ITEMS.c
    query = select(_ITEMS).order_by(t.number)
    if part is not None:
        query = query.where((t.problem == part.problem) & (t.part == part.part))
    for row in connection.execute(query):
        yield RubricItem(
            number=row.number,
            part=PartId(row.problem, row.part),
            text=row.text,
            points=row.points,
            feedback=row.feedback,
            retired=row.retired,
        )


def _every(connection: Connection, names: Collection[str] | None = None) -> Iterator[Decision]:
    """Yields all decisions, or those about answers in *names*, oldest first."""
    query = select(_DECISIONS).order_by(_DECISIONS.c.number)
    if names is not None:
        query = query.where(_DECISIONS.c.name.in_(list(names)))
    for row in connection.execute(query):
        data = json.loads(row.choice)
        yield Decision(
            number=row.number,
            batch=row.batch,
            student=row.student,
            name=row.name,
            choice=Choice(**{**data, "items": tuple(data["items"])}),
            points=row.points,
            engine_points=row.engine_points,
            by=row.by,
            at=row.at,
            undone=row.undone,
        )


def _current(connection: Connection, names: Collection[str] | None = None) -> Iterable[Decision]:
    found = {(d.student, d.name): d for d in _every(connection, names) if not d.undone}
    return found.values()


def _next_batch(connection: Connection) -> int:
    return (connection.scalar(select(func.max(_DECISIONS.c.batch))) or 0) + 1
