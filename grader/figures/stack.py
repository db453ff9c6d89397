"""Stacked bars: amounts by category, such as memory, with a line for the capacity."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

from grader import units
from grader.figures import style
from grader.figures.base import FieldReader, FigureTypeOf, figure_types
from grader.model.spec import Expr, Figure, Strict, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True, slots=True, kw_only=True)
class StackedBar(Strict):
    """One of the bars, with an amount for each category."""

    label: Text
    amounts: tuple[Expr, ...]
    """An amount for each category; a plain number is in the figure's unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack(Figure):
    """A bar chart whose bars stack an amount for each category."""

    unit: str = "GB"
    quantity: Text = "Memory"
    """What the amounts are, for the axis."""
    categories: tuple[Text, ...]
    """Up to six, from the bottom."""
    bars: tuple[StackedBar, ...]
    capacity: Expr | None = None
    """An amount to draw a line at."""
    capacity_label: Text = "capacity"


@dataclass(frozen=True, slots=True, kw_only=True)
class StackPicture:
    """The amounts of each bar, by category."""

    unit: str
    quantity: str
    categories: tuple[str, ...]
    labels: tuple[str, ...]
    amounts: tuple[tuple[float, ...], ...]
    capacity: float | None
    capacity_label: str


class StackType(FigureTypeOf[Stack, StackPicture]):
    """Draws upright bars with their totals."""

    spec = Stack

    def picture(self, figure: Stack, read: FieldReader) -> StackPicture:
        """Returns the evaluated amounts of all bars, which must be positive in total."""
        read.check_length("categories", figure.categories, 1, 6)
        read.check_length("bars", figure.bars, 1, 8)
        amounts = []
        for n, bar in enumerate(figure.bars):
            if len(bar.amounts) != len(figure.categories):
                what = f"it has {len(bar.amounts)} amounts for {len(figure.categories)} categories"
                raise read.error(("bars", n, "amounts"), what, "give one amount per category")
            row = [
                read.number(amount, "bars", n, "amounts", m, unit=figure.unit)
                for m, amount in enumerate(bar.amounts)
            ]
            if min(row) < 0 or sum(row) <= 0:
                what = "amounts must not be negative, and one must be positive"
                raise read.error(("bars", n, "amounts"), what, "check the expressions")
            amounts.append(tuple(row))
        capacity = figure.capacity
        return StackPicture(
            unit=figure.unit,
            quantity=read.text(figure.quantity, "quantity"),
            categories=tuple(
                read.text(category, "categories", n) for n, category in enumerate(figure.categories)
            ),
            labels=tuple(read.text(x.label, "bars", n, "label") for n, x in enumerate(figure.bars)),
            amounts=tuple(amounts),
            capacity=None
            if capacity is None
            else read.positive(capacity, "capacity", unit=figure.unit),
            capacity_label=read.text(figure.capacity_label, "capacity_label"),
        )

    def paint(self, picture: StackPicture, canvas: Canvas) -> None:
        """Draws the bars with their totals, and the capacity."""
        totals = [sum(row) for row in picture.amounts]
        top = 1.16 * max(*totals, picture.capacity or 0)
        limit = ""
        if picture.capacity is not None:
            shown = units.format_with_unit(picture.capacity, picture.unit, 4)
            limit = f"{picture.capacity_label} {shown}"
        taken = min(0.4, 6.2 * len(limit) / 470)  # the share of the width for the capacity's label
        across = len(totals) / (1 - taken)
        labels = [fill(label, int(470 / across / 5.6)) for label in picture.labels]
        lines = max(label.count("\n") for label in labels) + 1
        bottom = (62 if len(picture.categories) > 1 else 36) + 13 * (lines - 1)
        axes = style.plot_area(
            canvas, left=style.label_margin(top), right=24, bottom=bottom, top=14
        )
        axes.set(xlim=(-0.6, across - 0.4), ylim=(0, top))
        _paint_bars(axes, picture.amounts)
        for n, row in enumerate(picture.amounts):
            below = 0.0
            for amount in row:
                if 0.09 * top < amount < sum(row):
                    axes.text(
                        n, below + amount / 2, units.format_number(amount, 3), ha="center",
                        va="center", bbox=style.HALO, fontsize=8, zorder=6,
                    )  # fmt: skip
                below += amount
            axes.annotate(
                units.format_number(below, 4), (n, below), (0, 5), textcoords="offset points",
                ha="center", weight="bold", bbox=style.HALO, zorder=6,
            )  # fmt: skip
        if picture.capacity is not None:
            axes.axhline(picture.capacity, color=style.INK, linestyle="--", linewidth=1.2)
            axes.annotate(
                limit, (1, picture.capacity), (0, 4), xycoords=("axes fraction", "data"),
                textcoords="offset points", ha="right",
            )  # fmt: skip
        axes.set_xticks(range(len(totals)), labels)
        axes.tick_params(axis="x", length=0)
        unit = units.printed_unit(picture.unit)
        axes.set_ylabel(f"{picture.quantity} ({unit})" if unit else picture.quantity)
        axes.yaxis.set_major_formatter(lambda y, _: units.format_number(y, 4))
        if len(picture.categories) > 1:
            style.category_legend(canvas, picture.categories)


def _paint_bars(axes: Axes, amounts: tuple[tuple[float, ...], ...]) -> None:
    """Draws the boxes of each category, stacked on those of the categories before it."""
    width = min(0.6, 0.16 * len(amounts) + 0.1)
    for m in range(len(amounts[0])):
        boxes = [(n - width / 2, sum(row[:m]), width, row[m]) for n, row in enumerate(amounts)]
        style.add_boxes(axes, [box for box in boxes if box[3]], lw=0.7, **style.fill_of(m))


figure_types.add("stack")(StackType())
