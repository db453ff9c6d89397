"""A number with a unit, accepted within a tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from grader import units
from grader.kinds import numbers, samples
from grader.kinds.base import UNDRAWN, Example, KindOf, kinds
from grader.kinds.numbers import NumberPart, NumericKey
from grader.kinds.scalars import number_in_words, read_number
from grader.model import Draw, Judgement, Raw
from grader.units.quantity import Quantity, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeric(NumberPart):
    """A number with a unit, accepted within 1% of the key unless `tolerance` says otherwise."""

    kind: Literal["numeric"] = "numeric"


class NumericKind(KindOf[NumericKey, int | float]):
    """A number with a unit, accepted within a tolerance."""

    spec: type[NumberPart] = Numeric

    def key(self, part: NumberPart, draw: Draw) -> NumericKey:
        return numbers.make_key(
            part, draw, numbers.evaluate_answer(part.answer, part.unit, draw, draw.scope)
        )

    def read(self, raw: Raw, key: NumericKey) -> int | float:
        return read_number(raw, key.unit, self.expected_form(key.unit))

    def expected_form(self, unit: str) -> str:
        """Returns what to write, in words."""
        return number_in_words(unit)

    def judge(self, value: float, key: NumericKey) -> Judgement:
        return numbers.judge(value, key)

    def format_value(self, value: float, key: NumericKey) -> str:
        return numbers.format_number(value, key.unit)

    def examples(self, key: NumericKey) -> tuple[Example, ...]:
        text = f"{key.value!r} {key.unit}".rstrip()
        from_numpy = {**samples.number(key.value), "from": "numpy.number"}
        return (
            Example(raw=samples.number(key.value), share=1.0, why="the key"),
            Example(raw=from_numpy, share=1.0, why="the key from numpy"),
            Example(raw=samples.text(text), share=1.0, why="the key with its unit"),
            *(
                Example(raw=samples.number(end), share=1.0, why="an end of the accepted interval")
                for end in self.ends(key)
            ),
            Example(raw=samples.number(numbers.wrong_number(key)), share=0.0, why="a wrong number"),
            *numbers.mistake_examples(key),
            *samples.NOT_NUMBERS,
        )

    def ends(self, key: NumericKey) -> tuple[int | float, int | float]:
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
        nothing = float("nan")
        return NumericKey(
            part=part, draw=UNDRAWN, value=nothing, low=nothing, high=nothing, reason=""
        )

    def explain(self, key: NumericKey) -> str:
        return numbers.explain(key)

    def carry_value(self, value: float, key: NumericKey) -> Value | None:
        if not key.unit:
            return value
        try:
            found = units.quantity(value, key.unit)
            finite = not isinstance(found, Quantity) or math.isfinite(found.magnitude)
        except OverflowError:
            return None
        return found if finite else None


kinds.add("numeric")(NumericKind())
