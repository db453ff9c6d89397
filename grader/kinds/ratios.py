"""What a measurement says: ratios and their interval, and on which side of a mark they lie."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_BELIEVED = 0.7
"""Of the least time by the machine's profile, which was measured with some error."""
SLOWED = 1.6
"""A machine on which the baseline becomes so much slower beside the student's code is busy."""


_SHORTEST = 1e-4
_HALF = 0.5
_QUICK = 0.25
"""The share of runs that are quicker than what is taken for undisturbed."""


UNDISTURBED = "undisturbed"
"""In a race: whether it was measured while no other notebook of the batch ran."""


class NotMeasuredError(Exception):
    """Nothing can be concluded; says why. To be measured again."""


class ElsewhereError(NotMeasuredError):
    """This machine can't count it; says why."""


class DisturbedError(NotMeasuredError):
    """What was counted can't be believed; says why. For a person to look at."""


class RanWrongError(Exception):
    """The student's code failed in the timed runs; says how."""


class TooSlowError(RanWrongError):
    """A timed run took longer than it may; says how long that is."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with an interval of about 95%."""

    low: float
    middle: float
    high: float

    def above(self, mark: float) -> bool | None:
        """Whether it is at least *mark*; None when the interval holds both answers."""
        if self.low >= mark:
            return True
        return False if self.high < mark else None


def estimate(values: Sequence[float], share: float = 0.5) -> Estimate:
    """The value below which *share* of all lie, and its interval, by order statistics.

    The rank of a quantile among n values has the spread sqrt(n q (1 - q)).
    """
    ordered = sorted(values)
    last = len(ordered) - 1
    spread = 1.96 * math.sqrt(len(ordered) * share * (1 - share))
    low, high = (share * len(ordered) + sign * spread for sign in (-1, 1))
    middle = statistics.median(ordered) if share == _HALF else ordered[round(share * last)]
    return Estimate(ordered[max(int(low), 0)], middle, ordered[min(math.ceil(high) - 1, last)])


def ratio(race: Mapping[str, object]) -> Estimate:
    """Baseline over student. Raises NotMeasuredError, RanWrongError and TooSlowError.

    Whatever else the machine does makes some runs longer and none shorter, so the quick ones are
    compared. The baseline counts in its turns with the student's code, and also before and after,
    when nothing of the student's was there: what is above a mark is so either way. For what a
    student has started may slow down the baseline alone.
    """
    _made(race)
    turns = _rounds(race, 2)
    if race.get("wrong"):
        raise RanWrongError(_wrong("timed", race))
    overhead, least = _overhead(race), resolution(race)

    def net(seconds: float) -> float:
        # What is much shorter than the asking can't be told from nothing, and counts as this.
        return max(seconds - overhead, least)

    mine, beside = (estimate([net(both[i]) for both in turns], _QUICK) for i in (0, 1))
    # But then it may be anything below, too.
    quickest = max(min(both[0] for both in turns) - overhead, _SHORTEST)
    apart = [net(min(_numbers(race[when]))) for when in ("alone", "after") if when in race]
    low, high = min([beside.low, *apart]), max([beside.high, *apart])
    return Estimate(low / mine.high, beside.middle / mine.middle, high / quickest)


def ratio_of(race: Mapping[str, object]) -> Estimate:
    """Baseline over student, by time or by what was counted. Raises as `ratio` does, and
    ElsewhereError and DisturbedError."""
    return _ratio_of_counts(race) if _is_counted(race) else ratio(race)


def _is_counted(race: Mapping[str, object]) -> bool:
    return any(name in race for name in ("counts", "uncounted", "disturbed"))


