"""The access of a warp: how many sectors of memory it touches, or how often each bank.

Source: NVIDIA, CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory" and "Shared
Memory and Memory Banks": sectors of 32 bytes; 32 banks of 4 bytes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from grader.figures.base import FieldReader, FigureTypeOf, figure_types
from grader.figures.style import FILLS, INK, INKS, add_boxes, drawing_area
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
class WarpPicture:
    """The memory that each lane of the warp accesses."""

    memory: str
    places: tuple[tuple[int, ...], ...]
    """For each lane, the sectors or the 4-byte words that it accesses."""

    @property
    def touched_places(self) -> tuple[int, ...]:
        """All sectors or words that the warp accesses, in order."""
        return tuple(sorted({one for lane in self.places for one in lane}))


class WarpType(FigureTypeOf[WarpAccess, WarpPicture]):
    """Draws the lanes at the top, and the memory below them."""

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

    def height(self, picture: WarpPicture) -> int:
        """Returns the height, which depends on the highest stack of words in a bank."""
        return round(_base_height(picture) + 58) if picture.memory == "banks" else self.sides[1]

    def paint(self, picture: WarpPicture, canvas: Canvas) -> None:
        """Draws the lanes with their sectors, or the banks with their words."""
        axes = drawing_area(canvas)
        paint = _paint_banks if picture.memory == "banks" else _paint_sectors
        paint(axes, picture)


def _paint_boxes(axes: Axes, count: int, fill: int, y: float, height: float) -> float:
    """Draws a row of boxes, and returns the width of each."""
    wide = _WIDTH / count
    boxes = [(_LEFT + n * wide, y, wide, height) for n in range(count)]
    add_boxes(axes, boxes, facecolor=FILLS[fill], edgecolor=INK, lw=0.6, zorder=0)
    return wide


def _paint_sectors(axes: Axes, picture: WarpPicture) -> None:
    """Draws the lanes, the sectors below them, and a line for each access."""
    from matplotlib.collections import LineCollection

    axes.text(10, 32, "lane", va="center")
    wide = _paint_boxes(axes, LANES, 1, 22, 20)
    for lane in range(LANES):
        axes.text(_LEFT + (lane + 0.5) * wide, 32, str(lane), ha="center", va="center",
                  fontsize=7)  # fmt: skip
    touched = picture.touched_places
    wide = _paint_boxes(axes, len(touched), 0, 140, 26)
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
    y = 153 if room <= wide else 175  # below the boxes if the numbers are wider than these
    step = -(-len(touched) * room // _WIDTH)  # as many labels as there is room for
    for n, place in enumerate(touched):
        if n % step == 0:
            axes.text(_LEFT + (n + 0.5) * wide, y, str(place), ha="center", va="center",
                      fontsize=7)  # fmt: skip
    gaps = sum(b != a + 1 for a, b in pairwise(touched))
    note = f", with gaps between {gaps + 1} runs" if gaps else ", one after the other"
    axes.text(_LEFT, 198, f"{len(touched)} sectors of {SECTOR} bytes{note if gaps < 8 else ''}",
              va="center", weight="bold")  # fmt: skip


def _count_conflicts(picture: WarpPicture) -> int:
    """Returns the largest number of different words in a bank."""
    return max(Counter(word % BANKS for word in picture.touched_places).values())


def _base_height(picture: WarpPicture) -> float:
    """Returns how far from the top the line below the stacks of words is."""
    return 28 + min(84, 20 * _count_conflicts(picture))


def _paint_banks(axes: Axes, picture: WarpPicture) -> None:
    """Draws a stack of words for each bank, labeled with the first lane that accesses them."""
    first = {word: n for n in reversed(range(LANES)) for word in picture.places[n]}
    stacks = [[w for w in picture.touched_places if w % BANKS == bank] for bank in range(BANKS)]
    worst, base, wide = _count_conflicts(picture), _base_height(picture), _WIDTH / BANKS
    high = (base - 28) / worst
    boxes = []
    for bank, words in enumerate(stacks):
        x = _LEFT + bank * wide
        boxes += [(x, base - (n + 1) * high, wide, high) for n in range(len(words))]
        axes.text(x + wide / 2, base + 10, str(bank), ha="center", va="center", fontsize=7)
        labels = {n * high + high / 2: str(first[word]) for n, word in enumerate(words)}
        if high < 11:
            labels = {len(words) * high + 6: str(len(words))} if words else {}
        for up, label in labels.items():
            axes.text(x + wide / 2, base - up, label, ha="center", va="center", fontsize=7)
    add_boxes(axes, boxes, facecolor=FILLS[0], edgecolor=INK, lw=0.6)
    axes.plot([_LEFT, _LEFT + _WIDTH], [base, base], color=INK, lw=0.8)
    axes.text(10, base + 10, "bank", va="center")
    axes.text(10, base - worst * high / 2, "words" if high < 11 else "lanes", va="center")
    text = f"up to {worst} different words in one bank" if worst > 1 else "one word in each bank"
    axes.text(_LEFT, base + 38, text, va="center", weight="bold")


figure_types.add("warp")(WarpType())
