"""Stores the rubrics of parts: items with points and feedback that people choose for answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import insert, select, update

from grader.errors import SetupError
from grader.gradebook import mark_rows, schema
from grader.gradebook.decision_rows import current_decisions, next_batch, read_items
from grader.gradebook.decisions import Decisions
from grader.gradebook.plain import storable
from grader.gradebook.store import Store
from grader.model.desk import PartId, RubricItem

_ITEMS = schema.rubric_items


class Rubrics:
    """The rubrics of a gradebook."""

    def __init__(self, store: Store, decisions: Decisions):
        self._engine, self._write, self._log = store.engine, store.write, store.log
        self._decisions = decisions

    def items(self, part: PartId | None = None) -> tuple[RubricItem, ...]:
        """Returns the items of one part's rubric, or all items, in the order of their creation."""
        with self._engine.begin() as connection:
            return tuple(read_items(connection, part))

    def add(
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

    def change(
        self,
        item: RubricItem,
        max_points: Mapping[tuple[str, str], float],
        *,
        by: str,
        students: Collection[str] | None = None,
        seen: str = "",
    ) -> int:
        """Changes an item, and the points and feedback of every answer that has it.

        *max_points* are those of the answers, by student and name. Only answers of *students* may
        change; None means all. *seen* is the state that the item must have; an empty text means
        any. Returns how many answers changed. Raises SetupError if the part has no such item, if
        the item was chosen for another student, or if it has another state.
        """
        with self._write() as connection:
            of_part = (_ITEMS.c.problem == item.part.problem) & (_ITEMS.c.part == item.part.part)
            of_item = of_part & (_ITEMS.c.number == item.number)
            before = connection.execute(select(_ITEMS).where(of_item)).one_or_none()
            if before is None:
                raise SetupError("there is no such item in the rubric", fix="reload the page")
            stored = {one.number: one for one in read_items(connection, item.part)}[item.number]
            if seen not in ("", stored.state):
                raise SetupError(
                    "somebody changed this item in the meantime",
                    fix="go back, reload the page, and change it again",
                )
            affected = [d for d in current_decisions(connection) if item.number in d.choice.items]
            marks = mark_rows.current_marks(connection, *mark_rows.condition_on_part(item.part))
            students_with_item = {d.student for d in affected}
            students_with_item |= {m.student for m in marks if item.number in m.choice.items}
            if students is not None and not students_with_item.issubset(students):
                raise SetupError(
                    "this item was chosen for students of other sections too",
                    fix="ask an instructor to change it, or add another item",
                )
            means = mark_rows.mean_choices(marks)
            are_means = {
                (d.student, d.name) for d in affected if means.get((d.student, d.name)) == d.choice
            }
            connection.execute(
                update(_ITEMS)
                .where(of_item)
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
            affected = [d for d in affected if (d.student, d.name) in max_points]
            marks = mark_rows.current_marks(connection, *mark_rows.condition_on_part(item.part))
            new_means = mark_rows.mean_choices(marks)
            batch = next_batch(connection)
            for d in affected:
                key = d.student, d.name
                answer = d.as_answer(max_points[key])
                choice = new_means[key] if key in are_means else d.choice
                self._decisions.store_in_transaction(connection, batch, answer, choice, by=by)
        return len(affected)
