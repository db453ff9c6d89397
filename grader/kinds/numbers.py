"""A number with its unit, tolerance, mistakes, and slips: its key and how answers are judged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from grader import units
from grader.expressions import evaluate, holds
from grader.kinds import samples, slips, tolerance
from grader.kinds.base import CORRECT, Example
from grader.kinds.scalars import quote
from grader.kinds.slips import Slips
from grader.kinds.texts import fill, try_fill
from grader.model import Draw, Expr, Judgement, Key, Mistake, Part, Tolerance, Verdict
from grader.model.spec import STRICT
from grader.units.convert import format_with_unit
from grader.units.quantity import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberPart(Part):
    """The fields that all parts with a single number share."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    answer: Expr
    """The right answer; its dimension must match `unit`."""
    unit: str = ""
    """The unit of a number without one; empty for a plain number."""
    tolerance: Tolerance = tolerance.DEFAULT
    """How far an answer may be from the key."""
    mistakes: tuple[Mistake, ...] = ()
    """Wrong answers that students often give."""
    slips: Slips | Literal[False] = field(default_factory=Slips)
    """The credit for a unit slip; false if the part tests for such slips."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericKey(Key):
    """The right number and the accepted range, in the part's unit."""

    part: NumberPart
    value: int | float
    low: int | float
    high: int | float
    reason: str

    @property
    def unit(self) -> str:
        """The unit of all numbers in the key."""
        return self.part.unit

    @property
    def interval(self) -> tolerance.Interval:
        """The accepted interval, both ends included."""
        return tolerance.Interval(self.low, self.high, self.reason)


LARGEST = 1e299
"""The largest key. Students may write slightly larger numbers, up to 300 digits."""
FARTHEST = 1e300
"""The largest end of an accepted interval, so that no sum or difference overflows a float."""

INCORRECT = Judgement(share=0.0, verdict=Verdict.INCORRECT, note="Not within the accepted range.")


def evaluate_answer(answer: Expr, unit: str, draw: Draw, scope: Mapping[str, Value]) -> int | float:
    """Returns the value of *answer* as a number in *unit*. Raises ValueError if it is not a
    number."""
    found = evaluate(answer, scope, draw.facts)
    try:
        value = units.magnitude(found, unit)
    except units.DimensionError as error:
        what = f"the dimension of {quote(answer)} does not match its unit"
        raise ValueError(f"{what}: {error}") from None
    except OverflowError:
        value = math.inf
    if not -LARGEST <= value <= LARGEST:
        raise ValueError(f"{quote(answer)} is too large to be an answer")
    return value


def make_key(part: NumberPart, draw: Draw, value: float) -> NumericKey:
    """Returns the key of a part with a known value. Raises ValueError if the tolerance is too
    wide."""
    accepted = tolerance.accepted_interval(
        value,
        part.tolerance,
        unit=part.unit,
        draw=draw,
        compute=lambda scope: evaluate_answer(part.answer, part.unit, draw, scope),
    )
    if not (-FARTHEST <= accepted.low <= accepted.high <= FARTHEST):
        raise ValueError(f"the tolerance of {quote(part.answer)} is too wide")
    return NumericKey(
        part=part,
        draw=draw,
        value=value,
        low=accepted.low,
        high=accepted.high,
        reason=accepted.reason,
    )


def judge(value: float, key: NumericKey) -> Judgement:
    """Returns the judgment of a number: correct, a mistake, a unit slip, or incorrect.

    Mistakes are not evaluated for a right answer, because most answers are right.
    """
    if tolerance.is_within(value, key.low, key.high):
        return CORRECT
    return _find_mistake(value, key) or _find_slip(value, key) or INCORRECT


