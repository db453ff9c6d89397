"""Finds places for the labels of points, beside lines and other labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from grader.figures.style import HALO, INK

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

Polyline = Sequence[tuple[float, float]]
"""The corners of a line, in the data's coordinates."""

_OFFSETS = [(x, y) for y in (6, -6, 17, -17) for x in (-7, 7)] + [(0, 9), (0, -9)]
"""The places of a label beside its point, in points of 1/72 inch, from the preferred one on."""
_ALIGN = ({-1: "right", 0: "center", 1: "left"}, {-1: "top", 1: "bottom"})
_HIGH, _WIDE = 11, 6
"""The height of a line of text, and the width of a letter, in points."""


class LabeledPoint(NamedTuple):
    """A point in the data's coordinates."""

    label: str
    x: float
    y: float
    color: str = INK


def label_points(axes: Axes, points: Sequence[LabeledPoint], lines: Sequence[Polyline]) -> None:
    """Labels each point where its label covers the least of *lines* and of other points and labels.

    The limits of *axes* must have been set.
    """
    import numpy as np
    from matplotlib.transforms import Bbox

    scale = _pixels_per_point(axes)
    drawn = np.concatenate([_sample_line(axes.transData.transform(line) / scale) for line in lines])
    dots = axes.transData.transform([(point.x, point.y) for point in points]) / scale
    frame = Bbox(axes.get_window_extent().get_points() / scale)
    taken: list[Bbox] = []
    for n, point in enumerate(points):
        others = np.delete(dots, n, axis=0)
        boxes = {offset: _text_box(dots[n], offset, len(point.label)) for offset in _OFFSETS}
        costs = {
            offset: abs(offset[1]) / 10
            + box.count_contains(drawn)
            + 100 * (box.count_contains(others) + box.count_overlaps(taken))
            + 1000 * (not (frame.contains(*box.min) and frame.contains(*box.max)))
            for offset, box in boxes.items()
        }
        best = min(_OFFSETS, key=costs.__getitem__)
        taken.append(boxes[best])
        across, up = (_ALIGN[n][(value > 0) - (value < 0)] for n, value in enumerate(best))
        axes.annotate(
            point.label, (point.x, point.y), best, textcoords="offset points", weight="bold",
            ha=across, va=up, color=point.color, bbox=HALO, zorder=6,
        )  # fmt: skip


def place_of_text(
    axes: Axes, at: tuple[float, float], offset: tuple[float, float], letters: int, slope: float = 0
) -> Polyline:
    """Returns the line through the middle of a text, in the data's coordinates.

    It begins *offset* points from *at*, and rises by *slope*; for negative *letters*, it goes left.
    """
    import numpy as np

    start = axes.transData.transform(at) + np.array(offset) * _pixels_per_point(axes)
    along = np.array((1, slope)) / np.hypot(1, slope) * _WIDE * letters * _pixels_per_point(axes)
    return [tuple(one) for one in axes.transData.inverted().transform([start, start + along])]


def _pixels_per_point(axes: Axes) -> float:
    canvas = axes.get_figure(root=True)
    assert canvas is not None  # noqa: S101 - the axes belong to one
    return float(canvas.dpi) / 72


def _text_box(at: np.ndarray, offset: tuple[int, int], length: int) -> Bbox:
    """Returns the place of a text of *length* letters, in points."""
    from matplotlib.transforms import Bbox

    wide = _WIDE * length
    left = at[0] + offset[0] + {-1: -wide, 0: -wide / 2, 1: 0}[(offset[0] > 0) - (offset[0] < 0)]
    low = at[1] + offset[1] - (_HIGH if offset[1] < 0 else 0)
    return Bbox.from_bounds(left, low, wide, _HIGH)


def _sample_line(line: np.ndarray) -> np.ndarray:
    """Returns samples along *line*, at most about 3 typographic points apart, but no more than 60
    per segment."""
    import numpy as np

    pieces = [line[-1:]]
    for start, end in pairwise(line):
        count = int(min(60, 1 + np.abs(end - start).max() // 3))
        pieces.append(start + np.linspace(0, 1, count, endpoint=False)[:, None] * (end - start))
    return np.concatenate(pieces)
