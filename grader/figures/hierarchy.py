"""A memory hierarchy: levels from the fastest at the top, wider as they get larger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.figures.base import FieldReader, FigureTypeOf, figure_types
from grader.figures.style import add_boxes, drawing_area, fill_of
from grader.model.spec import Figure, Strict, Text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyLevel(Strict):
    """A level, such as the L2 cache."""

    label: Text
    note: Text = ""
    """Text beside the level, such as its size and bandwidth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy(Figure):
    """A memory hierarchy of two to six levels, with the fastest first."""

    levels: tuple[HierarchyLevel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyPicture:
    """The levels of the hierarchy, from the top, with the variant's numbers in their texts."""

    levels: tuple[HierarchyLevel, ...]


class HierarchyType(FigureTypeOf[Hierarchy, HierarchyPicture]):
    """Draws a stepped pyramid, with the fastest level at the top."""

    spec = Hierarchy

    def picture(self, figure: Hierarchy, read: FieldReader) -> HierarchyPicture:
        """Returns the texts of the levels."""
        read.check_length("levels", figure.levels, 2, 6)
        levels = tuple(
            HierarchyLevel(
                label=read.text(level.label, "levels", n, "label"),
                note=read.text(level.note, "levels", n, "note"),
            )
            for n, level in enumerate(figure.levels)
        )
        return HierarchyPicture(levels=levels)

    def height(self, picture: HierarchyPicture) -> int:
        """Returns a height in proportion to the levels."""
        return 24 + 52 * len(picture.levels)

    def paint(self, picture: HierarchyPicture, canvas: Canvas) -> None:
        """Draws a box per level."""
        axes = drawing_area(canvas)
        for n, level in enumerate(picture.levels):
            wide = 260 + 270 * n / (len(picture.levels) - 1)
            y = 12 + 52 * n
            style = fill_of(0) | {"hatch": "", "lw": 0.8}
            add_boxes(axes, [(280 - wide / 2, y, wide, 44)], **style)
            axes.text(280, y + (14 if level.note else 22), level.label, ha="center", va="center",
                      weight="bold")  # fmt: skip
            axes.text(280, y + 31, level.note, ha="center", va="center", fontsize=8)


figure_types.add("hierarchy")(HierarchyType())
