"""A timeline: lanes such as streams, threads, and links, with bars of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from grader import units
from grader.figures.base import MAX_ITEMS, FieldReader, FigureTypeOf, Picture, figure_types
from grader.figures.style import INK, QUIET, category_legend, fill_of, plot_area
from grader.model.spec import Expr, Figure, Strict, Text

if TYPE_CHECKING:
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
    """A row."""

    label: Text
    bars: tuple[TimelineBar, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineMark(Strict):
    """A moment in time."""

    label: Text
    at: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline(Figure):
    """Lanes of bars over time."""

    unit: str = "ms"
    lanes: tuple[TimelineLane, ...]
    marks: tuple[TimelineMark, ...] = ()
    """Moments with a vertical line, such as the end of a step."""

    def local_names(self) -> tuple[str, ...]:
        """Returns the name of a bar's number."""
        return ("i",)


class Bar(NamedTuple):
    """A bar, in the unit of the figure."""

    lane: int
    label: str
    kind: str
    start: float
    length: float


class Moment(NamedTuple):
    """A labeled time, in the unit of the figure."""

    label: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePicture(Picture):
    """All times are in `unit`."""

    unit: str
    lanes: tuple[str, ...]
    bars: tuple[Bar, ...]
    marks: tuple[Moment, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The categories, in the order in which they occur."""
        return tuple(dict.fromkeys(bar.kind for bar in self.bars if bar.kind))

    @property
    def end(self) -> float:
        """The end of the last bar, or the last mark."""
        ends = [bar.start + bar.length for bar in self.bars] + [mark.at for mark in self.marks]
        return max(ends, default=1.0)


class TimelineType(FigureTypeOf[Timeline, TimelinePicture]):
    """A row per lane, from the first at the top."""

    spec = Timeline

    def picture(self, figure: Timeline, read: FieldReader) -> TimelinePicture:
        """Returns the bars with their times."""
        bars: list[Bar] = []
        for n, lane in enumerate(figure.lanes):
            for m, bar in enumerate(lane.bars):
                at = ("lanes", n, "bars", m)
                start = read.with_names(i=0)
                for i in range(start.count(bar.count, *at, "count", least=0, most=200)):
                    one = read.with_names(i=i)
                    begin = one.number(bar.start, *at, "start", unit=figure.unit)
                    length = one.number(bar.length, *at, "length", unit=figure.unit)
                    label = one.text(bar.label, *at, "label")
                    if length > 0:
                        bars.append(Bar(n, label, bar.kind, begin, length))
        if not bars or len(bars) > MAX_ITEMS:
            raise read.error(("lanes",), f"it has {len(bars)} bars", f"draw 1 to {MAX_ITEMS} bars")
        marks = [
            Moment(
                read.text(mark.label, "marks", n, "label"),
                read.number(mark.at, "marks", n, "at", unit=figure.unit),
            )
            for n, mark in enumerate(figure.marks)
        ]
        return TimelinePicture(
            unit=figure.unit,
            lanes=tuple(
                read.text(x.label, "lanes", n, "label") for n, x in enumerate(figure.lanes)
            ),
            bars=tuple(bars),
            marks=tuple(marks),
        )

    def height(self, picture: TimelinePicture) -> int:
        """Returns a height in proportion to the lanes."""
        extra = 22 if picture.marks else 0
        return min(360, 84 + 40 * len(picture.lanes) + extra)

    def paint(self, picture: TimelinePicture, canvas: Canvas) -> None:
        """Draws the bars, the marks, and the legend."""
        left = max(60, 18 + 6.4 * max(map(len, picture.lanes)))
        top = 30 if picture.marks else 10
        axes = plot_area(canvas, left=left, right=22, bottom=64, top=top)
        axes.set(xlim=(0, picture.end), ylim=(len(picture.lanes) - 0.5, -0.5))
        pixels = (560 - left - 22) / picture.end
        for bar in picture.bars:
            style = fill_of(picture.kinds.index(bar.kind) if bar.kind else 5)
            line = 0.7 if pixels * bar.length > 4 else 0.2
            axes.broken_barh(
                [(bar.start, bar.length)], (bar.lane - 0.36, 0.72), linewidth=line, **style
            )
            if pixels * bar.length > 8 + 5.6 * len(bar.label):
                axes.text(
                    bar.start + bar.length / 2, bar.lane, bar.label, ha="center", va="center",
                    fontsize=7.5, color=INK,
                    bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none",
                          "alpha": 0.75} if bar.label and style["hatch"] else None,
                )  # fmt: skip
        for mark in picture.marks:
            axes.axvline(mark.at, color=INK, linewidth=1, linestyle="--", clip_on=False)
            side = "right" if mark.at > 0.6 * picture.end else "left"
            axes.annotate(
                mark.label, (mark.at, 1), (0, 4), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha=side, va="bottom",
            )  # fmt: skip
        axes.set_yticks(range(len(picture.lanes)), picture.lanes)
        axes.tick_params(axis="y", length=0)
        axes.spines[["left"]].set_visible(False)
        axes.set_xlabel(f"Time ({units.printed_unit(picture.unit)})", color=QUIET)
        axes.xaxis.set_major_formatter(lambda x, _: units.format_number(x, 4))
        if picture.kinds:
            category_legend(canvas, picture.kinds)


figure_types.add("timeline")(TimelineType())
