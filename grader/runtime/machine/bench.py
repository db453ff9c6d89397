"""Measures figures in a worker process, and records what could not be measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

from grader.runtime.machine.estimate import Effort, collect_samples, estimate
from grader.runtime.machine.records import Figure, LeftOut, unit_of

# What libraries raise if a machine lacks something.
FAULTS = (RuntimeError, OSError, ValueError, TypeError, AttributeError, MemoryError, ImportError)
_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
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
    """Measures one figure after the other and passes each to *emit* as plain data."""

    def __init__(
        self,
        assignment: Assignment,
        emit: Callable[[str, object], None],
        timer: Callable[[Callable[[], object], int], float] = seconds_per_call,
    ):
        """Returns *timer* returns the mean time of a number of calls on the device, in seconds."""
        self.assignment = assignment
        self.emit = emit
        self.timer = timer
        self._end = time.perf_counter() + assignment.seconds

    @property
    def effort(self) -> Effort:
        """The effort for the next figure: the minimum if the time is used up."""
        effort = Effort()
        if self.assignment.quick:
            effort = Effort(seconds=0.03, least_seconds=0.01, batch_seconds=3e-4)
        return replace(effort, seconds=0.0) if time.perf_counter() >= self._end else effort

    def sample(
        self,
        name: str,
        sample: Callable[[], float],
        *,
        how: str,
        threads: int | None = None,
        working_set: int | None = None,
    ) -> Figure:
        """Measures a figure from what *sample* returns, in the unit of *name*."""
        effort = self.effort
        found = estimate(collect_samples(sample, effort))
        unit = unit_of(name)
        figure = Figure(
            name=name,
            device=self.assignment.device,
            threads=threads,
            working_set=working_set,
            unit=unit,
            median=found.median,
            low=found.low,
            high=found.high,
            q1=found.q1,
            q3=found.q3,
            best=found.lowest if unit == "s" else found.highest,
            count=found.count,
            settled=found.half_width < effort.half_width,
            how=how,
        )
        self.emit("figure", asdict(figure))
        return figure

    def time(
        self,
        name: str,
        work: Callable[[], object],
        *,
        how: str,
        amount: float = 1.0,
        threads: int | None = None,
        working_set: int | None = None,
    ) -> Figure:
        """Measures *work*: its seconds or, for a rate, the *amount* of it per second."""
        calls = 1  # finding out how many calls are needed is also the warm-up
        while calls < 1 << 24 and self.timer(work, calls) * calls < self.effort.batch_seconds:
            calls *= 2

        def sample() -> float:
            seconds = self.timer(work, calls)
            return seconds if unit_of(name) == "s" else amount / seconds

        return self.sample(name, sample, how=how, threads=threads, working_set=working_set)

    def leave_out(self, what: str, why: str, fix: str = "") -> None:
        """Records that *what* was not measured."""
        self.emit("left_out", asdict(LeftOut(what=what, why=why[:_LONGEST], fix=fix)))

    @contextmanager
    def attempt(self, what: str) -> Iterator[None]:
        """Runs a block; leaves *what* out if it fails because the machine lacks something."""
        try:
            yield
        except FAULTS as error:
            lines = str(error).strip().splitlines() or [""]
            self.leave_out(what, f"{type(error).__name__}: {lines[0]}")
