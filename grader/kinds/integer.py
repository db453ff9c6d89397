"""A whole number, exact unless the author gives a tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from grader.kinds import numbers, samples, tolerance
from grader.kinds.base import Example, kinds
from grader.kinds.itemised import number_item
from grader.kinds.numbers import NumberPart, NumericKey
from grader.kinds.numeric import NumericKind
from grader.model import Draw, Judgement, Raw, Tolerance
from grader.model.item import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(NumberPart):
    """A whole number, with or without a unit."""

    kind: Literal["integer"] = "integer"
    tolerance: Tolerance = tolerance.EXACT
    """How far from the key an answer may lie; nothing but the key unless given."""


_NOT_WHOLE = replace(numbers.INCORRECT, note="A whole number is asked.")


class IntegerKind(NumericKind):
    """A whole number, exact unless the author gives a tolerance."""

    spec: type[NumberPart] = Integer

    def key(self, part: NumberPart, draw: Draw) -> NumericKey:
        """The whole number and the accepted interval; ValueError when it is not whole."""
        value = whole(numbers.computed(part.answer, part.unit, draw, draw.scope))
        if not isinstance(value, int):
            raise ValueError(f"the answer {value!r} is not whole: round it, or make it numeric")
        return numbers.key_for(part, draw, value)

    def read(self, raw: Raw, key: NumericKey) -> int | float:
        """The number; 4.0 is 4, and 4.5 stays what it is and is judged wrong."""
        return whole(super().read(raw, key))

    def wanted(self, unit: str) -> str:
        """What is asked for, in words."""
        return f"a whole number in {unit}" if unit else "a whole number"

    def judge(self, value: float, key: NumericKey) -> Judgement:
        """As for any number, but nothing that is not whole is accepted."""
        judged = super().judge(value, key)
        if not isinstance(value, int) and judged.mistake is None:
            return _NOT_WHOLE
        return judged

    def examples(self, key: NumericKey) -> tuple[Example, ...]:
        """As for any number, and a number that is not whole."""
        between = float(key.value) + 0.4321
        if self.judge(between, key) is not _NOT_WHOLE:
            return super().examples(key)  # it happens to be a mistake of the author's
        sample = Example(raw=samples.number(between), share=0.0, why="a number that is not whole")
        return (*super().examples(key), sample)

    def ends(self, key: NumericKey) -> tuple[int | float, int | float]:
        """The smallest and the largest whole number that are accepted."""
        return math.ceil(key.low), math.floor(key.high)

    def items(self, key: NumericKey) -> tuple[Item, ...]:
        """The number, with its mistakes."""
        return (number_item(key, whole=True),)

    def solved(self, answer: object, key: NumericKey) -> int | float:
        """The whole number as it is, in the part's unit."""
        return whole(super().solved(answer, key))


def whole(value: float) -> int | float:
    """*value* as an int when it is one but for rounding errors; otherwise unchanged."""
    if isinstance(value, int):
        return value
    nearest = round(value)
    return nearest if abs(value - nearest) <= min(1e-6, 1e-9 * max(1.0, abs(value))) else value


kinds.add("integer")(IntegerKind())
