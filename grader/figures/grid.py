"""Matrices and grids: cells with shades, such as tiles, halos, and masks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from grader.figures.base import FieldReader, FigureTypeOf, figure_types
from grader.figures.style import QUIET, add_boxes, category_legend, drawing_area, fill_of
from grader.model.spec import Expr, Figure, Strict, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_MAX_SIDE = 32
_GAP = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class GridMatrix(Strict):
    """A grid of shaded cells to draw, such as a matrix."""

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
    down: Text = ""
    """What the rows are, such as "step"."""
    across: Text = ""
    """What the columns are."""

    def local_names(self) -> tuple[str, ...]:
        """Returns the names of a cell's row and column, which count from 0."""
        return ("row", "column")


@dataclass(frozen=True, slots=True)
class GridCells:
    """The shades of a grid, by row."""

    label: str
    shades: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GridPicture:
    """The grids from the left."""

    grids: tuple[GridCells, ...]
    legend: tuple[str, ...]
    down: str
    across: str


class GridType(FigureTypeOf[Grids, GridPicture]):
    """Draws square cells, with row 0 at the top."""

    spec = Grids

    def picture(self, figure: Grids, read: FieldReader) -> GridPicture:
        """Returns the shades of all cells."""
        read.check_length("matrices", figure.matrices, 1, 3)
        grids = []
        for n, matrix in enumerate(figure.matrices):
            at = ("matrices", n)
            rows = read.count(matrix.rows, *at, "rows", most=_MAX_SIDE)
            columns = read.count(matrix.columns, *at, "columns", most=_MAX_SIDE)
            most = len(figure.legend)
            shades = tuple(
                tuple(
                    read.with_names(row=r, column=c).count(
                        matrix.shade, *at, "shade", least=0, most=most
                    )
                    for c in range(columns)
                )
                for r in range(rows)
            )
            grids.append(GridCells(read.text(matrix.label, *at, "label"), shades))
        legend = tuple(read.text(one, "legend", n) for n, one in enumerate(figure.legend))
        down, across = read.text(figure.down, "down"), read.text(figure.across, "across")
        return GridPicture(grids=tuple(grids), legend=legend, down=down, across=across)

    def height(self, picture: GridPicture) -> int:
        """Returns the height of the labels, the cells, and the legend."""
        rows = max(len(grid.shades) for grid in picture.grids)
        below = (34 if picture.legend else 0) + (18 if picture.across else 0)
        return round(46 + rows * _cell_side(picture) + below)

    def paint(self, picture: GridPicture, canvas: Canvas) -> None:
        """Draws the grids with their labels, and the legend."""
        axes = drawing_area(canvas)
        side = _cell_side(picture)
        rooms = [max(side * len(x.shades[0]), 6.6 * len(x.label)) for x in picture.grids]
        left = (560 - sum(rooms) - _GAP * (len(rooms) - 1) + (20 if picture.down else 0)) / 2
        for grid, room in zip(picture.grids, rooms, strict=True):
            wide, high = side * len(grid.shades[0]), side * len(grid.shades)
            x = left + (room - wide) / 2
            axes.text(left + room / 2, 16, grid.label, ha="center", va="center", weight="bold")
            if picture.down:
                axes.text(x - 12, 32 + high / 2, f"← {picture.down}", rotation=90, ha="center",
                          va="center")  # fmt: skip
            if picture.across:
                axes.text(x + wide / 2, 32 + high + 12, f"{picture.across} →", ha="center",
                          va="center")  # fmt: skip
            _paint_cells(axes, grid.shades, x, side)
            left += room + _GAP
        if picture.legend:
            category_legend(canvas, picture.legend)


def _paint_cells(axes: Axes, shades: tuple[tuple[int, ...], ...], x: float, side: float) -> None:
    """Draws a box for each run of equal cells in a row, and then the lines between cells."""
    boxes: dict[int, list[tuple[float, float, float, float]]] = {}
    for r, row in enumerate(shades):
        start = 0
        for shade, cells in groupby(row):
            count = len(list(cells))
            box = (x + start * side, 32 + r * side, count * side, side)
            boxes.setdefault(shade, []).append(box)
            start += count
    for shade in sorted(boxes.keys() - {0}):
        style = fill_of(shade - 1) | ({"hatch": ""} if side < 9 else {})
        add_boxes(axes, boxes[shade], **style, lw=0)
    rows, columns = len(shades), len(shades[0])
    across = [(x, 32 + r * side, columns * side, 0.0) for r in range(rows + 1)]
    down = [(x + c * side, 32.0, 0.0, rows * side) for c in range(columns + 1)]
    add_boxes(axes, across + down, edgecolor=QUIET, facecolor="none", lw=0.4)


def _cell_side(picture: GridPicture) -> float:
    room = 560 - 32 - _GAP * (len(picture.grids) - 1) - (20 if picture.down else 0)
    rows = max(len(grid.shades) for grid in picture.grids)
    columns = sum(len(grid.shades[0]) for grid in picture.grids)
    return min(room / columns, 232 / rows, 40)


figure_types.add("grid")(GridType())
