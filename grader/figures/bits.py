"""Bit fields of number formats, a row of boxes per format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from grader.figures.base import FieldReader, FigureTypeOf, figure_types
from grader.figures.style import INK, add_boxes, category_legend, drawing_area, fill_of
from grader.model.spec import Expr, Figure, Strict, Text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True, slots=True, kw_only=True)
class BitFormat(Strict):
    """A floating-point format to draw: its label, and the width of each field in bits."""

    label: Text
    sign: Expr = 1
    """The number of bits of each field."""
    exponent: Expr
    mantissa: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class BitFields(Figure):
    """The fields of one or more formats, to scale."""

    formats: tuple[BitFormat, ...]


class FormatBits(NamedTuple):
    """A floating-point format with the evaluated width of each field."""

    label: str
    sign: int
    exponent: int
    mantissa: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BitsPicture:
    """The formats, with the first at the top."""

    formats: tuple[FormatBits, ...]


class BitsType(FigureTypeOf[BitFields, BitsPicture]):
    """Draws a box per bit, with the most significant bit on the left."""

    spec = BitFields

    def picture(self, figure: BitFields, read: FieldReader) -> BitsPicture:
        """Returns the formats with the evaluated widths of their fields."""
        read.check_length("formats", figure.formats, 1, 6)
        rows = []
        for n, bit_format in enumerate(figure.formats):
            at = ("formats", n)
            sizes = [
                read.count(getattr(bit_format, name), *at, name, least=0)
                for name in ("sign", "exponent", "mantissa")
            ]
            rows.append(FormatBits(read.text(bit_format.label, *at, "label"), *sizes))
        return BitsPicture(formats=tuple(rows))

    def height(self, picture: BitsPicture) -> int:
        """Returns a height in proportion to the formats."""
        return 46 + 62 * len(picture.formats)

    def paint(self, picture: BitsPicture, canvas: Canvas) -> None:
        """Draws the boxes, the number of bits of each field, and the legend."""
        axes = drawing_area(canvas)
        left = 24 + 8.5 * max(len(bit_format.label) for bit_format in picture.formats)
        width = min(24.0, (544 - left) / max(sum(bit_format[1:]) for bit_format in picture.formats))
        for row, bit_format in enumerate(picture.formats):
            x, y = float(left), 16 + 62 * row
            axes.text(left - 10, y + 15, bit_format.label, ha="right", va="center", weight="bold")
            for n, bits in enumerate(bit_format[1:]):
                boxes = [(x + bit * width, y, width, 30) for bit in range(bits)]
                add_boxes(axes, boxes, lw=0.6, **fill_of(n, across=True))
                if bits:
                    axes.text(x + bits * width / 2, y + 41, str(bits), ha="center", va="center",
                              color=INK, fontsize=8)  # fmt: skip
                x += bits * width
        category_legend(canvas, FormatBits._fields[1:], title="Bits", across=True)


figure_types.add("bits")(BitsType())
