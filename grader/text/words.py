"""Format numbers for people: counts with their nouns, and points."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

_HUNDREDTH = Decimal("0.01")


def count_of(number: int, one: str, several: str | None = None) -> str:
    """Returns *number* with its noun: *one* for 1, else *several* (default: *one* plus "s").

    >>> count_of(1, "student"), count_of(0, "student"), count_of(2, "part is", "parts are")
    ('1 student', '0 students', '2 parts are')
    """
    return f"{number} {one if number == 1 else several or f'{one}s'}"


@lru_cache(maxsize=4096)
def points(number: float | None) -> str:
    """Format points with at most two decimals, rounded half up; empty if None (still open).

    Equal numbers always look the same, so full marks look like the maximum. The exact numbers are
    in `grades/STUDENT.json`.

    >>> points(2.0), points(1.5), points(10 / 3), points(0.125), points(None)
    ('2', '1.5', '3.33', '0.13', '')
    """
    if number is None:
        return ""
    rounded = Decimal(repr(float(number))).quantize(_HUNDREDTH, ROUND_HALF_UP)
    digits = f"{rounded:f}".rstrip("0").rstrip(".")
    return "0" if digits == "-0" else digits


def part_letter(index: int) -> str:
    """Returns the letter of a part within its problem, counted from 0: a, b, ..., z, aa.

    >>> part_letter(0), part_letter(25), part_letter(26)
    ('a', 'z', 'aa')
    """
    before, rest = divmod(index, 26)
    return (part_letter(before - 1) if before else "") + chr(ord("a") + rest)
