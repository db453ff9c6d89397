"""Numbers in text, compared by their digits only, ignoring units and powers of ten."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

FEWEST_DIGITS = 4
"""Significant digits from which a number without a name is compared with keys."""
_YEARS = range(1970, 2060)
_NUMBER = re.compile(
    r"(?<![\w.])(?:\d{1,3}(?:[,'\u202f]\d{3})+(?:\.\d+)?|\d[\d_]{0,400}(?:[.,]\d{1,400})?|\.\d{1,400})"
    r"(?:[eE][-+]?\d{1,4})?"
)


def significant_digits(written: str) -> str:
    """Returns the significant digits of a number as it is written.

    >>> significant_digits("0.028e9"), significant_digits("1_250.0")
    ('28', '125')
    """
    mantissa = re.split(r"[eE]", written, maxsplit=1)[0]
    return re.sub(r"[^0-9]", "", mantissa).strip("0")


def digits_of(value: float) -> str:
    """Returns the significant digits of *value*; none if it is not finite."""
    return significant_digits(repr(value)) if math.isfinite(value) else ""


def iter_numbers(text: str) -> Iterator[tuple[str, int]]:
    """Yields the digits and position of every number with at least four significant digits."""
    for match in _NUMBER.finditer(text):
        forms = {match[0]}
        if "," in match[0]:  # a list, thousands, or a decimal comma
            forms |= {*match[0].split(","), match[0].replace(",", "")}
        for digits in map(significant_digits, forms):
            if len(digits) >= FEWEST_DIGITS:
                yield digits, match.start()


def surprise_bits(digits: str) -> float:
    """Returns how unlikely a chance match of these digits is, in bits.

    Small multiples of powers of two and ten are common in this field, and so are years.
    """
    count = len(digits)
    odd = int(digits[:40] or "0")
    for factor in (2, 5):
        while odd and odd % factor == 0:
            odd //= factor
    of_length = math.log2(6) + (count - 1) * math.log2(10)
    worth = min(of_length, 2 * math.log2(max(odd, 1)) + 0.7 * (count - FEWEST_DIGITS))
    return worth - 6 if count == 4 and int(digits) in _YEARS else worth


class RoundedNumbers:
    """Secret numbers, recognized in any rounding to at least four digits."""

    def __init__(self, values: Iterable[tuple[float, str, str]]):
        """Takes each number with the names of its answer and of the student."""
        self._owners: dict[float, set[tuple[str, str]]] = {}
        for value, name, student in values:
            digits = digits_of(value)
            if len(digits) >= FEWEST_DIGITS:
                self._owners.setdefault(_mantissa(digits), set()).add((name, student))
        self._sorted = sorted(self._owners)

    def __len__(self) -> int:
        return len(self._sorted)

    def find(self, digits: str) -> set[tuple[str, str]]:
        """Returns the answer and student of each number that rounds or truncates to *digits*."""
        value = _mantissa(digits)
        step = 10.0 ** (1 - len(digits)) if len(digits) < 17 else 0.0
        rest = 1e-15 * value
        first = bisect_left(self._sorted, value - step / 2 - rest)
        last = bisect_right(self._sorted, value + step * 0.999 + rest)
        return {owner for number in self._sorted[first:last] for owner in self._owners[number]}


def _mantissa(digits: str) -> float:
    return float(f"{digits[0]}.{digits[1:] or 0}")
