"""The numbers of a variant as solutions receive them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from grader import units
from grader.model import Facts
from grader.units.quantity import Quantity, Value


class Given(Mapping[str, object]):
    """The parameters for a solution: plain numbers in their declared units, or texts."""

    def __init__(self, parameters: Mapping[str, Value], facts: Facts):
        self._facts = facts
        self._values: dict[str, object] = {}
        for name, value in parameters.items():
            if isinstance(value, Quantity):
                self._values[name] = units.magnitude(value, value.unit or "")
            else:
                self._values[name] = value

    def __getitem__(self, name: str) -> object:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def fact(self, item: str, name: str, unit: str = "") -> float | int | str:
        """Returns a fact as a plain number in *unit*, or as text."""
        value = self._facts[item][name]
        return value if isinstance(value, str) else units.magnitude(value, unit)
