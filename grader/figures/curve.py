"""A curve: expressions over one variable, with marked points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from grader import units
from grader.figures.base import FieldReader, FigureTypeOf, figure_types
from grader.figures.labels import LabeledPoint, label_points
from grader.figures.style import INK, label_margin, line_of, plot_area
from grader.model.spec import Expr, Figure, Strict, Text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveLine(Strict):
    """A line; its expression uses the figure's variable."""

    label: Text
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveMark(Strict):
    """A marked point of the first line."""

    label: Text
    at: Expr
    """The value of the variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve(Figure):
    """One or more curves: values of expressions over a variable."""

    over: str = "x"
    """The name of the variable in the lines' expressions."""
    first: Expr
    last: Expr
    scale: Literal["linear", "log"] = "linear"
    """The scale of the horizontal axis."""
    across: Text
    """The label of the horizontal axis."""
    up: Text
    """The label of the vertical axis."""
    unit: str = ""
    """The unit of the values."""
    lines: tuple[CurveLine, ...]
    marks: tuple[CurveMark, ...] = ()
    samples: Expr = 80
    """How many values are computed of each line; more for lines with jumps."""

    def local_names(self) -> tuple[str, ...]:
        """Returns the name of the variable."""
        return (self.over,)


class Line(NamedTuple):
    """A line of a curve: its label, and its value at each sample."""

    label: str
    values: tuple[float, ...]


class MarkedPoint(NamedTuple):
    """A point that is marked in the figure, with its label."""

    label: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePicture:
    """The axes, and the samples of each line."""

    across: str
    up: str
    scale: str
    samples: tuple[float, ...]
    lines: tuple[Line, ...]
    marks: tuple[MarkedPoint, ...]


class CurveType(FigureTypeOf[Curve, CurvePicture]):
    """Draws a plot with up to four lines."""

    spec = Curve

    def picture(self, figure: Curve, read: FieldReader) -> CurvePicture:
        """Returns the samples of the lines, and the marked points."""
        first, last = read.number(figure.first, "first"), read.number(figure.last, "last")
        if not (first < last and (first > 0 or figure.scale == "linear")):
            fix = "let 'first' be less than 'last', and positive for a log scale"
            raise read.error(("first",), f"the range is {first:g} to {last:g}", fix)
        read.check_length("lines", figure.lines, 1, 4)
        count = read.count(figure.samples, "samples", least=2, most=400)
        samples = tuple(_sample(first, last, n / (count - 1), figure.scale) for n in range(count))

        def value_at(x: float, n: int) -> float:
            local = read.with_names(**{figure.over: x})
            return local.number(figure.lines[n].value, "lines", n, "value", unit=figure.unit)

        marks = []
        for m, mark in enumerate(figure.marks):
            x = read.number(mark.at, "marks", m, "at")
            marks.append(MarkedPoint(read.text(mark.label, "marks", m, "label"), x, value_at(x, 0)))
        return CurvePicture(
            across=read.text(figure.across, "across"),
            up=read.text(figure.up, "up"),
            scale=figure.scale,
            samples=samples,
            lines=tuple(
                Line(
                    read.text(x.label, "lines", n, "label"), tuple(value_at(s, n) for s in samples)
                )
                for n, x in enumerate(figure.lines)
            ),
            marks=tuple(marks),
        )

    def paint(self, picture: CurvePicture, canvas: Canvas) -> None:
        """Draws the lines with a legend, and the marked points."""
        from matplotlib.ticker import LogLocator

        high = max(max(line.values) for line in picture.lines)
        low = min(min(line.values) for line in picture.lines)
        top = high + 0.12 * (abs(high) or 1.0)
        axes = plot_area(canvas, left=label_margin(top), right=24, top=18)
        axes.set(xscale=picture.scale, xlim=(picture.samples[0], picture.samples[-1]))
        axes.grid(visible=True)
        axes.minorticks_off()
        if picture.scale == "log" and picture.samples[-1] < 300 * picture.samples[0]:
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        for n, line in enumerate(picture.lines):
            axes.plot(picture.samples, line.values, lw=1.8, label=line.label, **line_of(n))
        axes.set_ylim(low - 0.05 * (top - low) if low < 0 else 0.0, top)
        for mark in picture.marks:
            axes.plot([mark.x], [mark.y], "o", color=INK, ms=7, markeredgecolor="white", zorder=7,
                      clip_on=False)  # fmt: skip
        if picture.marks:
            lines = [list(zip(picture.samples, x.values, strict=True)) for x in picture.lines]
            label_points(axes, [LabeledPoint(*mark) for mark in picture.marks], lines)
        axes.set(xlabel=picture.across, ylabel=picture.up)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda x, _: units.format_number(x, 4))
        if len(picture.lines) > 1:
            axes.legend(loc="best")


def _sample(first: float, last: float, share: float, scale: str) -> float:
    """Returns the value at *share* of the way from *first* to *last* on the axis."""
    if scale == "log":
        return float(first * (last / first) ** share)
    return first + (last - first) * share


figure_types.add("curve")(CurveType())
