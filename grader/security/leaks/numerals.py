"""Numbers in text, compared by their digits only, ignoring units and powers of ten."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

_NUMBER = re.compile(
    r"(?<![\w.])(?:\d{1,3}(?:[,'\u202f]\d{3})+(?:\.\d+)?|\d[\d_]{0,400}(?:[.,]\d{1,400})?|\.\d{1,400})"
    r"(?:[eE][-+]?\d{1,4})?"
)
_PLAIN = re.compile(
    r"(?<![\w.])[-+]?(?:\d[\d_]{0,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][-+]?\d{1,4})?"
)
FEWEST_DIGITS = 4
_YEARS = range(1970, 2060)


@dataclass(frozen=True, slots=True)
class Numeral:
    """One number in a text."""

    digits: str
    """Its significant digits, without zeros at either end."""
    at: int
    """Its position in the text."""


def numerals(text: str) -> Iterator[Numeral]:
    """Every number with at least four significant digits."""
    for found in _NUMBER.finditer(text):
        written = found[0]
        forms = {written}
        if "," in written:  # a list, thousands, or a decimal comma
            forms |= {*written.split(","), written.replace(",", "")}
        for form in forms:
            digits = significant(form)
            if len(digits) >= FEWEST_DIGITS:
                yield Numeral(digits, found.start())


def significant(written: str) -> str:
    """The significant digits of a number as it is written.

    >>> significant("0.028e9"), significant("1_250.0")
    ('28', '125')
    """
    mantissa = re.split(r"[eE]", written, maxsplit=1)[0]
    digits = re.sub(r"[^0-9]", "", mantissa)
    return digits.strip("0")


def digits_of(value: float) -> str:
    """The significant digits of *value*."""
    return significant(repr(value)) if math.isfinite(value) else ""


def bits(digits: str) -> float:
    """How unlikely a chance match of these digits is, in bits.

    Small multiples of powers of two and ten are common in this field, and so are years.
    """
    count = len(digits)
    odd = int(digits[:40] or "0")
    while odd and odd % 2 == 0:
        odd //= 2
    while odd and odd % 5 == 0:
        odd //= 5
    known = math.log2(6) + (count - 1) * math.log2(10)
    worth = min(known, 2 * math.log2(max(odd, 1)) + 0.7 * (count - FEWEST_DIGITS))
    return worth - 6 if count == 4 and int(digits) in _YEARS else worth


class Mantissas:
    """Secret numbers, found in any rounding to at least four digits."""

    def __init__(self, values: Iterable[tuple[float, int]]):
        """Takes pairs of a number and the index of its label."""
        made: dict[float, set[int]] = {}
        for value, what in values:
            digits = digits_of(value)
            if len(digits) >= FEWEST_DIGITS:
                made.setdefault(_mantissa(digits), set()).add(what)
        self._sorted = sorted(made)
        self._what = made
        self.count = len(made)

    def find(self, digits: str) -> set[int]:
        """The indexes of secret numbers that round or truncate to these digits."""
        value = _mantissa(digits)
        step = 10.0 ** (1 - len(digits)) if len(digits) < 17 else 0.0
        rest = 1e-15 * value
        first = bisect_left(self._sorted, value - step / 2 - rest)
        last = bisect_right(self._sorted, value + step * 0.999 + rest)
        found: set[int] = set()
        for one in self._sorted[first:last]:
            found |= self._what[one]
        return found


def _mantissa(digits: str) -> float:
    return float(f"{digits[0]}.{digits[1:] or 0}")


RUN = 6
"""Consecutive numbers that are compared with those of hidden cases."""


def sequence(text: str) -> Iterator[tuple[float, int]]:
    """Every plainly written number in *text*, with its position."""
    for found in _PLAIN.finditer(text):
        yield float(found[0].replace("_", "")), found.start()


def runs(values: Iterable[float]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Names and position of every six consecutive numbers, except for plain sequences."""
    window: list[float] = []
    for place, value in enumerate(values):
        window.append(value)
        if len(window) > RUN:
            window.pop(0)
        if len(window) == RUN and not _is_plain(window):
            names = tuple(f"{one:.3g}" for one in window)
            if len(set(names)) < 4:  # close to each other: only later digits distinguish them
                names = tuple(f"{one:.8g}" for one in window)
            yield names, place - RUN + 1


def bits_of_run(run: tuple[str, ...]) -> float:
    """How unlikely a chance match of these numbers is, in bits."""
    digits = (significant(name) for name in run)
    return sum(2.0 + 3.3 * (len(one) - 1) if one else 0.0 for one in digits)


def _is_plain(window: list[float]) -> bool:
    """Whether these are commonplace numbers: few different ones, or evenly spaced."""
    if len(set(window)) < 4 or not all(map(math.isfinite, window)):
        return True
    steps = {round(b - a, 9) for a, b in pairwise(window)}
    return len(steps) == 1
