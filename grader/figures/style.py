"""The common style of figures: light background, few colors, and a hatch for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grader import units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

INK, QUIET, GRID, IDLE = "#1c2027", "#565e6b", "#dfe2e7", "#f0f0ec"

RC: Any = {
    "svg.hashsalt": "systems-grader",
    "svg.fonttype": "path",  # the same glyphs on every machine
    "font.family": ["DejaVu Sans"],  # comes with matplotlib
    "font.size": 8.5,
    "axes.labelsize": 8.5,
    "axes.titlesize": 8.5,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "text.parse_math": False,  # a label may contain prices in dollars
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "xtick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.color": QUIET,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.5,
    "hatch.color": INK,
    "path.simplify": True,
    "axes.unicode_minus": True,
}

FILLS = ("#9fc0ea", "#f3c98b", "#a9d8b8", "#e3a9a1", "#c9b6e4", "#d9d9d2")
"""Fill colors; all are light enough for black text, also on a printer without colors."""
HATCHES = ("", "////", "|||", "\\\\\\\\", "xxx", "---")
"""Hatches of the fills; none has many curves, which make an SVG large."""
_TURNED = {"|||": "---", "---": "|||"}
LINES = ("-", "--", "-.", ":")
INKS = ("#1f55a5", "#9a3f12", "#176b3a", "#6a3d9a")
"""Colors of lines and points on a white ground."""


def fill_of(index: int, *, across: bool = False) -> dict[str, Any]:
    """Returns the fill and hatch of the category *index*, for a patch.

    If *across*, patches of the category lie side by side, and no hatch is parallel to the borders
    between them.
    """
    n = index % len(FILLS)
    hatch = _TURNED.get(HATCHES[n], HATCHES[n]) if across else HATCHES[n]
    return {"facecolor": FILLS[n], "hatch": hatch, "edgecolor": INK}


def line_of(index: int) -> dict[str, Any]:
    """Returns the color and dashes of the line *index*."""
    return {"color": INKS[index % len(INKS)], "linestyle": LINES[index % len(LINES)]}


def add_boxes(axes: Axes, boxes: Sequence[tuple[float, float, float, float]], **style: Any) -> None:
    """Adds rectangles (left, lower edge, width, height) of one style as a single path."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    corners = [
        corner
        for x, y, wide, high in boxes
        for corner in ((x, y), (x + wide, y), (x + wide, y + high), (x, y + high), (x, y))
    ]
    if corners:
        axes.add_patch(PathPatch(Path(corners, codes * len(boxes)), **style))


def plot_area(
    canvas: Canvas, left: float = 62, right: float = 24, bottom: float = 44, top: float = 14
) -> Axes:
    """Returns axes that fill the canvas up to margins in CSS pixels, with few ticks."""
    from matplotlib.ticker import MaxNLocator

    width, height = (96 * side for side in canvas.get_size_inches())
    axes = canvas.add_axes(
        (left / width, bottom / height, 1 - (left + right) / width, 1 - (top + bottom) / height)
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, steps=(1, 2, 2.5, 5, 10)))
    return axes


def time_axes(axes: Axes, rows: Sequence[str], end: float, label: str) -> None:
    """Gives *axes* labeled *rows*, with the first at the top, over the time from 0 to *end*."""
    axes.set(xlim=(0, end), ylim=(len(rows) - 0.5, -0.5))
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(axis="y", length=0)
    axes.spines[["left"]].set_visible(False)
    axes.set_xlabel(label, color=QUIET)
    axes.xaxis.set_major_formatter(lambda x, _: units.format_number(x, 4))


def label_margin(top: float) -> float:
    """Returns the width that a vertical axis up to *top* needs for its labels, in CSS pixels."""
    return 66.0 + 7 * max(0, len(f"{top:.0f}") - 4)


def drawing_area(canvas: Canvas) -> Axes:
    """Returns axes over the whole canvas in CSS pixels, from the top left, without a frame."""
    width, height = (96 * side for side in canvas.get_size_inches())
    axes = canvas.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    return axes


HALO = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
"""The box behind a label over lines."""


def category_legend(
    canvas: Canvas,
    labels: Sequence[str],
    title: str = "",
    *,
    idle: bool = False,
    across: bool = False,
) -> None:
    """Adds a row below the plot with the `fill_of` each labeled category, and of idle time."""
    from matplotlib.patches import Patch

    patches = [
        Patch(**fill_of(n, across=across), linewidth=0.6, label=label)
        for n, label in enumerate(labels)
        if label
    ]
    if idle:
        patches.append(Patch(facecolor=IDLE, edgecolor=QUIET, linewidth=0.4, label="idle"))
    if title:
        patches.insert(0, Patch(facecolor="none", edgecolor="none", label=title + ":"))
    canvas.legend(
        handles=patches, loc="lower center", ncol=len(patches), columnspacing=1.4,
        handlelength=1.8, handleheight=1.1, borderaxespad=0.3,
    )  # fmt: skip
