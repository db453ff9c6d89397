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
        """The value and the accepted interval."""
        return numbers.key_for(
            part, draw, numbers.computed(part.answer, part.unit, draw, draw.scope)
        )

    def read(self, raw: Raw, key: NumericKey) -> int | float:
        """The number in the part's unit."""
        return number(raw, key.unit, self.wanted(key.unit))

    def wanted(self, unit: str) -> str:
        """What is asked for, in words."""
        return number_in(unit)

    def judge(self, value: float, key: NumericKey) -> Judgement:
        """Accepted, a mistake, a unit slip, or outside."""
        return numbers.judge(value, key)

    def say(self, value: float, key: NumericKey) -> str:
        """The number with its unit."""
        return numbers.shown(value, key.unit)

    def examples(self, key: NumericKey) -> tuple[Example, ...]:
        """The key in several forms, both ends of the interval, mistakes, and what is no number."""
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
        """The smallest and the largest number that are accepted."""
        return key.low, key.high

    def how(self, key: NumericKey) -> str:
        """The unit asked for."""
        asked = self.wanted(key.unit)
        return f"{asked}, or a text with its unit" if key.unit else asked

    def answer(self, key: NumericKey) -> object:
        """The number."""
        return key.value

    def true(self, key: NumericKey) -> int | float | None:
        """The number."""
        return key.value

    def solved(self, answer: object, key: NumericKey) -> int | float:  # noqa: ARG002
        """The number as it is, in the part's unit; numpy's are taken too."""
        if isinstance(answer, (bool, str)):
            raise ValueError(f"{answer!r} is not a number")
        value = answer if isinstance(answer, int) else float(answer)  # type: ignore[arg-type]
        if not abs(value) <= sys.float_info.max:
            raise ValueError(f"{units.number(value)} is not a finite number")
        return value

    def sheet(self, key: NumericKey) -> Mapping[str, object]:
        """The unit."""
        return {"unit": key.unit}

    def from_sheet(self, sheet: Mapping[str, object]) -> NumericKey:
        """A key that knows the unit and accepts nothing."""
        unit = str(sheet["unit"])
        units.unit(unit)
        part = self.spec(id="", kind="", ask="", answer=0, unit=unit)
        nothing = float("nan")
        return NumericKey(
            part=part, draw=UNDRAWN, value=nothing, low=nothing, high=nothing, reason=""
        )

    def brief(self, key: NumericKey) -> str:
        """The unit."""
        return key.unit

    def literal(self, key: NumericKey) -> str:
        """The number in full precision."""
        return repr(key.value)

    def explain(self, key: NumericKey) -> str:
        """The key and the accepted interval."""
        return numbers.explain(key)

    def items(self, key: NumericKey) -> tuple[Item, ...]:
        """The number, with its mistakes."""
        return (number_item(key),)

    def carried(self, value: float | None, key: NumericKey) -> Value | None:
        """The number as a quantity of the part's unit; None when it is too large for that."""
        if value is None or not key.unit:
            return value
        try:
            found = units.quantity(value, key.unit)
            finite = not isinstance(found, Quantity) or math.isfinite(found.magnitude)
        except OverflowError:
            return None
        return found if finite else None


kinds.add("numeric")(NumericKind())