def _find_mistake(value: float, key: NumericKey) -> Judgement | None:
    nearest: tuple[float, Mistake] | None = None
    accepted = key.interval
    for mistake in key.part.mistakes:
        try:
            # `when` is checked last: few wrong answers are any one mistake.
            centre = evaluate_answer(mistake.value, key.unit, key.draw, key.draw.scope)
            around = tolerance.scale_interval(accepted, key.value, centre)
            if not tolerance.is_within(value, *around) or not _applies(mistake, key):
                continue
        except ValueError:
            # Only if a student's own earlier answer is in scope; the gate checks all other scopes.
            continue
        distance = abs(value - centre)
        if nearest is None or distance < nearest[0]:
            nearest = distance, mistake
    return _judge_mistake(nearest[1], key) if nearest else None


def _applies(mistake: Mistake, key: NumericKey) -> bool:
    return mistake.when is None or holds(mistake.when, key.draw.scope, key.draw.facts)


def mistake_value(mistake: Mistake, key: NumericKey) -> int | float | None:
    """Returns the value of the mistake for this key, or None if its `when` does not hold."""
    if not _applies(mistake, key):
        return None
    return evaluate_answer(mistake.value, key.unit, key.draw, key.draw.scope)


def _judge_mistake(mistake: Mistake, key: NumericKey) -> Judgement:
    return Judgement(
        share=mistake.credit,
        verdict=Verdict.MISTAKE,
        note=try_fill(mistake.feedback, key.draw),
        mistake=mistake.id,
    )


def _find_slip(value: float, key: NumericKey) -> Judgement | None:
    part = key.part
    if part.slips is False or key.value == 0:
        return None
    slip = slips.find_slip(
        float(value),
        float(key.value),
        unit=key.unit,
        scope=key.draw.scope,
        width=float(key.high - key.low) / 2 / abs(float(key.value)),
    )
    if slip is None:
        return None
    return Judgement(
        share=part.slips.credit,
        verdict=Verdict.MISTAKE,
        note=slip.sentence,
        mistake=slip.id,
    )


def format_number(value: float, unit: str, digits: int | None = None) -> str:
    """Returns a number with its unit, such as "28 GB"; a whole number has all its digits."""
    if isinstance(value, int) and abs(value) < 10**40:
        return format_with_unit(0, unit).replace("0", str(value), 1)
    return format_with_unit(value, unit, digits)


def enough_digits(key: NumericKey) -> int:
    """Returns how many digits distinguish the ends of the interval from the key."""
    width = float(key.high - key.low)
    relative = width / abs(float(key.value)) if key.value else 0.0
    if not 0 < relative < math.inf:
        return 6
    least, more = (4, 2) if key.unit == "%" else (6, 3)
    return min(15, max(least, more - math.floor(math.log10(relative))))


def explain(key: NumericKey) -> str:
    """Returns the key, the accepted range, and the reason for it, as Markdown."""
    digits = enough_digits(key)
    right = f"**{format_number(key.value, key.unit, digits)}**"
    if key.low == key.high:
        return f"{right}; nothing else is accepted ({key.reason})"
    low, high = units.format_number(key.low, digits), format_number(key.high, key.unit, digits)
    return f"{right}; accepted from {low} to {high} ({key.reason})"


def wrong_number(key: NumericKey) -> int | float:
    """Returns a number that is neither accepted nor a mistake nor a slip. Raises ValueError."""
    start = max(abs(key.low), abs(key.high), 1)
    whole = isinstance(key.value, int)
    for step in range(1, 200):
        # Powers of the golden ratio are not close to any ratio of units or counts.
        candidate = start * 1.618**step + step
        if judge(value := math.ceil(candidate) if whole else candidate, key) is INCORRECT:
            return value
    raise ValueError("every number seems to be accepted or a mistake; reduce the tolerance")


def mistake_examples(key: NumericKey) -> Iterator[Example]:
    """Yields an example of every mistake of this key. Raises if one can't be evaluated."""
    for mistake in key.part.mistakes:
        value = mistake_value(mistake, key)
        if value is None:
            continue
        fill(mistake.feedback, key.draw)
        yield Example(
            raw=samples.number(value),
            share=mistake.credit,
            why=f"the mistake '{mistake.id}'",
            mistake=mistake.id,
        )
