"""Ratios from measurements, with intervals, and on which side of a threshold they are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

_BELIEVED = 0.7
"""Share of the profile's minimum time below which a time is implausible; profiles have errors."""
SLOWED = 1.6
"""A machine is busy if the baseline slows down by this factor next to the student's code."""
_SHORTEST = 1e-4
_HALF = 0.5
_QUICK = 0.25
"""The share of runs that are faster than an undisturbed run is assumed to be."""


UNDISTURBED = "undisturbed"
"""Key of a measurement: whether no other notebook of the batch ran during the measurement."""


class NotMeasuredError(Exception):
    """The measurement is inconclusive; says why. It should be repeated."""


class ElsewhereError(NotMeasuredError):
    """A ratio can't be counted on this machine; the message says why."""


class DisturbedError(NotMeasuredError):
    """The count can't be trusted; says why. A person should review it."""


class RanWrongError(Exception):
    """The student's code failed in the timed runs; says how."""


class TooSlowError(RanWrongError):
    """A timed run exceeded its time limit; names the limit."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with an interval of about 95%."""

    low: float
    middle: float
    high: float

    def is_at_least(self, mark: float) -> bool | None:
        """Returns whether the value is at least *mark*; None if *mark* is inside the interval."""
        if self.low >= mark:
            return True
        return False if self.high < mark else None


def estimate(values: Sequence[float], share: float = 0.5) -> Estimate:
    """Returns the quantile *share* of the values, with an interval by order statistics.

    The rank of a quantile among n values has a standard deviation of sqrt(n q (1 - q)).
    """
    ordered = sorted(values)
    last = len(ordered) - 1
    spread = 1.96 * math.sqrt(len(ordered) * share * (1 - share))
    low, high = (share * len(ordered) + sign * spread for sign in (-1, 1))
    middle = statistics.median(ordered) if share == _HALF else ordered[round(share * last)]
    return Estimate(ordered[max(int(low), 0)], middle, ordered[min(math.ceil(high) - 1, last)])


def time_ratio(measured: Mapping[str, object]) -> Estimate:
    """Returns baseline time over student time.

    Other load only makes runs longer, so the fast ones are compared. The baseline is measured in
    turns with the student's code, and also before and after it: a ratio above a threshold holds
    either way, because something that the student started may slow down only the baseline. Raises
    NotMeasuredError, RanWrongError, and TooSlowError.
    """
    _require_measured(measured)
    turns = _rounds_of(measured, 2)
    if measured.get("wrong"):
        raise RanWrongError(_describe_wrong_run("timed", measured))
    overhead, least = _overhead(measured), resolution(measured)

    def net(seconds: float) -> float:
        # Times below the resolution can't be told from zero and count as the resolution.
        return max(seconds - overhead, least)

    mine, beside = (estimate([net(both[i]) for both in turns], _QUICK) for i in (0, 1))
    # But the true time may also be anything below it.
    quickest = max(min(both[0] for both in turns) - overhead, _SHORTEST)
    apart = [
        net(min(_check_numbers(measured[when]))) for when in ("alone", "after") if when in measured
    ]
    low, high = min([beside.low, *apart]), max([beside.high, *apart])
    return Estimate(low / mine.high, beside.middle / mine.middle, high / quickest)


def measured_ratio(measured: Mapping[str, object]) -> Estimate:
    """Returns baseline over student, by time or by count.

    Raises the exceptions of `time_ratio`, ElsewhereError, and DisturbedError.
    """
    is_counted = not measured.keys().isdisjoint(("counts", "uncounted", "disturbed"))
    return _count_ratio(measured) if is_counted else time_ratio(measured)


def _count_ratio(measured: Mapping[str, object]) -> Estimate:
    """Returns the median of the rounds' ratios, with an interval.

    Student and baseline run on the same inputs in a round, so that effects of the inputs cancel. A
    count below the spread of idle runs, or below 1, can't be told from zero.
    """
    _require_measured(measured)
    if "uncounted" in measured:
        raise ElsewhereError(str(measured["uncounted"]))
    if measured.get("disturbed"):
        raise DisturbedError("PyTorch was changed so that launches can't be counted")
    rounds = _rounds_of(measured, 2, "counts")
    if measured.get("wrong"):
        raise RanWrongError(_describe_wrong_run("counted", measured))
    idle = _idle_counts(measured)
    overhead = statistics.median(idle)
    smallest = max(max(idle) - min(idle), 1.0)
    net_rounds = [[max(count - overhead, smallest) for count in both] for both in rounds]
    needed = measured.get("least")
    mine = max(statistics.median(both[0] - overhead for both in rounds), 0.0)
    if isinstance(needed, (int, float)) and mine < needed:
        raise DisturbedError(f"it was {mine:g}, but every solution needs at least {needed:g}")
    return estimate([baseline / student for student, baseline in net_rounds])


