"""A roofline: attainable rate over arithmetic intensity, with points of kernels.

Source: Williams, Waterman, and Patterson, "Roofline", Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader import units
from grader.figures.base import FieldReader, FigureTypeOf, figure_types
from grader.figures.labels import LabeledPoint, Polyline, label_points, place_of_text
from grader.figures.style import INK, INKS, QUIET, plot_area
from grader.model.spec import Expr, Figure, Strict, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_MARKERS = "os^D"


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePoint(Strict):
    """A kernel in the diagram."""

    label: Text
    intensity: Expr
    """Its arithmetic intensity, in FLOP/B if it has no unit."""
    reached: Expr | None = None
    """Its rate, in FLOP/s if it has no unit; the attainable rate if None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline(Figure):
    """The two roofs of a device, and kernels below them."""

    peak: Expr
    """The highest rate, in FLOP/s if it has no unit."""
    bandwidth: Expr
    """The memory bandwidth, in B/s if it has no unit."""
    points: tuple[RooflinePoint, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel: FLOP/B and FLOP/s."""

    label: str
    intensity: float
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePicture:
    """Rates in FLOP/s, bandwidth in B/s."""

    peak: float
    bandwidth: float
    points: tuple[Point, ...]

    @property
    def ridge(self) -> float:
        """The intensity in FLOP/B from which the peak is attainable."""
        return self.peak / self.bandwidth


class RooflineType(FigureTypeOf[Roofline, RooflinePicture]):
    """Draws the rate over the arithmetic intensity, both on logarithmic axes."""

    spec = Roofline

    def picture(self, figure: Roofline, read: FieldReader) -> RooflinePicture:
        """Returns the roofs and the points."""
        peak = read.positive(figure.peak, "peak", unit="FLOP/s")
        bandwidth = read.positive(figure.bandwidth, "bandwidth", unit="B/s")
        points = []
        for n, point in enumerate(figure.points):
            at = ("points", n)
            intensity = read.positive(point.intensity, *at, "intensity", unit="FLOP/B")
            rate = min(peak, intensity * bandwidth)
            if point.reached is not None:
                rate = read.positive(point.reached, *at, "reached", unit="FLOP/s")
            points.append(Point(read.text(point.label, *at, "label"), intensity, rate))
        return RooflinePicture(peak=peak, bandwidth=bandwidth, points=tuple(points))

    def paint(self, picture: RooflinePicture, canvas: Canvas) -> None:
        """Draws the roofs, the ridge, and the points with their labels."""
        from matplotlib.ticker import LogLocator

        axes = plot_area(canvas, left=78)
        intensities = [p.intensity for p in picture.points] or [picture.ridge / 10]
        intensities.append(picture.ridge)
        low = 10 ** math.floor(math.log10(min(intensities) / 3))
        high = 10 ** math.ceil(math.log10(max(intensities) * 3))
        rates = [low * picture.bandwidth, *(p.rate / 2 for p in picture.points)]
        axes.set(xscale="log", yscale="log", xlim=(low, high))
        axes.set_ylim(min(rates), max([picture.peak * 4, *(p.rate * 2 for p in picture.points)]))
        axes.grid(visible=True)
        axes.minorticks_off()
        if axes.get_ylim()[1] < 100 * min(rates):
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.set_xlabel("Arithmetic intensity (FLOP/B)")
        axes.set_ylabel("Rate (FLOP/s)")
        axes.xaxis.set_major_formatter(lambda x, _: units.format_number(x, 3))
        axes.yaxis.set_major_formatter(lambda y, _: _short_rate(y))
        axes.plot([low, picture.ridge], [low * picture.bandwidth, picture.peak], color=INK, lw=2)
        axes.plot([picture.ridge, high], [picture.peak, picture.peak], color=INK, lw=2, ls="-")
        axes.plot([picture.ridge] * 2, [min(rates), picture.peak], color=QUIET, lw=1, ls=":")
        roofs = [(low, low * picture.bandwidth), (picture.ridge, picture.peak)]
        roofs.append((high, picture.peak))
        texts = _label_roofs(axes, picture, low, high)
        _paint_points(axes, picture.points, [roofs, *texts])


def _label_roofs(axes: Axes, picture: RooflinePicture, low: float, high: float) -> list[Polyline]:
    """Writes the peak left of the ridge and the bandwidth below its roof; returns their places."""
    peak = f"peak {_rate_text(picture.peak, 'FLOP/s')}"
    bandwidth = f"bandwidth {_rate_text(picture.bandwidth, 'B/s')}"
    axes.annotate(
        peak, (picture.ridge, picture.peak), (-6, 5), textcoords="offset points",
        ha="right",
    )  # fmt: skip
    left = any(point.intensity < low * (picture.ridge / low) ** 0.5 for point in picture.points)
    x, slope = low * (picture.ridge / low) ** (0.5 if left else 0.14), _slope(axes)
    start = (x, x * picture.bandwidth)
    axes.annotate(
        bandwidth, start, (5, -4), textcoords="offset points", ha="left", va="top",
        rotation_mode="anchor", rotation=math.degrees(math.atan(slope)),
    )  # fmt: skip
    far = picture.ridge > low * (high / low) ** 0.6
    axes.annotate(
        f"ridge {units.format_number(picture.ridge, 4)} FLOP/B",
        (picture.ridge, axes.get_ylim()[0]), (-3 if far else 3, 4), textcoords="offset points",
        color=INK, ha="right" if far else "left",
    )  # fmt: skip
    return [
        *(place_of_text(axes, (picture.ridge, picture.peak), (-6, y), -len(peak)) for y in (6, 13)),
        place_of_text(axes, start, (7, -9), len(bandwidth), slope),
    ]


def _rate_text(rate: float, unit: str) -> str:
    """Returns the rate as text, with four digits and a suitable prefix."""
    return units.format_quantity(
        units.quantity(rate, unit), ("T" if rate >= 1e12 else "G") + unit, 4
    )


def _slope(axes: Axes) -> float:
    """Returns the slope, on paper, of a line that rises by a decade per decade."""
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    box = axes.get_window_extent()
    return float((box.height / math.log10(y1 / y0)) / (box.width / math.log10(x1 / x0)))


def _paint_points(axes: Axes, points: tuple[Point, ...], lines: list[Polyline]) -> None:
    """Draws each point with its color and marker, and labels it beside *lines*."""
    labeled = []
    for n, point in enumerate(points):
        color = INKS[n % len(INKS)]
        axes.plot(
            [point.intensity], [point.rate], _MARKERS[n % len(_MARKERS)], color=color, ms=7,
            markeredgecolor="white", zorder=7,
        )  # fmt: skip
        labeled.append(LabeledPoint(point.label, point.intensity, point.rate, color))
    if labeled:
        label_points(axes, labeled, lines)


def _short_rate(rate: float) -> str:
    """Returns *rate* with three digits and a prefix, such as "1.5 T"."""
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if rate >= size:
            return f"{units.format_number(rate / size, 3)} {prefix}"
    return units.format_number(rate, 3)


figure_types.add("roofline")(RooflineType())
