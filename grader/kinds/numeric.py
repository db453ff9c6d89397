"""A number with a unit, accepted within a tolerance."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from grader import units
from grader.kinds import numbers, samples
from grader.kinds.base import UNDRAWN, Example, Usual, kinds
from grader.kinds.itemised import number_item
from grader.kinds.numbers import NumberPart, NumericKey
from grader.kinds.scalars import number, number_in
from grader.model import Draw, Judgement, Raw
from grader.model.item import Item
from grader.units.quantity import Quantity, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeric(NumberPart):
    """A number with a unit, accepted within 1% of the key unless `tolerance` says otherwise."""

    kind: Literal["numeric"] = "numeric"


class NumericKind(Usual[NumericKey, int | float]):
    """A number with a unit, accepted within a tolerance."""

    spec: type[NumberPart] = Numeric

    def key(self, part: NumberPart, draw: Draw) -> NumericKey:
        """Returns the value and the accepted interval."""
        return numbers.key_for(
            part, draw, numbers.computed(part.answer, part.unit, draw, draw.scope)
        )

    def read(self, raw: Raw, key: NumericKey) -> int | float:
        """Returns the number in the part's unit."""
        return number(raw, key.unit, self.wanted(key.unit))

    def wanted(self, unit: str) -> str:
        """Returns what to write, in words."""
        return number_in(unit)

    def judge(self, value: float, key: NumericKey) -> Judgement:
        """Returns correct, a mistake, a unit slip, or incorrect."""
        return numbers.judge(value, key)

    def say(self, value: float, key: NumericKey) -> str:
        """Returns the number with its unit."""
        return numbers.shown(value, key.unit)

    def examples(self, key: NumericKey) -> tuple[Example, ...]:
        """Returns the key in several forms, the ends of the interval, mistakes, and values that are
        not numbers."""
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

    def how(self, key: NumericKey) -> str:
        """Returns the expected unit."""
        asked = self.wanted(key.unit)
        return f"{asked}, or a text with its unit" if key.unit else asked

    def answer(self, key: NumericKey) -> object:
        """Returns the number."""
        return key.value

    def true(self, key: NumericKey) -> int | float | None:
        """Returns the number."""
        return key.value

    def solved(self, answer: object, key: NumericKey) -> int | float:  # noqa: ARG002
        """Returns the number as it is, in the part's unit; accepts numpy scalars."""
        if isinstance(answer, (bool, str)):
            raise ValueError(f"{answer!r} is not a number")
        value = answer if isinstance(answer, int) else float(answer)  # type: ignore[arg-type]
        if not abs(value) <= sys.float_info.max:
            raise ValueError(f"{units.number(value)} is not a finite number")
        return value

    def sheet(self, key: NumericKey) -> Mapping[str, object]:
        """Returns the unit."""
        return {"unit": key.unit}

    def from_sheet(self, sheet: Mapping[str, object]) -> NumericKey:
        """Returns a key that knows the unit and accepts nothing."""
        unit = str(sheet["unit"])
        units.unit(unit)
        part = self.spec(id="", kind="", ask="", answer=0, unit=unit)
        nothing = float("nan")
        return NumericKey(
            part=part, draw=UNDRAWN, value=nothing, low=nothing, high=nothing, reason=""
        )

    def brief(self, key: NumericKey) -> str:
        """Returns the unit."""
        return key.unit

    def literal(self, key: NumericKey) -> str:
        """Returns the number in full precision."""
        return repr(key.value)

    def explain(self, key: NumericKey) -> str:
        """Returns the key and the accepted interval, as Markdown."""
        return numbers.explain(key)

    def items(self, key: NumericKey) -> tuple[Item, ...]:
        """Returns the number with its mistakes."""
        return (number_item(key),)

    def carried(self, value: float | None, key: NumericKey) -> Value | None:
        """Returns the number as a quantity in the part's unit; None if it is too large for that."""
        if value is None or not key.unit:
            return value
        try:
            found = units.quantity(value, key.unit)
            finite = not isinstance(found, Quantity) or math.isfinite(found.magnitude)
        except OverflowError:
            return None
        return found if finite else None


kinds.add("numeric")(NumericKind())
