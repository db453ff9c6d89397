"""Labels of points: beside lines, inside the axes, and apart from one another."""

from __future__ import annotations

from itertools import combinations

import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from grader.figures.labels import LabeledPoint, label_points

RISING = [(0.0, 0.0), (10.0, 10.0)]


@pytest.fixture
def axes() -> Axes:
    canvas = Canvas(figsize=(5, 3))
    FigureCanvasAgg(canvas)
    area = canvas.add_axes((0.1, 0.1, 0.8, 0.8))
    area.set(xlim=(0, 10), ylim=(0, 10))
    return area


def boxes(axes: Axes) -> list[Bbox]:
    texts = [one for one in axes.texts if isinstance(one, Text)]
    return [one.get_window_extent().padded(-1) for one in texts]


def test_labels_of_close_points_do_not_cover_each_other(axes: Axes) -> None:
    places = (5.0, 5.2, 5.4, 5.6)
    label_points(axes, [LabeledPoint(f"point {x}", x, x) for x in places], [RISING])
    found = boxes(axes)
    assert len(found) == 4
    assert not any(one.overlaps(other) for one, other in combinations(found, 2))


@pytest.mark.parametrize("at", [0.0, 0.3, 5.0, 9.8, 10.0])
def test_a_label_is_inside_the_axes(axes: Axes, at: float) -> None:
    label_points(axes, [LabeledPoint("a long label", at, at)], [RISING])
    (box,) = boxes(axes)
    frame = axes.get_window_extent()
    assert frame.x0 - 1 <= box.x0 < box.x1 <= frame.x1 + 1


@pytest.mark.parametrize("line", [RISING, [(0.0, 10.0), (10.0, 0.0)], [(0.0, 5.0), (10.0, 5.0)]])
def test_a_label_is_beside_the_line(axes: Axes, line: list[tuple[float, float]]) -> None:
    label_points(axes, [LabeledPoint("a long label", 5, 5)], [line])
    (box,) = boxes(axes)
    (x0, y0), (x1, y1) = axes.transData.transform(line)
    places = [(x0 + n / 200 * (x1 - x0), y0 + n / 200 * (y1 - y0)) for n in range(201)]
    assert not any(box.contains(*place) for place in places)
