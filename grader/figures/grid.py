"""Matrices and grids: cells with shades, such as tiles, halos, and masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.figures.base import FieldReader, FigureTypeOf, Picture, figure_types
from grader.figures.style import QUIET, add_boxes, category_legend, drawing_area, fill_of
from grader.model.spec import Expr, Figure, Strict, Text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_MAX_SIDE = 32
_GAP = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class GridMatrix(Strict):
    """One grid."""

    label: Text
    rows: Expr
    columns: Expr
    shade: Expr = 0
    """The shade of a cell, over `row` and `column`: 0 for none, n for the n-th in the legend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grids(Figure):
    """Up to three grids side by side."""

    matrices: tuple[GridMatrix, ...]
    legend: tuple[Text, ...] = ()

    def local_names(self) -> tuple[str, ...]:
        """Returns the names of a cell's place, both from 0."""
        return ("row", "column")


@dataclass(frozen=True, slots=True)
class GridCells:
    """The shades of a grid, by row."""

    label: str
    shades: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GridPicture(Picture):
    """The grids from the left."""

    grids: tuple[GridCells, ...]
    legend: tuple[str, ...]


class GridType(FigureTypeOf[Grids, GridPicture]):
    """Square cells, row 0 at the top."""

    spec = Grids

    def picture(self, figure: Grids, read: FieldReader) -> GridPicture:
        """Returns the shades of all cells."""
        if not 1 <= len(figure.matrices) <= 3:
            what = f"it has {len(figure.matrices)} matrices"
            raise read.error(("matrices",), what, "use 1 to 3 matrices")
        grids = []
        for n, one in enumerate(figure.matrices):
            at = ("matrices", n)
            rows = read.count(one.rows, *at, "rows", most=_MAX_SIDE)
            columns = read.count(one.columns, *at, "columns", most=_MAX_SIDE)
            most = len(figure.legend)
            shades = tuple(
                tuple(
                    read.with_names(row=r, column=c).count(
                        one.shade, *at, "shade", least=0, most=most
                    )
                    for c in range(columns)
                )
                for r in range(rows)
            )
            grids.append(GridCells(read.text(one.label, *at, "label"), shades))
        legend = tuple(read.text(one, "legend", n) for n, one in enumerate(figure.legend))
        return GridPicture(grids=tuple(grids), legend=legend)

    def height(self, picture: GridPicture) -> int:
        """Returns the height of the labels, the cells, and the legend."""
        rows = max(len(one.shades) for one in picture.grids)
        return round(46 + rows * _side(picture) + (34 if picture.legend else 0))

    def paint(self, picture: GridPicture, canvas: Canvas) -> None:
        """Draws the grids with their labels, and the legend."""
        axes = drawing_area(canvas)
        side = _side(picture)
        x = (560 - side * _columns(picture) - _GAP * (len(picture.grids) - 1)) / 2
        for one in picture.grids:
            wide = side * len(one.shades[0])
            axes.text(x + wide / 2, 16, one.label, ha="center", va="center", weight="bold")
            for shade in sorted({shade for line in one.shades for shade in line}):
                cells = [
                    (x + c * side, 32 + r * side, side, side)
                    for r, line in enumerate(one.shades)
                    for c, cell in enumerate(line)
                    if cell == shade
                ]
                style = fill_of(shade - 1) if shade else {"facecolor": "white"}
                if side < 9:
                    style.pop("hatch", None)
                add_boxes(axes, cells, **(style | {"edgecolor": QUIET, "lw": 0.4}))
            x += wide + _GAP
        if picture.legend:
            category_legend(canvas, picture.legend)


def _columns(picture: GridPicture) -> int:
    return sum(len(one.shades[0]) for one in picture.grids)


def _side(picture: GridPicture) -> float:
    """Returns the side of a cell in CSS pixels."""
    room = 560 - 32 - _GAP * (len(picture.grids) - 1)
    rows = max(len(one.shades) for one in picture.grids)
    return min(room / _columns(picture), 232 / rows, 40)


figure_types.add("grid")(GridType())
