"""The options of a choice, written or computed, and which of them are right in a variant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from grader import units
from grader.expressions import evaluate, holds
from grader.kinds.lettered import LabeledChoice, label_choices
from grader.kinds.texts import fill
from grader.model import Draw, Expr, Share, Text
from grader.model.spec import STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option: a text, or a computed value that is printed with its unit."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    id: str | None = None
    """Derived from the text if not given. Computed options and texts with placeholders need one."""
    text: Text | None = None
    """The text of the option; give this or `value`."""
    value: Expr | None = None
    """The value of the option, computed from the variant's numbers."""
    unit: str = ""
    """With `value`: the unit to print it in."""
    digits: int = 4
    """With `value`: the number of significant digits to print."""
    correct: Expr = False
    """Whether it is right: true, false, or a condition on the variant's numbers."""
    credit: Share = 0.0
    """The share of the points for choosing this wrong option."""
    feedback: Text = ""
    """Feedback for students who choose it by mistake; makes it a named mistake."""


def option_id(option: Option) -> str:
    """Returns the option's ID, or one derived from its text. Raises ValueError if neither is
    possible."""
    if option.id:
        return option.id
    if option.text is None or "{" in option.text:
        raise ValueError("a computed option needs an 'id'")
    return _slug(option.text)


@lru_cache(maxsize=1024)
def _slug(text: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")
    if not slug:
        raise ValueError(f"the option '{text}' needs an 'id'")
    return slug


def options_for(
    options: Sequence[Option], draw: Draw, *, label: str, shuffle: bool
) -> tuple[LabeledChoice, ...]:
    """Returns the options with their letters. Raises ValueError if two can't be told apart."""
    order = draw.order(label, len(options)) if shuffle else tuple(range(len(options)))
    return label_choices(tuple([(option_id(o), _option_text(o, draw)) for o in options]), order)


def _option_text(option: Option, draw: Draw) -> str:
    if (option.text is None) == (option.value is None):
        raise ValueError("an option needs either 'text' or 'value'")
    if option.text is not None:
        return fill(option.text, draw)
    assert option.value is not None  # noqa: S101 - exactly one of the two is there
    value = evaluate(option.value, draw.scope, draw.facts)
    return units.format_quantity(value, option.unit or None, option.digits)


def right_ids(options: Sequence[Option], draw: Draw) -> tuple[str, ...]:
    """Returns the IDs of the options that are right for these numbers."""
    return tuple([option_id(o) for o in options if _is_right(o.correct, draw)])


def _is_right(condition: Expr, draw: Draw) -> bool:
    if isinstance(condition, bool):
        return condition
    return holds(condition, draw.scope, draw.facts)


def is_mistake(option: Option) -> bool:
    """Whether choosing it by mistake is a named mistake."""
    return bool(option.feedback) or option.credit > 0