def _ratio_of_counts(race: Mapping[str, object]) -> Estimate:
    """The median of the rounds' ratios, and its interval.

    Both run on the same inputs in a round, so that what hangs on the inputs cancels. A count can't
    be told from nothing below what the runs in which nothing was called differ by, or below 1.
    """
    _made(race)
    if "uncounted" in race:
        raise ElsewhereError(str(race["uncounted"]))
    if race.get("disturbed"):
        raise DisturbedError("PyTorch was changed so that launches can't be counted")
    rounds = _rounds(race, 2, "counts")
    if race.get("wrong"):
        raise RanWrongError(_wrong("counted", race))
    idle = _numbers(race["idle"]) if "idle" in race else [0.0]
    overhead, least = statistics.median(idle), max(max(idle) - min(idle), 1.0)
    net = [[max(count - overhead, least) for count in both] for both in rounds]
    needed = race.get("least")
    mine = max(statistics.median(both[0] - overhead for both in rounds), 0.0)
    if isinstance(needed, (int, float)) and mine < needed:
        raise DisturbedError(f"it came to {mine:g}, and no way can do with less than {needed:g}")
    return estimate([ours / theirs for theirs, ours in net])


def _wrong(run: str, race: Mapping[str, object]) -> str:
    if race["wrong"] == "inputs":
        return f"a {run} run was not made with the inputs that it was given"
    return f"in a {run} run the result was not that of the baseline"


def middles(race: Mapping[str, object]) -> tuple[float, float]:
    """What was counted of student and baseline in the middle, what the asking takes left out."""
    overhead = statistics.median(_numbers(race["idle"])) if "idle" in race else 0.0
    rounds = _rounds(race, 2, "counts")
    mine, ours = (statistics.median(both[i] for both in rounds) - overhead for i in (0, 1))
    return max(mine, 0.0), max(ours, 0.0)


def busy(race: Mapping[str, object]) -> bool:
    """Whether the baseline was much slower in its turns than before, or after."""
    beside = min(both[1] for both in _rounds(race, 2))
    others = (min(_numbers(race[when])) for when in ("alone", "after") if when in race)
    return any(max(beside, other) > SLOWED * min(beside, other) for other in others)


def _overhead(race: Mapping[str, object]) -> float:
    """Seconds of a run in which nothing is called."""
    if "idle" in race:
        return estimate(_numbers(race["idle"]), _QUICK).middle
    return _number(race.get("overhead"))


def resolution(race: Mapping[str, object]) -> float:
    """The shortest time in seconds that can be told from nothing."""
    overhead = _overhead(race)
    spread = overhead - min(_numbers(race["idle"])) if "idle" in race else 0.0
    return max(spread, overhead / 8, _SHORTEST)


def too_fast(race: Mapping[str, object]) -> bool:
    """Whether the student's code was faster than the machine's profile allows for."""
    floor = race.get("floor")
    if not isinstance(floor, float) or floor <= resolution(race):
        return False
    overhead = _overhead(race)
    took = statistics.median(max(both[0] - overhead, 0.0) for both in _rounds(race, 2))
    return took < _BELIEVED * floor


def seconds(race: Mapping[str, object]) -> Estimate:
    """The time of what was measured alone."""
    _made(race)
    overhead = _overhead(race)
    return estimate([max(one[0] - overhead, 1e-9) for one in _rounds(race, 1)])


def counted(race: Mapping[str, object]) -> Estimate:
    """What was counted, the same every time or nearly so."""
    _made(race)
    return estimate(_numbers(race.get("counted")))


def is_final(raw: Mapping[str, object] | None) -> bool:
    """Whether the answer *raw* was measured while no other notebook of the batch ran."""
    race = (raw or {}).get("race")
    return isinstance(race, Mapping) and race.get(UNDISTURBED) is True


def what_next(race: Mapping[str, object]) -> str:
    """What follows from a measurement that settles nothing: another one, or a person."""
    if race.get(UNDISTURBED) is not True:
        return "It is measured again."
    why = "No other notebook ran during the last measurement"
    if _slowed(race):
        why += ", and the baseline was slower while this code was running beside it"
    return f"{why}; a person decides."


def _slowed(race: Mapping[str, object]) -> bool:
    try:
        return busy(race)
    except (NotMeasuredError, KeyError):
        return False


def _made(race: Mapping[str, object]) -> None:
    if "failed" in race:
        raise RanWrongError(str(race["failed"]))
    if "late" in race:
        raise TooSlowError(f"a timed run took longer than {_number(race['late']):g} s")
    if "unmade" in race or not race:
        raise NotMeasuredError(str(race.get("unmade", "it was not measured")))


def _rounds(race: Mapping[str, object], width: int, name: str = "rounds") -> list[list[float]]:
    rounds = race.get(name)
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
