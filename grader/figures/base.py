"""The interface of a type of figure, and the values that its fields have in a variant."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from grader import units
from grader.errors import SpecError
from grader.expressions import ExpressionError, TextError, evaluate, fill
from grader.model import Draw, Expr, Figure
from grader.registry import Registry
from grader.units import DimensionError
from grader.units.quantity import Quantity, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Path = tuple[str | int, ...]
MAX_ITEMS = 2_000
"""Maximum number of bars, cells, or steps that a figure may have."""


class FigureError(SpecError):
    """A figure can't be drawn. *path* leads to the field that is at fault, from the figure."""

    path: Path = ()


@dataclass(frozen=True, slots=True)
class FieldReader:
    """Evaluates the fields of a figure for one variant. Its methods raise FigureError."""

    figure: Figure
    draw: Draw

    def with_names(self, **names: Value) -> FieldReader:
        """Returns a reader that also knows *names*, such as the variable of a curve."""
        return replace(self, draw=replace(self.draw, scope={**self.draw.scope, **names}))

    def value(self, written: Expr, *path: str | int) -> Value:
        """Returns the value of an expression."""
        try:
            return evaluate(written, self.draw.scope, self.draw.facts)
        except ExpressionError as error:
            raise self.error(path, f"in '{written}': {error.what}", error.fix) from None

    def number(self, written: Expr, *path: str | int, unit: str = "") -> float:
        """Returns the value of an expression as a number in *unit*; a plain number counts as
        being in that unit."""
        value = self.value(written, *path)
        try:
            number = float(
                units.magnitude(value, unit) if isinstance(value, (Quantity, str, bool)) else value
            )
        except DimensionError as error:
            raise self.error(path, f"'{written}': {error}", "check its unit") from None
        if not math.isfinite(number):
            fix = "use an expression with a finite value"
            raise self.error(path, f"'{written}' is {number}", fix)
        return number

    def positive(self, written: Expr, *path: str | int, unit: str = "") -> float:
        """Returns the value of an expression as a positive number in *unit*."""
        number = self.number(written, *path, unit=unit)
        if number <= 0:
            what = f"'{written}' is {units.format_number(number)}, which can't be drawn"
            raise self.error(path, what, "use a positive value")
        return number

    def count(self, written: Expr, *path: str | int, least: int = 1, most: int = 64) -> int:
        """Returns the value of an expression as a whole number from *least* to *most*."""
        number = self.number(written, *path)
        if number != int(number) or not least <= number <= most:
            shown = units.format_number(number)
            what = f"'{written}' is {shown}, not a whole number from {least} to {most}"
            fix = f"use a whole number from {least} to {most}"
            if number > most:
                fix = f"draw a part of it, for example min({written}, {most})"
            raise self.error(path, what, fix)
        return int(number)

    def check_length(self, name: str, items: Sized, least: int, most: int) -> None:
        """Raises FigureError unless the field *name* has from *least* to *most* items."""
        if not least <= len(items) <= most:
            fix = f"use {least} to {most} {name}"
            raise self.error((name,), f"the number of {name} is {len(items)}", fix)

    def text(self, written: str, *path: str | int) -> str:
        """Returns a text with its placeholders filled in, on one line."""
        try:
            return " ".join(fill(written, self.draw.scope, self.draw.facts).split())
        except TextError as error:
            raise self.error(path, error.what, error.fix or "check the braces") from None

    def error(self, path: Path, what: str, fix: str | None = None) -> FigureError:
        """Returns the error for the field at *path*."""
        name = self.figure.id
        error = FigureError(f"figure '{name}': {what}", where=name, fix=fix)
        error.path = path
        return error


F = TypeVar("F", bound=Figure)
P = TypeVar("P")
"""What a figure shows for one variant: plain numbers and texts, in a frozen dataclass."""


class FigureTypeOf(ABC, Generic[F, P]):
    """How figures of one type are computed and drawn. Stateless."""

    spec: type[Figure]
    """The fields in a spec: a frozen dataclass that extends `Figure`."""
    sides: tuple[int, int] = (560, 320)
    """Width and height in CSS pixels."""

    @abstractmethod
    def picture(self, figure: F, read: FieldReader) -> P:
        """Returns what *figure* shows. Raises FigureError. Does not import matplotlib."""

    @abstractmethod
    def paint(self, picture: P, canvas: Canvas) -> None:
        """Draws *picture* on an empty canvas of matplotlib."""

    def height(self, picture: P) -> int:  # noqa: ARG002 - most types have one height
        """Returns the height in CSS pixels; types override it if it depends on the numbers."""
        return self.sides[1]


FigureType = FigureTypeOf[Any, Any]

figure_types: Registry[FigureType] = Registry("type of figure", "grader.figures")
"""The types of figures: the fields of each, and how it is drawn."""


def shown_values(picture: object) -> tuple[frozenset[str], frozenset[float]]:
    """Returns all texts and all numbers of *picture*, for a search for what must stay secret."""
    texts: set[str] = set()
    numbers: set[float] = set()
    pending: list[object] = [picture]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            texts.add(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers.add(float(value))
        elif isinstance(value, (tuple, list)):
            pending.extend(value)
        elif isinstance(value, Mapping):
            pending.extend(value.values())
        elif hasattr(value, "__dataclass_fields__"):
            pending.extend(getattr(value, name) for name in value.__dataclass_fields__)
    return frozenset(texts), frozenset(numbers)
