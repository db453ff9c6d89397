"""Measurements by counting: runs the student's function and a baseline a few times each.

Kernel launches are counted inside the kernel, by the tool that notebooks can use too; instructions
and page faults are counted by the operating system, from outside. A count depends on little besides
the inputs, so a few rounds suffice where timing needs dozens.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Sequence
from typing import Protocol

from grader.errors import SetupError
from grader.kinds import ratios
from grader.model import Benchmark, Raw
from grader.runtime.kernels import Session
from grader.runtime.machine.counters import Counter, find_counter_error, open_counter
from grader.wire.values import decode_result

OUTSIDE = ("instructions", "page_faults")
FEWEST = 5
"""Rounds: the true median lies between the smallest and the largest of five 15 times in 16."""
WARM_UP = 2
"""Rounds for one-time work, such as importing a module."""
_IDLE_ROUNDS = 5


class KernelPair(Protocol):
    """The two kernels of a race, and how to talk to them."""

    @property
    def clean(self) -> Session:
        """The kernel that runs no code of the student's."""

    def define(self, mine: Session, cells: Sequence[str]) -> None:
        """Runs the code that defines the student's function."""

    def ask(
        self, session: Session, step: str, name: str = "", seed: int | None = None
    ) -> tuple[object, float]:
        """Returns the reply to one step of `grader.wire.trial`, and its seconds."""

    def find_difference(self, mine: Session, promised: object, ours: object) -> str | None:
        """Returns how the last two runs differ, given the student's reply and the baseline's."""


class InconclusiveError(Exception):
    """The grader could not measure; the message says why."""


def describe_missing_counter(race: Benchmark) -> Raw:
    """Returns evidence that this machine can't count what *race* compares; {} if it can."""
    why = find_counter_error(race.by) if race.by in OUTSIDE else None
    return {} if why is None else {"uncounted": why.what}


def compare_counts(
    race: Benchmark, name: str, sides: KernelPair, mine: Session, cells: Sequence[str]
) -> dict[str, object]:
    """Returns the counts of each round (the student's first), and whether the results differed."""
    try:
        with contextlib.ExitStack() as stack:
            if race.by in OUTSIDE:
                counters = [
                    stack.enter_context(_attach_counter(race.by, one))
                    for one in (mine, sides.clean)
                ]
                way: _CountingMethod = _CountingBySystem(sides, mine, counters)
            else:
                way = _CountingInKernel(sides)
                # If the baseline fails, let it fail in the kernel that is not the student's.
                way.count(sides.clean, "", new_seed())
                # Let the tool bind everything it uses before the student's code runs.
                way.count(mine, "", new_seed())
            sides.define(mine, cells)
            return _count_rounds(race, name, sides, mine, way)
    except SetupError as error:
        raise InconclusiveError(error.what) from error


def _attach_counter(event: str, session: Session) -> contextlib.AbstractContextManager[Counter]:
    pid = session.pid
    if pid is None:
        raise InconclusiveError("the process id of the kernel is not known on this system")
    return open_counter(event, pid)


class _CountingMethod(Protocol):
    def count(self, session: Session, name: str, seed: int) -> tuple[object, float | None]:
        """Returns the digest of a result and the run's count; None if the count was forged."""

    def count_idle_runs(self) -> list[float]:
        """Counts of runs that call no function."""


class _CountingInKernel:
    """Counted in the kernel itself."""

    def __init__(self, sides: KernelPair):
        self._sides = sides

    def count(self, session: Session, name: str, seed: int) -> tuple[object, float | None]:
        said, _ = self._sides.ask(session, "launches", name, seed)
        pair = said.get("v") if isinstance(said, dict) else None
        if not isinstance(pair, list) or len(pair) != 2:  # forged: honest replies are pairs
            return None, None
        try:
            number = decode_result(pair[1])
        except ValueError:
            number = None
        fine = isinstance(number, int) and not isinstance(number, bool) and number >= 0
        return pair[0], float(number) if fine else None  # type: ignore[arg-type]

    def count_idle_runs(self) -> list[float]:
        return [0.0]


class _CountingBySystem:
    """Counted by the system, in the kernel's process and all its descendants."""

    def __init__(self, sides: KernelPair, mine: Session, counters: Sequence[Counter]):
        self._sides = sides
        self._mine = mine
        self._counters = counters

    def count(self, session: Session, name: str, seed: int) -> tuple[object, float | None]:
        return self._count_step(session, "run", name, seed)

    def count_idle_runs(self) -> list[float]:
        found = [
            self._count_step(self._sides.clean, "idle", "", new_seed()) for _ in range(_IDLE_ROUNDS)
        ]
        return [count for _, count in found]

    def _count_step(
        self, session: Session, step: str, name: str, seed: int
    ) -> tuple[object, float]:
        counter = self._counters[session is not self._mine]
        before = counter.read()
        counter.start()
        said, _ = self._sides.ask(session, step, name, seed)
        counter.stop()
        return said, float(counter.read() - before)


def _count_rounds(
    race: Benchmark, name: str, sides: KernelPair, mine: Session, way: _CountingMethod
) -> dict[str, object]:
    rounds: list[list[float]] = []
    idle: list[float] = []
    for number in range(WARM_UP + race.rounds):
        if number == WARM_UP:
            idle = way.count_idle_runs()
        seed = new_seed()  # inputs that nobody has seen before
        known, ours = way.count(sides.clean, "", seed)
        promised, theirs = way.count(mine, name, seed)
        if ours is None:
            raise InconclusiveError("the baseline's count is not a number")
        if theirs is None:
            return {"disturbed": 1, "by": race.by}
        if wrong := sides.find_difference(mine, promised, known):
            return {"counts": [[theirs, ours]], "wrong": wrong, "by": race.by}
        if number < WARM_UP:
            continue
        rounds.append([theirs, ours])
        found = {
            "counts": rounds,
            "idle": idle,
            "least": race.least,
            "wrong": 0,
            "by": race.by,
        }
        if len(rounds) >= min(FEWEST, race.rounds):
            try:
                ratio = ratios.measured_ratio(found)
            except ratios.NotMeasuredError:
                break
            if all(ratio.is_at_least(mark) is not None for mark in race.marks):
                break
    return found


def new_seed() -> int:
    """Returns a seed that nobody can predict, from 0 to 2**31 - 1."""
    return secrets.randbelow(2**31)
