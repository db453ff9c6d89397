"""The access of a warp: how many sectors of memory it touches, or how often each bank.

Source: NVIDIA, CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory" and "Shared
Memory and Memory Banks": sectors of 32 bytes; 32 banks of 4 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from grader.figures.base import FieldReader, FigureTypeOf, Picture, figure_types
from grader.figures.style import FILLS, HATCHES, INK, INKS, add_boxes, drawing_area
from grader.model.spec import Expr, Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

LANES, SECTOR, BANKS, WORD = 32, 32, 32, 4
_LEFT, _WIDTH = 62, 486


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpAccess(Figure):
    """The 32 lanes of a warp, and what they access."""

    address: Expr
    """The byte address of a lane's access, an expression over `lane`."""
    size: Expr = 4
    """Bytes per access."""
    memory: Literal["sectors", "banks"] = "sectors"
    """Global memory in sectors of 32 bytes, or shared memory in 32 banks of 4 bytes."""

    def local_names(self) -> tuple[str, ...]:
        """Returns the name of the lane's number."""
        return ("lane",)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpPicture(Picture):
    """The places of each lane."""

    memory: str
    places: tuple[tuple[int, ...], ...]
    """For each lane, the sectors or the 4-byte words that it accesses."""

    @property
    def touched(self) -> tuple[int, ...]:
        """All places in order."""
        return tuple(sorted({one for lane in self.places for one in lane}))


class WarpType(FigureTypeOf[WarpAccess, WarpPicture]):
    """Lanes above, memory below."""

    spec = WarpAccess
    sides = (560, 220)

    def picture(self, figure: WarpAccess, read: FieldReader) -> WarpPicture:
        """Returns the places that each lane accesses."""
        size = read.count(figure.size, "size", most=16)
        step = SECTOR if figure.memory == "sectors" else WORD
        places = []
        for lane in range(LANES):
            start = read.with_names(lane=lane).number(figure.address, "address", unit="B")
            if start < 0 or start != int(start):
                what = f"the address of lane {lane} is {start:g}"
                raise read.error(("address",), what, "give a whole number of bytes, at least 0")
            first = int(start)
            places.append(tuple(range(first // step, (first + size - 1) // step + 1)))
        return WarpPicture(memory=figure.memory, places=tuple(places))

    def paint(self, picture: WarpPicture, canvas: Canvas) -> None:
        """Draws the lanes, and the sectors or banks."""
        axes = drawing_area(canvas)
        axes.text(10, 32, "lane", va="center")
        wide = _WIDTH / LANES
        for lane in range(LANES):
            axes.text(_LEFT + (lane + 0.5) * wide, 32, str(lane), ha="center", va="center",
                      fontsize=7)  # fmt: skip
        _boxes(axes, LANES, 1, 22, 20)
        if picture.memory == "banks":
            _paint_banks(axes, picture)
        else:
            _paint_sectors(axes, picture)


def _boxes(axes: Axes, count: int, fill: int, y: float, height: float) -> float:
    """Draws a row of boxes, and returns the width of each."""
    wide = _WIDTH / count
    boxes = [(_LEFT + n * wide, y, wide, height) for n in range(count)]
    add_boxes(axes, boxes, facecolor=FILLS[fill], edgecolor=INK, lw=0.6, zorder=0)
    return wide


def _paint_sectors(axes: Axes, picture: WarpPicture) -> None:
    from matplotlib.collections import LineCollection

    touched = picture.touched
    wide = _boxes(axes, len(touched), 0, 140, 26)
    lines = [
        [
            (_LEFT + (lane + 0.5) * _WIDTH / LANES, 42),
            (_LEFT + (touched.index(place) + 0.5) * wide, 140),
        ]
        for lane, places in enumerate(picture.places)
        for place in places
    ]
    axes.add_collection(LineCollection(lines, colors=INKS[0], linewidths=0.8), autolim=False)
    axes.text(10, 153, "sector", va="center")
    room = 8 + 5 * len(str(touched[-1]))
    shown = -(-len(touched) * room // _WIDTH)  # as many labels as there is room for
    for n, place in enumerate(touched):
        if n % shown == 0:
            axes.text(_LEFT + (n + 0.5) * wide, 153, str(place), ha="center", va="center",
                      fontsize=7)  # fmt: skip
    gaps = sum(b != a + 1 for a, b in pairwise(touched))
    note = f", with gaps between {gaps + 1} runs" if gaps else ", one after the other"
    axes.text(_LEFT, 190, f"{len(touched)} sectors of {SECTOR} bytes{note if gaps < 8 else ''}",
              va="center", weight="bold")  # fmt: skip


def _paint_banks(axes: Axes, picture: WarpPicture) -> None:
    counts = [0] * BANKS
    for word in picture.touched:
        counts[word % BANKS] += 1
    worst, wide = max(counts), _WIDTH / BANKS
    heights = [84 * count / worst for count in counts]
    boxes = [(_LEFT + n * wide, 150 - high, wide, high) for n, high in enumerate(heights) if high]
    add_boxes(axes, boxes, facecolor=FILLS[0], hatch=HATCHES[1], edgecolor=INK, lw=0.6)
    for bank, count in enumerate(counts):
        x = _LEFT + bank * wide
        axes.text(x + wide / 2, 160, str(bank), ha="center", va="center", fontsize=7)
        if count:
            axes.text(
                x + wide / 2, 144 - heights[bank], str(count), ha="center", va="center", fontsize=7
            )
    axes.plot([_LEFT, _LEFT + _WIDTH], [150, 150], color=INK, lw=0.8)
    axes.text(10, 160, "bank", va="center")
    axes.text(10, 110, "words", va="center")
    text = f"at most {worst} different {'word' if worst == 1 else 'words'} in one bank"
    axes.text(_LEFT, 190, text, va="center", weight="bold")


figure_types.add("warp")(WarpType())
