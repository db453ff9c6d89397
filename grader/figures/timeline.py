"""A timeline: lanes such as streams, threads, and links, with bars of work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from grader import units
from grader.figures.base import MAX_ITEMS, FieldReader, FigureTypeOf, figure_types
from grader.figures.style import INK, add_boxes, category_legend, fill_of, plot_area, time_axes
from grader.model.spec import Expr, Figure, Strict, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineBar(Strict):
    """A bar, or a row of similar ones; their expressions may use `i`, the number from 0."""

    label: Text = ""
    """The text in the bar, if there is room."""
    kind: str = ""
    """A category of the legend, such as "copy", which decides on the fill."""
    start: Expr
    """When it begins; a plain number is in the figure's unit."""
    length: Expr
    count: Expr = 1
    """How many bars to draw, with `i` from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineLane(Strict):
    """A row, or several similar ones; their expressions may use `lane`, the number from 0."""

    label: Text
    bars: tuple[TimelineBar, ...] = ()
    count: Expr = 1
    """How many rows to draw, with `lane` from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineMark(Strict):
    """A moment at which a vertical line is drawn."""

    label: Text
    at: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline(Figure):
    """Lanes of bars over time."""

    unit: str = "ms"
    across: Text = "Time"
    """The label of the horizontal axis, to which the unit is added."""
    lanes: tuple[TimelineLane, ...]
    marks: tuple[TimelineMark, ...] = ()
    """Moments with a vertical line, such as the end of a step."""

    def local_names(self) -> tuple[str, ...]:
        """Returns the names of a bar's number and of a lane's number."""
        return ("i", "lane")


class Bar(NamedTuple):
    """A bar of a lane, with times in the unit of the figure."""

    label: str
    kind: str
    start: float
    length: float


class Lane(NamedTuple):
    """A labeled row of bars."""

    label: str
    bars: tuple[Bar, ...]


class Moment(NamedTuple):
    """A labeled vertical line; its time is in the unit of the figure."""

    label: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePicture:
    """All times are in `unit`."""

    unit: str
    across: str
    lanes: tuple[Lane, ...]
    marks: tuple[Moment, ...]

    @property
    def bars(self) -> tuple[Bar, ...]:
        """The bars of all lanes."""
        return tuple(bar for lane in self.lanes for bar in lane.bars)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The categories, in the order in which they occur."""
        return tuple(dict.fromkeys(bar.kind for bar in self.bars if bar.kind))

    @property
    def end(self) -> float:
        """The end of the last bar, or the last mark."""
        ends = [bar.start + bar.length for bar in self.bars] + [mark.at for mark in self.marks]
        return max(ends, default=1.0)


def _iter_bars(figure: Timeline, read: FieldReader, lane: int) -> Iterator[Bar]:
    """Yields the bars of the lane with the number *lane* in the spec."""
    for m, bar in enumerate(figure.lanes[lane].bars):
        at = ("lanes", lane, "bars", m)
        count = read.with_names(i=0).count(bar.count, *at, "count", least=0, most=200)
        for i in range(count):
            reader = read.with_names(i=i)
            start = reader.number(bar.start, *at, "start", unit=figure.unit)
            length = reader.number(bar.length, *at, "length", unit=figure.unit)
            if length > 0:
                yield Bar(reader.text(bar.label, *at, "label"), bar.kind, start, length)


class TimelineType(FigureTypeOf[Timeline, TimelinePicture]):
    """Draws a row per lane, from the first at the top."""

    spec = Timeline

    def picture(self, figure: Timeline, read: FieldReader) -> TimelinePicture:
        """Returns the bars with their times."""
        lanes = []
        for n, lane in enumerate(figure.lanes):
            for number in range(read.count(lane.count, "lanes", n, "count", most=16)):
                own = read.with_names(lane=number)
                bars = tuple(_iter_bars(figure, own, n))
                lanes.append(Lane(own.text(lane.label, "lanes", n, "label"), bars))
        if not 1 <= (count := sum(len(lane.bars) for lane in lanes)) <= MAX_ITEMS:
            raise read.error(("lanes",), f"it has {count} bars", f"draw 1 to {MAX_ITEMS} bars")
        marks = [
            Moment(
                read.text(mark.label, "marks", n, "label"),
                read.number(mark.at, "marks", n, "at", unit=figure.unit),
            )
            for n, mark in enumerate(figure.marks)
        ]
        return TimelinePicture(
            unit=figure.unit,
            across=read.text(figure.across, "across"),
            lanes=tuple(lanes),
            marks=tuple(marks),
        )

    def height(self, picture: TimelinePicture) -> int:
        """Returns a height in proportion to the lanes."""
        extra = 22 if picture.marks else 0
        count = len(picture.lanes)
        return 84 + (40 if count <= 6 else 24) * count + extra

    def paint(self, picture: TimelinePicture, canvas: Canvas) -> None:
        """Draws the bars, the marks, and the legend."""
        left = max(60, 18 + 6.4 * max(len(lane.label) for lane in picture.lanes))
        top = 30 if picture.marks else 10
        axes = plot_area(canvas, left=left, right=22, bottom=64, top=top)
        unit = units.printed_unit(picture.unit)
        label = f"{picture.across} ({unit})" if unit else picture.across
        time_axes(axes, [lane.label for lane in picture.lanes], picture.end, label)
        pixels = (560 - left - 22) / picture.end
        for kind in dict.fromkeys(bar.kind for bar in picture.bars):
            _paint_bars(axes, picture, kind, pixels)
        for mark in picture.marks:
            axes.axvline(mark.at, color=INK, linewidth=1, linestyle="--", clip_on=False)
            side = "right" if mark.at > 0.6 * picture.end else "left"
            axes.annotate(
                mark.label, (mark.at, 1), (0, 4), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha=side, va="bottom",
            )  # fmt: skip
        if picture.kinds:
            category_legend(canvas, picture.kinds, across=True)


def _paint_bars(axes: Axes, picture: TimelinePicture, kind: str, pixels: float) -> None:
    """Draws the bars of a category as one path, and the labels for which there is room."""
    style = fill_of(picture.kinds.index(kind) if kind else 5, across=True)
    bars = [
        (n, bar) for n, lane in enumerate(picture.lanes) for bar in lane.bars if bar.kind == kind
    ]
    line = 0.7 if pixels * min(bar.length for _, bar in bars) > 4 else 0.2
    boxes = [(bar.start, n - 0.36, bar.length, 0.72) for n, bar in bars]
    add_boxes(axes, boxes, lw=line, clip_on=False, **style)
    behind: Any = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    behind["alpha"] = 0.75
    longest: dict[float, int] = {}  # bars of the same length have labels together or not at all
    for _, bar in bars:
        width = round(pixels * bar.length, 1)
        longest[width] = max(longest.get(width, 0), len(bar.label))
    for n, bar in bars:
        width = round(pixels * bar.length, 1)
        if bar.label and width > 8 + 5.6 * longest[width]:
            axes.text(
                bar.start + bar.length / 2, n, bar.label, ha="center", va="center",
                fontsize=7.5, color=INK, bbox=behind if style["hatch"] else None,
            )  # fmt: skip


figure_types.add("timeline")(TimelineType())
