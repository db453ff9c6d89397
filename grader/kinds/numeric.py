"""A number with a unit, accepted within a tolerance, and a whole number: their keys and judge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from operator import itemgetter
from typing import Literal

from grader import units
from grader.expressions import evaluate, holds
from grader.kinds import samples, slips, tolerance
from grader.kinds.base import CORRECT, UNDRAWN, Example, KindOf, kinds, partial_judgment
from grader.kinds.scalars import number_in_words, quote, read_number
from grader.kinds.slips import Slips
from grader.kinds.texts import fill, try_fill
from grader.model import Draw, Expr, Judgment, Key, Mistake, Part, Raw, Tolerance, Verdict
from grader.units.quantity import Quantity, Value
from grader.wire.encoding import encode_answer


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberPart(Part):
    """The fields that all parts with a single number share."""

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
class Numeric(NumberPart):
    """A number with a unit, accepted within 1% of the key unless `tolerance` says otherwise."""

    kind: Literal["numeric"] = "numeric"


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(NumberPart):
    """A whole number, with an optional unit."""

    kind: Literal["integer"] = "integer"
    tolerance: Tolerance = tolerance.EXACT
    """How far an answer may be from the key. By default, only the key is accepted."""


@dataclass(frozen=True, kw_only=True)
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
    def interval(self) -> tolerance.AcceptedInterval:
        """The accepted interval, both ends included."""
        return tolerance.AcceptedInterval(self.low, self.high, self.reason)

    @cached_property
    def mistake_ranges(self) -> tuple[tuple[Mistake, float, float, float], ...]:
        """Each mistake that applies, with its value and the ends of the range around it."""
        return tuple(_iter_mistake_ranges(self))


LARGEST = 1e299
"""The largest key. Students may write slightly larger numbers, up to 300 digits."""
FARTHEST = 1e300
"""The largest end of an accepted interval, so that no sum or difference overflows a float."""

INCORRECT = partial_judgment(0.0, "Not within the accepted range.")


def evaluate_answer(answer: Expr, unit: str, draw: Draw, scope: Mapping[str, Value]) -> int | float:
    """Returns the value of *answer* as a number in *unit*. Raises ValueError for anything else."""
    evaluated = evaluate(answer, scope, draw.facts)
    try:
        value = units.magnitude(evaluated, unit)
    except units.DimensionError as error:
        what = f"the dimension of {quote(answer)} does not match its unit"
        raise ValueError(f"{what}: {error}") from None
    except OverflowError:
        value = math.inf
    if not -LARGEST <= value <= LARGEST:
        raise ValueError(f"{quote(answer)} is too large to be an answer")
    return value


def make_key(part: NumberPart, draw: Draw, *, whole: bool = False) -> NumericKey:
    """Returns the key of a part, an integer if *whole* is true. Raises ValueError for any other
    answer, or if the tolerance is too wide."""
    value = evaluate_answer(part.answer, part.unit, draw, draw.scope)
    if whole:
        value = as_whole_number(value)
        if not isinstance(value, int):
            fix = "round it, or use kind: numeric"
            raise ValueError(f"the answer {value!r} is not a whole number: {fix}")
    accepted = tolerance.accepted_interval(
        value,
        part.tolerance,
        unit=part.unit,
        draw=draw,
        compute=lambda scope: evaluate_answer(part.answer, part.unit, draw, scope),
    )
    if not (-FARTHEST <= accepted.low <= accepted.high <= FARTHEST):
        raise ValueError(f"the tolerance of {quote(part.answer)} is too wide")
    low, high, reason = accepted.low, accepted.high, accepted.reason
    return NumericKey(part=part, draw=draw, value=value, low=low, high=high, reason=reason)


def judge(value: float, key: NumericKey) -> Judgment:
    """Returns the judgment of a number: correct, a mistake, a unit slip, or incorrect.

    Mistakes are not evaluated for a right answer, because most answers are right.
    """
    if tolerance.is_within(value, key.low, key.high):
        return CORRECT
    return _find_mistake(value, key) or _find_slip(value, key) or INCORRECT


def _find_mistake(value: float, key: NumericKey) -> Judgment | None:
    """Returns the judgment for the mistake nearest to a number; None if none is near."""
    near = [
        (abs(value - center), mistake)
        for mistake, center, low, high in key.mistake_ranges
        if tolerance.is_within(value, low, high)
    ]
    if not near:
        return None
    mistake = min(near, key=itemgetter(0))[1]
    note = try_fill(mistake.feedback, key.draw)
    return Judgment(share=mistake.credit, verdict=Verdict.MISTAKE, note=note, mistake=mistake.id)


def _iter_mistake_ranges(key: NumericKey) -> Iterator[tuple[Mistake, float, float, float]]:
    for mistake in key.part.mistakes:
        try:
            center = mistake_value(mistake, key)
        except ValueError:
            # Only if a student's own earlier answer is in scope; the gate checks all other scopes.
            continue
        if center is not None:
            yield mistake, center, *tolerance.scale_interval(key.interval, key.value, center)


def mistake_value(mistake: Mistake, key: NumericKey) -> int | float | None:
    """Returns the value of the mistake for this key, or None if its `when` does not hold."""
    if mistake.when is not None and not holds(mistake.when, key.draw.scope, key.draw.facts):
        return None
    return evaluate_answer(mistake.value, key.unit, key.draw, key.draw.scope)


def _find_slip(value: float, key: NumericKey) -> Judgment | None:
    """Returns the judgment of a number that a common slip explains; None if there is none."""
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
    credit, note = part.slips.credit, slip.sentence
    return Judgment(share=credit, verdict=Verdict.MISTAKE, note=note, mistake=slip.id)


def format_number(value: float, unit: str, digits: int | None = None) -> str:
    """Returns a number with its unit, such as "28 GB"; a whole number has all its digits."""
    if isinstance(value, int) and abs(value) < 10**40:
        return units.format_with_unit(0, unit).replace("0", str(value), 1)
    return units.format_with_unit(value, unit, digits)


def enough_digits(key: NumericKey) -> int:
    """Returns how many digits distinguish the ends of the interval from the key."""
    width = float(key.high - key.low)
    relative = width / abs(float(key.value)) if key.value else 0.0
    if not 0 < relative < math.inf:
        return 6
    fewest, extra = (4, 2) if key.unit == "%" else (6, 3)
    return min(15, max(fewest, extra - math.floor(math.log10(relative))))


def explain(key: NumericKey) -> str:
    """Returns the key, the accepted range, and the reason for it, as Markdown."""
    digits = enough_digits(key)
    right = f"**{format_number(key.value, key.unit, digits)}**"
    if key.low == key.high:
        return f"{right}; nothing else is accepted ({key.reason})"
    low, high = units.format_number(key.low, digits), format_number(key.high, key.unit, digits)
    return f"{right}; accepted from {low} to {high} ({key.reason})"


def wrong_number(key: NumericKey) -> int | float:
    """Returns a number that is neither accepted nor a mistake nor a slip."""
    start = max(abs(key.low), abs(key.high), 1)
    # Powers of the golden ratio are not close to any ratio of units or counts.
    candidates = (start * 1.618**step + step for step in count(1))
    values = map(math.ceil, candidates) if isinstance(key.value, int) else candidates
    return next(value for value in values if judge(value, key) is INCORRECT)


def iter_mistakes(key: NumericKey) -> Iterator[tuple[Mistake, int | float]]:
    """Yields every mistake of this key and its value.

    Raises ExpressionError or TextError if a mistake or its feedback can't be evaluated.
    """
    for mistake in key.part.mistakes:
        value = mistake_value(mistake, key)
        if value is not None:
            fill(mistake.feedback, key.draw)  # so that it raises here if it can't be filled in
            yield mistake, value


class NumericKind(KindOf[NumericKey, int | float]):
    """A number with a unit, accepted within a tolerance."""

    spec: type[NumberPart] = Numeric

    def key(self, part: NumberPart, draw: Draw) -> NumericKey:
        return make_key(part, draw)

    def read(self, raw: Raw, key: NumericKey) -> int | float:
        return read_number(raw, key.unit, self.expected_form(key.unit))

    def expected_form(self, unit: str) -> str:
        """Returns what to write, in words."""
        return number_in_words(unit)

    def judge(self, value: float, key: NumericKey) -> Judgment:
        return judge(value, key)

    def format_value(self, value: float, key: NumericKey) -> str:
        return format_number(value, key.unit)

    def examples(self, key: NumericKey) -> tuple[Example, ...]:
        from_numpy = {**encode_answer(key.value), "from": "numpy.number"}
        return (
            samples.right(key.value, "the key"),
            Example(raw=from_numpy, share=1.0, why="the key from numpy"),
            samples.right(f"{key.value!r} {key.unit}".rstrip(), "the key with its unit"),
            *(
                samples.right(end, "an end of the accepted interval")
                for end in self.accepted_ends(key)
            ),
            samples.sample(wrong_number(key), 0.0, "a wrong number"),
            *(
                samples.sample(value, mistake.credit, f"the mistake '{mistake.id}'", mistake.id)
                for mistake, value in iter_mistakes(key)
            ),
            *samples.NOT_NUMBERS,
        )

    def accepted_ends(self, key: NumericKey) -> tuple[int | float, int | float]:
        """Returns the smallest and the largest accepted number."""
        return key.low, key.high

    def instructions(self, key: NumericKey) -> str:
        asked = self.expected_form(key.unit)
        return f"{asked}, or a text with its unit" if key.unit else asked

    def answer(self, key: NumericKey) -> object:
        return key.value

    def sheet(self, key: NumericKey) -> Mapping[str, object]:
        return {"unit": key.unit}

    def from_sheet(self, sheet: Mapping[str, object]) -> NumericKey:
        unit = str(sheet["unit"])
        units.parse_unit(unit)
        part = self.spec(id="", kind="", ask="", answer=0, unit=unit)
        return NumericKey(part=part, draw=UNDRAWN, value=0, low=0, high=0, reason="")

    def explain(self, key: NumericKey) -> str:
        return explain(key)

    def carry_value(self, value: float, key: NumericKey) -> Value | None:
        if not key.unit:
            return value
        try:
            carried = units.quantity(value, key.unit)
            finite = not isinstance(carried, Quantity) or math.isfinite(carried.magnitude)
        except OverflowError:
            return None
        return carried if finite else None


_NOT_WHOLE = replace(INCORRECT, note="The answer must be a whole number.")


class IntegerKind(NumericKind):
    """A whole number, exact unless the author gives a tolerance."""

    spec: type[NumberPart] = Integer

    def key(self, part: NumberPart, draw: Draw) -> NumericKey:
        return make_key(part, draw, whole=True)

    def read(self, raw: Raw, key: NumericKey) -> int | float:
        # 4.0 becomes 4, and 4.5 stays as it is and is judged wrong.
        return as_whole_number(super().read(raw, key))

    def expected_form(self, unit: str) -> str:
        """Returns what to write, in words."""
        return f"a whole number in {units.asked_unit(unit)}" if unit else "a whole number"

    def judge(self, value: float, key: NumericKey) -> Judgment:
        judged = super().judge(value, key)
        if not isinstance(value, int) and judged.mistake is None:
            return _NOT_WHOLE
        return judged

    def examples(self, key: NumericKey) -> tuple[Example, ...]:
        between = float(key.value) + 0.4321
        if self.judge(between, key) is not _NOT_WHOLE:
            return super().examples(key)  # it happens to be one of the spec's mistakes
        return (
            *super().examples(key),
            samples.sample(between, 0.0, "a number that is not whole"),
        )

    def accepted_ends(self, key: NumericKey) -> tuple[int | float, int | float]:
        """Returns the smallest and the largest accepted whole number."""
        return math.ceil(key.low), math.floor(key.high)


def as_whole_number(value: float) -> int | float:
    """Returns *value* as an int if it is whole up to rounding errors; otherwise unchanged."""
    if isinstance(value, int):
        return value
    nearest = round(value)
    return nearest if abs(value - nearest) <= min(1e-6, 1e-9 * max(1.0, abs(value))) else value


kinds.add("numeric")(NumericKind())
kinds.add("integer")(IntegerKind())
