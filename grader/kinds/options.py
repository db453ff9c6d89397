"""Options that are chosen by letters: what authors write, and what a student sees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from grader import units
from grader.expressions import evaluate, holds
from grader.kinds import lettered
from grader.kinds.lettered import LabeledChoice
from grader.kinds.texts import fill
from grader.model import Draw, Expr, Share, Text
from grader.model.spec import Strict


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOption(Strict):
    """An option: a text, or a computed value that is printed with its unit."""

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
    """Feedback for students who choose it by mistake; makes it a named mistake. For an option of
    multi_choice that is always right, why it is right, which is shown with the right answer."""


@lru_cache(maxsize=1024)
def option_id(option: AnswerOption) -> str:
    """Returns the option's ID, or one from its text. Raises ValueError if neither is possible."""
    if option.id:
        return option.id
    if option.text is None or "{" in option.text:
        raise ValueError("a computed option needs an 'id'")
    slug = re.sub(r"[^a-z0-9]+", "-", option.text.casefold()).strip("-")
    if not slug:
        raise ValueError(f"the option '{option.text}' needs an 'id'")
    return slug


def option_by_letter(
    options: Sequence[AnswerOption], choices: Sequence[LabeledChoice], letter: str
) -> AnswerOption:
    """Returns the one of *options* that a student sees under *letter*."""
    chosen = lettered.choice_by_letter(choices, letter).id
    return next(option for option in options if option_id(option) == chosen)


def label_options(
    options: Sequence[AnswerOption], draw: Draw, label: str | None
) -> tuple[LabeledChoice, ...]:
    """Returns *options* under letters. The order depends on the student and *label*; None keeps the
    author's order."""
    count = len(options)
    order = tuple(range(count)) if label is None else draw.permutation(label, count)
    labeled = tuple([(option_id(o), _option_text(o, draw)) for o in options])
    return lettered.label_choices(labeled, order)


def _option_text(option: AnswerOption, draw: Draw) -> str:
    """Returns an option's text, or its value with a unit. Raises ValueError unless one is given."""
    if option.text is not None and option.value is None:
        return fill(option.text, draw)
    if option.value is None or option.text is not None:
        raise ValueError("an option needs either 'text' or 'value'")
    value = evaluate(option.value, draw.scope, draw.facts)
    return units.format_quantity(value, option.unit or None, option.digits)


def right_letters(
    options: Sequence[AnswerOption], choices: Sequence[LabeledChoice], draw: Draw
) -> list[str]:
    """Returns the letters of those of *options* that are right."""
    right = (o for o in options if holds(o.correct, draw.scope, draw.facts))
    return [lettered.letter_of(choices, option_id(o)) for o in right]
