"""Takes samples of one figure after the other, in a worker process of `calibrate`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from grader.kinds import ratios
from grader.runtime.machine.records import LeftOut, MeasuredFigure, unit_of

FEWEST = 6
"""With fewer samples, even the lowest and the highest do not enclose the median in 95% of cases."""
_MOST = 2_000
_HALF_WIDTH = 0.03
"""Target for half of the 95% interval of the median, as a share of the median."""
# What libraries raise if a machine lacks something.
FAULTS = (RuntimeError, OSError, ValueError, TypeError, AttributeError, MemoryError, ImportError)
_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuringTask:
    """What one worker process has to measure."""

    device: str = "cpu"
    threads: int = 1
    quick: bool = False
    seconds: float = 40.0
    """After this time, only the fewest samples are taken for each remaining figure."""
    array_bytes: int = 64 << 20
    """Size of the arrays in memory."""
    torch: bool = False
    """Whether to use torch; otherwise, numpy."""


def seconds_per_call(work: Callable[[], object], calls: int) -> float:
    """Returns the mean time of *calls* consecutive calls, in seconds."""
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return max(time.perf_counter() - start, 1e-9) / calls


class Bench:
    """Measures one figure after the other and passes each to *emit* as plain data.

    *timer* returns the mean time of a number of calls on the device, in seconds.
    """

    def __init__(
        self,
        assignment: MeasuringTask,
        emit: Callable[[str, object], None],
        timer: Callable[[Callable[[], object], int], float] = seconds_per_call,
    ):
        self.assignment = assignment
        self.emit = emit
        self.timer = timer
        self.figure_seconds = 0.03 if assignment.quick else 0.6
        """Time limit for the samples of a figure; FEWEST are always taken."""
        self._end = time.perf_counter() + assignment.seconds

    def sample(
        self,
        name: str,
        sample: Callable[[], float],
        *,
        how: str,
        threads: int | None = None,
        working_set: int | None = None,
    ) -> MeasuredFigure:
        """Measures the figure *name* by samples, which *sample* returns in the figure's unit."""
        values = self._collect(sample)
        estimate = ratios.estimate(values)
        q1, _, q3 = statistics.quantiles(values, n=4, method="inclusive")
        unit = unit_of(name)
        figure = MeasuredFigure(
            name=name,
            device=self.assignment.device,
            threads=threads,
            working_set=working_set,
            unit=unit,
            median=estimate.middle,
            low=estimate.low,
            high=estimate.high,
            # Rounding may move an interpolated quartile past the median.
            q1=min(q1, estimate.middle),
            q3=max(q3, estimate.middle),
            best=min(values) if unit == "s" else max(values),
            count=len(values),
            settled=_is_certain(values),
            how=how,
        )
        self.emit("figure", asdict(figure))
        return figure

    def _collect(self, sample: Callable[[], float]) -> list[float]:
        """Returns samples, until their median is certain enough or the time is used up.

        The samples are spread over a third of the time, because samples of one instant are alike.
        Checking repeatedly makes the interval slightly too narrow, so the median is checked only
        each time there are a tenth more samples.
        """
        start, next_check = time.perf_counter(), FEWEST
        longest = self.figure_seconds if start < self._end else 0.0
        values: list[float] = []
        while len(values) < _MOST:
            values.append(sample())
            spent = time.perf_counter() - start
            if len(values) >= FEWEST and spent >= longest:
                break
            if len(values) >= next_check and spent >= longest / 3:
                if _is_certain(values):
                    break
                next_check = len(values) + max(1, len(values) // 10)
        return values

    def time(
        self,
        name: str,
        work: Callable[[], object],
        *,
        how: str,
        amount: float = 1.0,
        threads: int | None = None,
        working_set: int | None = None,
    ) -> MeasuredFigure:
        """Measures *work*: its seconds or, for a rate, the *amount* of it per second."""
        batch_seconds = self.figure_seconds / 600  # short calls are timed together
        calls = 1  # finding out how many calls are needed is also the warm-up
        while calls < 1 << 24 and self.timer(work, calls) * calls < batch_seconds:
            calls *= 2

        def sample() -> float:
            seconds = self.timer(work, calls)
            return seconds if unit_of(name) == "s" else amount / seconds

        return self.sample(name, sample, how=how, threads=threads, working_set=working_set)

    @contextmanager
    def attempt(self, what: str) -> Iterator[None]:
        """Runs a block; leaves *what* out if it fails because the machine lacks something."""
        try:
            yield
        except FAULTS as error:
            lines = str(error).strip().splitlines() or [""]
            why = f"{type(error).__name__}: {lines[0]}"
            self.emit("left_out", asdict(LeftOut(what=what, why=why[:_LONGEST])))


def _is_certain(values: list[float]) -> bool:
    """Returns whether the 95% interval of the median is as narrow as the target."""
    estimate = ratios.estimate(values)
    return estimate.high - estimate.low < 2 * _HALF_WIDTH * estimate.middle
