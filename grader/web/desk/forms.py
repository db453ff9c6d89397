"""Reads the forms of the desk."""

from __future__ import annotations

import math
from dataclasses import dataclass

from grader.errors import SetupError
from grader.model.desk import Choice, PartId, RubricItem
from grader.text.words import points as worth
from grader.web.safety import FormFields

_LONGEST = 10_000
"""Maximum characters of a text."""
_MOST_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """What a page showed of an answer."""

    decision: int
    """The number of its newest decision; 0 for none."""
    mark: int
    """The number of its newest independent mark; 0 for none."""
    state: str
    """The state of the answer and of the grader's own mark."""


class Form(FormFields):
    """The fields of a submitted form of the desk."""

    __slots__ = ()

    def text(self, name: str) -> str:
        """Returns the field's text without spaces around it; empty if there is none."""
        return FormFields.text(self, name).strip()[:_LONGEST]

    def prose(self, name: str) -> str:
        """Returns what a person wrote into the field; raises SetupError rather than cut it."""
        length = len(next(iter(self.every(name)), "").strip())
        if length > _LONGEST:
            raise SetupError(
                f"a text of {length:,} characters is too long to be stored",
                fix=f"go back and shorten it to {_LONGEST:,} characters",
            )
        return self.text(name)

    def number(self, name: str) -> int:
        """Returns the field's whole number; 0 if there is none."""
        return _parse_count(self.text(name))

    def page_states(self) -> dict[str, PageState]:
        """Returns what the page showed of each answer that the form is about, by student as in
        addresses."""
        rows = (value.rsplit(":", 3) for value in self.every("answer"))
        return {
            row[0]: PageState(
                decision=_parse_count(row[1]), mark=_parse_count(row[2]), state=row[3]
            )
            for row in rows
            if len(row) == 4
        }


def _parse_count(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < _MOST_DIGITS else 0


def choice_of(form: Form, max_points: float) -> Choice:
    """Returns the choice that *form* makes. Raises SetupError if its points can't be given.

    The buttons for full and for no points, `quick`, leave out the rubric's items.
    """
    quick = form.text("quick")
    points = _parse_points(quick or form.text("points"), "points", 0.0, max_points)
    numbers = {_parse_count(text) for text in form.every("item")} - {0}
    items = () if quick else tuple(sorted(numbers))
    comment, second = form.prose("comment"), bool(form.text("second_opinion"))
    if points is None and not items:
        raise SetupError(
            "there are no points to save", fix="go back, and choose rubric items or enter points"
        )
    return Choice(items=items, points=points, comment=comment, second_opinion=second)


def item_of(form: Form, part: PartId, max_points: float) -> RubricItem:
    """Returns the rubric item that *form* describes, with number 0 for a new one."""
    text = form.prose("text")
    points = _parse_points(form.text("points"), "points", -max_points, max_points)
    if not text or points is None:
        raise SetupError("a rubric item needs text and points", fix="go back and fill in both")
    return RubricItem(
        number=form.number("number"),
        part=part,
        text=text,
        points=points,
        feedback=form.prose("feedback"),
        is_retired=bool(form.text("retired")),
    )


def _parse_points(text: str, name: str, least: float, most: float) -> float | None:
    """Returns the number in a field; None if it is empty."""
    if not text:
        return None
    try:
        points = float(text.replace(",", "."))
    except ValueError:
        points = math.nan
    if not least <= points <= most and worth(points if math.isfinite(points) else 0) != worth(most):
        raise SetupError(
            f"'{text}' is not a valid number of {name}",
            fix=f"go back and enter a number from {worth(least)} to {worth(most)}",
        )
    if not math.isfinite(points):
        raise SetupError(f"'{text}' is not a number", fix="go back and enter a number")
    return min(points, most)
