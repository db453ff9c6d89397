"""A whole number, exact unless the author gives a tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from grader.kinds import numbers, samples, tolerance
from grader.kinds.base import Example, kinds
from grader.kinds.numbers import NumberPart, NumericKey
from grader.kinds.numeric import NumericKind
from grader.model import Draw, Judgement, Raw, Tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(NumberPart):
    """A whole number, with an optional unit."""

    kind: Literal["integer"] = "integer"
    tolerance: Tolerance = tolerance.EXACT
    """How far an answer may be from the key. By default, only the key is accepted."""


_NOT_WHOLE = replace(numbers.INCORRECT, note="The answer must be a whole number.")


class IntegerKind(NumericKind):
    """A whole number, exact unless the author gives a tolerance."""

    spec: type[NumberPart] = Integer

    def key(self, part: NumberPart, draw: Draw) -> NumericKey:
        value = as_whole_number(numbers.evaluate_answer(part.answer, part.unit, draw, draw.scope))
        if not isinstance(value, int):
            fix = "round it, or use kind: numeric"
            raise ValueError(f"the answer {value!r} is not a whole number: {fix}")
        return numbers.make_key(part, draw, value)

    def read(self, raw: Raw, key: NumericKey) -> int | float:
        # 4.0 becomes 4, and 4.5 stays as it is and is judged wrong.
        return as_whole_number(super().read(raw, key))

    def expected_form(self, unit: str) -> str:
        """Returns what to write, in words."""
        return f"a whole number in {unit}" if unit else "a whole number"

    def judge(self, value: float, key: NumericKey) -> Judgement:
        judged = super().judge(value, key)
        if not isinstance(value, int) and judged.mistake is None:
            return _NOT_WHOLE
        return judged

    def examples(self, key: NumericKey) -> tuple[Example, ...]:
        between = float(key.value) + 0.4321
        if self.judge(between, key) is not _NOT_WHOLE:
            return super().examples(key)  # it happens to be one of the spec's mistakes
        sample = Example(raw=samples.number(between), share=0.0, why="a number that is not whole")
        return (*super().examples(key), sample)

    def ends(self, key: NumericKey) -> tuple[int | float, int | float]:
        """Returns the smallest and the largest accepted whole number."""
        return math.ceil(key.low), math.floor(key.high)


def as_whole_number(value: float) -> int | float:
    """Returns *value* as an int if it is whole up to rounding errors; otherwise unchanged."""
    if isinstance(value, int):
        return value
    nearest = round(value)
    return nearest if abs(value - nearest) <= min(1e-6, 1e-9 * max(1.0, abs(value))) else value


kinds.add("integer")(IntegerKind())
