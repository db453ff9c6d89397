"""Words for people: counts with their nouns, points, letters of parts, and kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

_HUNDREDTH = Decimal("0.01")
# Of the kinds that are not called by their names.
_KINDS: Mapping[str, str] = {
    "numeric": "number",
    "integer": "whole number",
    "choice": "single choice",
    "multi_choice": "multiple choice",
    "true_false": "true or false",
    "measurement": "measured code",
}


def count_of(number: int, one: str, several: str | None = None) -> str:
    """Returns *number* with its noun: *one* for 1, else *several* (default: *one* plus "s").

    >>> count_of(1, "student"), count_of(0, "student"), count_of(2, "part is", "parts are")
    ('1 student', '0 students', '2 parts are')
    """
    return f"{number} {one if number == 1 else several or f'{one}s'}"


@lru_cache(maxsize=4096)
def points(number: float | None) -> str:
    """Formats points with at most two decimals, rounded half up; empty if None (still open).

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


def percent(share: float) -> str:
    """Returns a share as a whole percentage, which is 0% or 100% only if the share is exactly that.

    >>> percent(0.25), percent(165.5 / 166), percent(0.001), percent(1.0)
    ('25%', '99%', '1%', '100%')
    """
    # Equal shares may differ in the last digits due to the order of summation.
    if 1e-9 < share < 1 - 1e-9:
        share = min(max(share, 0.01), 0.99)
    return f"{share:.0%}"


def count_points(number: float) -> str:
    """Returns *number* as `points` formats it, with its noun.

    >>> count_points(1.0), count_points(2.5)
    ('1 point', '2.5 points')
    """
    return f"{points(number)} {'point' if points(number) == '1' else 'points'}"


def join_names(names: Iterable[str], most: int = 8) -> str:
    """Returns up to *most* names, separated by commas, and the number of the others.

    >>> join_names(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    listed = list(names)
    shown = ", ".join(listed[:most])
    return f"{shown} and {len(listed) - most} more" if len(listed) > most else shown


def part_letter(index: int) -> str:
    """Returns the letter of a part within its problem, counted from 0: a, b, ..., z, aa.

    >>> part_letter(0), part_letter(25), part_letter(26)
    ('a', 'z', 'aa')
    """
    before, rest = divmod(index, 26)
    return (part_letter(before - 1) if before else "") + chr(ord("a") + rest)


def kind_words(name: str) -> str:
    """Returns the words for the kind *name* of a part.

    >>> kind_words("multi_choice"), kind_words("my_own")
    ('multiple choice', 'my own')
    """
    return _KINDS.get(name, name.replace("_", " "))
