"""Converts points to passing and failing tests of equal weight, for formats that count tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from grader.model.result import ShownPart

MOST = 60
"""Maximum number of tests per problem. If points need more, they are rounded to this number."""

_FINEST = 1000
_SAME = 1e-6  # points are kept to six digits


@dataclass(frozen=True, slots=True)
class EqualTests:
    """A part, or a whole problem, as *total* tests of which *passing_count* pass."""

    part: ShownPart | None
    """None for a whole problem."""
    total: int
    passing_count: int


@dataclass(frozen=True, slots=True)
class EqualSplit:
    """A problem as tests of equal weight."""

    step: Fraction
    """Points of one test."""
    quanta: tuple[EqualTests, ...]
    exact: bool
    """Whether the tests represent the points exactly; otherwise they are rounded."""

    @property
    def points(self) -> float:
        """The sum of the passing tests' points."""
        return float(self.step * sum(tests.passing_count for tests in self.quanta))


def split_into_tests(parts: Sequence[ShownPart]) -> EqualSplit | None:
    """Returns the settled *parts* as tests of equal weight; None if no part is worth points."""
    scored = [part for part in parts if part.max_points > 0]
    if not scored:
        return None
    numbers = [_near_fraction(x) for part in scored for x in (part.points or 0.0, part.max_points)]
    fractions = [x for x in numbers if x is not None]
    if len(fractions) == len(numbers):
        step = _common_divisor(fractions)
        earned, maxima = fractions[::2], fractions[1::2]
        if sum(maxima) / step <= MOST:
            pairs = zip(scored, maxima, earned, strict=True)
            quanta = tuple(EqualTests(p, int(m / step), int(g / step)) for p, m, g in pairs)
            return EqualSplit(step, quanta, exact=True)
    return _round_to_most(scored)


def _near_fraction(points: float) -> Fraction | None:
    """Returns *points* as a simple fraction; None if no such fraction is close enough."""
    near = Fraction(points).limit_denominator(_FINEST)
    return near if abs(float(near) - points) <= _SAME else None


def _common_divisor(numbers: Sequence[Fraction]) -> Fraction:
    """Returns the greatest common divisor."""
    below = lcm(*(x.denominator for x in numbers))
    return Fraction(gcd(*(int(x * below) for x in numbers)), below)


def _round_to_most(parts: Sequence[ShownPart]) -> EqualSplit:
    """Returns *parts* together as `MOST` tests, of which a rounded number passes."""
    most = sum(Fraction(part.max_points).limit_denominator(_FINEST) for part in parts)
    got = sum(part.points or 0.0 for part in parts)
    passed = round(got / float(most) * MOST)
    if 0 < got < float(most) - _SAME:
        # Rounding must not turn partial points into none or all.
        passed = min(max(passed, 1), MOST - 1)
    step = Fraction(most, MOST)
    exact = abs(float(step * passed) - got) <= _SAME
    return EqualSplit(step, (EqualTests(None, MOST, passed),), exact=exact)