def _idle_counts(measured: Mapping[str, object]) -> list[float]:
    return _check_numbers(measured["idle"]) if "idle" in measured else [0.0]


def _describe_wrong_run(run: str, measured: Mapping[str, object]) -> str:
    if measured["wrong"] == "inputs":
        return f"a {run} run did not use the inputs it was given"
    return f"in a {run} run, the result differed from the baseline's"


def median_counts(measured: Mapping[str, object]) -> tuple[float, float]:
    """Returns the median counts of student and baseline, without the overhead of counting."""
    overhead = statistics.median(_idle_counts(measured))
    rounds = _rounds_of(measured, 2, "counts")
    student, baseline = (statistics.median(both[i] for both in rounds) - overhead for i in (0, 1))
    return max(student, 0.0), max(baseline, 0.0)


def is_busy(measured: Mapping[str, object]) -> bool:
    """Returns whether the baseline was much slower during its turns than before or after."""
    beside = min(both[1] for both in _rounds_of(measured, 2))
    others = (
        min(_check_numbers(measured[when])) for when in ("alone", "after") if when in measured
    )
    return any(max(beside, other) > SLOWED * min(beside, other) for other in others)


def _overhead(measured: Mapping[str, object]) -> float:
    """Returns the duration of a run that calls nothing, in seconds."""
    if "idle" in measured:
        return estimate(_check_numbers(measured["idle"]), _QUICK).middle
    return _check_number(measured.get("overhead"))


def resolution(measured: Mapping[str, object]) -> float:
    """Returns the shortest time in seconds that can be told from zero."""
    overhead = _overhead(measured)
    spread = overhead - min(_check_numbers(measured["idle"])) if "idle" in measured else 0.0
    return max(spread, overhead / 8, _SHORTEST)


def is_too_fast(measured: Mapping[str, object]) -> bool:
    """Returns whether the student's code was faster than the machine's profile allows."""
    floor = measured.get("floor")
    if not isinstance(floor, float) or floor <= resolution(measured):
        return False
    overhead = _overhead(measured)
    took = statistics.median(max(both[0] - overhead, 0.0) for both in _rounds_of(measured, 2))
    return took < _BELIEVED * floor


def time_estimate(measured: Mapping[str, object]) -> Estimate:
    """Returns the time of a single measured function."""
    _require_measured(measured)
    overhead = _overhead(measured)
    return estimate([max(times[0] - overhead, 1e-9) for times in _rounds_of(measured, 1)])


def count_estimate(measured: Mapping[str, object]) -> Estimate:
    """Returns a count that is the same, or nearly so, in every run."""
    _require_measured(measured)
    return estimate(_check_numbers(measured.get("counted")))


def is_final(raw: Mapping[str, object] | None) -> bool:
    """Returns whether the answer *raw* was measured while no other notebook of the batch ran."""
    measured = (raw or {}).get("race")
    return isinstance(measured, Mapping) and measured.get(UNDISTURBED) is True


def next_step(measured: Mapping[str, object]) -> str:
    """Returns the next step after an inconclusive measurement: another one, or manual review."""
    if measured.get(UNDISTURBED) is not True:
        return "It will be measured again."
    why = "No other notebook ran during the last measurement"
    with suppress(NotMeasuredError, KeyError):
        if is_busy(measured):
            why += ", and the baseline was slower while this code was running"
    return f"{why}; a person will review it."


def _require_measured(measured: Mapping[str, object]) -> None:
    """Raises RanWrongError, TooSlowError, or NotMeasuredError if a measurement has no result."""
    if "failed" in measured:
        raise RanWrongError(str(measured["failed"]))
    if "late" in measured:
        raise TooSlowError(f"a timed run took more than {_check_number(measured['late']):g} s")
    if "unmade" in measured or not measured:
        raise NotMeasuredError(str(measured.get("unmade", "it was not measured")))


def _rounds_of(
    measured: Mapping[str, object], width: int, name: str = "rounds"
) -> list[list[float]]:
    """Returns the rounds, each of *width* numbers. Raises NotMeasuredError if there are none."""
    rounds = measured.get(name)
    if not isinstance(rounds, list) or not rounds:
        raise NotMeasuredError("there was no time for a single round")
    numbers = [_check_numbers(values) for values in rounds]
    if any(len(values) != width for values in numbers):
        raise NotMeasuredError("the measurement is damaged")
    return numbers


def _check_numbers(value: object) -> list[float]:
    """Returns a list of numbers as floats. Raises NotMeasuredError for anything else."""
    if not isinstance(value, list) or not value:
        raise NotMeasuredError("the measurement is damaged")
    return [_check_number(item) for item in value]


def _check_number(value: object) -> float:
    """Returns a finite number as a float. Raises NotMeasuredError for anything else."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        raise NotMeasuredError("the measurement is damaged")
    return float(value)
