"""What a measurement says: ratios and their interval, and on which side of a mark they lie."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_BELIEVED = 0.7
"""Of the least time by the machine's profile, which was measured with some error."""
SLOWED = 1.6
"""The baseline may become so much slower beside the student's code; more, and nothing is known."""


class NotMeasuredError(Exception):
    """Nothing can be concluded; says why. To be measured again."""


class RanWrongError(Exception):
    """The student's code failed in the timed runs; says how."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median with an interval of about 95 %."""

    low: float
    middle: float
    high: float

    def above(self, mark: float) -> bool | None:
        """Whether it is at least *mark*; None when the interval holds both answers."""
        if self.low >= mark:
            return True
        return False if self.high < mark else None


def estimate(values: Sequence[float]) -> Estimate:
    """The median, and its interval by order statistics."""
    ordered = sorted(values)
    count = len(ordered)
    below = max(int((count - 1.96 * count**0.5) / 2), 0)
    return Estimate(ordered[below], statistics.median(ordered), ordered[count - 1 - below])


def ratio(race: Mapping[str, object]) -> Estimate:
    """Baseline over student. Raises NotMeasuredError and RanWrongError."""
    _made(race)
    rounds, overhead = _rounds(race, 2), _number(race.get("overhead"))
    wrong = race.get("wrong")
    if wrong:
        raise RanWrongError("in a timed run the result was not that of the baseline")
    alone = _numbers(race.get("alone"))
    # The quickest of each: other work on the machine comes and goes, what a student started stays.
    if min(both[1] for both in rounds) > SLOWED * min(alone):
        raise NotMeasuredError("the machine was busy with something else")
    return estimate(ratios(rounds, overhead))


def ratios(rounds: Sequence[Sequence[float]], overhead: float) -> list[float]:
    """Baseline over student, a round each, without what asking alone takes.

    What is much shorter than the asking can't be told from nothing, and is not taken for less.
    """
    least = max(overhead / 4, 1e-6)
    return [max(b - overhead, least) / max(s - overhead, least) for s, b in rounds]


def too_fast(race: Mapping[str, object]) -> bool:
    """Whether the student's code was faster than the machine's profile allows for."""
    floor = race.get("floor")
    if not isinstance(floor, float) or floor <= 0:
        return False
    overhead = _number(race.get("overhead"))
    took = statistics.median(max(both[0] - overhead, 0.0) for both in _rounds(race, 2))
    return took < _BELIEVED * floor


def seconds(race: Mapping[str, object]) -> Estimate:
    """The time of what was measured alone."""
    _made(race)
    overhead = _number(race.get("overhead"))
    return estimate([max(one[0] - overhead, 1e-9) for one in _rounds(race, 1)])


def counted(race: Mapping[str, object]) -> Estimate:
    """What was counted, the same every time or nearly so."""
    _made(race)
    return estimate(_numbers(race.get("counted")))


def _made(race: Mapping[str, object]) -> None:
    if "failed" in race:
        raise RanWrongError(str(race["failed"]))
    if "unmade" in race or not race:
        raise NotMeasuredError(str(race.get("unmade", "it was not measured")))


def _rounds(race: Mapping[str, object], width: int) -> list[list[float]]:
    rounds = race.get("rounds")
    if not isinstance(rounds, list) or not rounds:
        raise NotMeasuredError("there was no time for a single round")
    found = [_numbers(one) for one in rounds]
    if any(len(one) != width for one in found):
        raise NotMeasuredError("the measurement is damaged")
    return found


def _numbers(value: object) -> list[float]:
    if not isinstance(value, list) or not value:
        raise NotMeasuredError("the measurement is damaged")
    return [_number(item) for item in value]


def _number(value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        raise NotMeasuredError("the measurement is damaged")
    return float(value)
