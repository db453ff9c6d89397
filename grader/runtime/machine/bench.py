"""The bench on which a worker measures: samples to figures, and what could not be measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

from grader.runtime.machine.estimate import Effort, calls_for, collect, estimate, seconds_a_call
from grader.runtime.machine.records import Cache, Figure, LeftOut, unit_of

# What libraries raise when a machine lacks something; a bug of ours is none of these but by chance,
# and then its sentence stands in the profile.
FAULTS = (RuntimeError, OSError, ValueError, TypeError, AttributeError, MemoryError, EOFError)
_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What one worker process is to measure, and on what it has to be careful."""

    group: str
    """Which of the groups in `grader.runtime.machine.worker`."""
    quick: bool = False
    seconds: float = 40.0
    """When these are over, every figure left gets only the fewest samples."""
    usable_cpus: int = 1
    caches: tuple[Cache, ...] = ()
    available_bytes: int | None = None
    torch: bool = False
    numa_nodes: int = 1
    threads: int = 1
    """What the environment sets for numpy's own library, which can't change it later."""

    @property
    def teams(self) -> tuple[int, ...]:
        """Numbers of threads for the scaling figures: powers of two, and all usable CPUs.

        >>> Assignment(group="", usable_cpus=6).teams
        (1, 2, 4, 6)
        """
        powers = (1 << i for i in range(self.usable_cpus.bit_length()))
        return tuple(sorted({*powers, self.usable_cpus}))

    @property
    def ends(self) -> tuple[int, ...]:
        """One thread, and all."""
        return (1, self.usable_cpus) if self.usable_cpus > 1 else (1,)

    @property
    def effort(self) -> Effort:
        """For one figure."""
        if self.quick:
            return Effort(seconds=0.03, least_seconds=0.01, batch_seconds=3e-4, warm_ups=1)
        return Effort()


class Bench:
    """Measures one figure after the other and hands each to *emit* as plain data."""

    def __init__(
        self,
        assignment: Assignment,
        emit: Callable[[str, object], None],
        clock: Callable[[], float] = time.perf_counter,
    ):
        self.assignment = assignment
        self._emit = emit
        self._clock = clock
        self._end = clock() + assignment.seconds

    @property
    def effort(self) -> Effort:
        """For the next figure: nothing above the least when the whole time is used up."""
        effort = self.assignment.effort
        return replace(effort, seconds=0.0) if self._clock() >= self._end else effort

    def tell(self, what: str, data: object) -> None:
        """Hands over something that is not a figure."""
        self._emit(what, data)

    def sampled(
        self,
        name: str,
        sample: Callable[[], float],
        *,
        how: str,
        threads: int | None = None,
        working_set: int | None = None,
        device: str = "cpu",
        warm: bool = False,
    ) -> Figure:
        """A figure of what *sample* returns, in the unit of *name*; *warm* needs no warm-up."""
        effort = replace(self.effort, warm_ups=0) if warm else self.effort
        found = estimate(collect(sample, effort, self._clock))
        unit = unit_of(name)
        figure = Figure(
            name=name,
            device=device,
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
        self._emit("figure", asdict(figure))
        return figure

    def timed(
        self,
        name: str,
        work: Callable[[], object],
        *,
        how: str,
        amount: float = 1.0,
        threads: int | None = None,
        working_set: int | None = None,
    ) -> Figure:
        """A figure of *work*: its seconds, or for another unit the *amount* of it a second."""
        # Finding out how many calls are needed is the warm-up.
        calls = calls_for(work, self.effort.batch_seconds, self._clock)
        per_second = unit_of(name) != "s"

        def sample() -> float:
            seconds = seconds_a_call(work, calls, self._clock)
            return amount / seconds if per_second else seconds

        return self.sampled(
            name, sample, how=how, threads=threads, working_set=working_set, warm=True
        )

    def leave_out(self, what: str, why: str, fix: str = "") -> None:
        """Says that *what* was not measured."""
        self._emit("left_out", asdict(LeftOut(what=what, why=why[:_LONGEST], fix=fix)))

    @contextmanager
    def trying(self, what: str, fix: str = "") -> Iterator[None]:
        """A block that may fail for want of something; then *what* is left out, with the reason."""
        try:
            yield
        except FAULTS as error:
            lines = str(error).strip().splitlines() or [""]
            self.leave_out(what, f"{type(error).__name__}: {lines[0]}", fix)
