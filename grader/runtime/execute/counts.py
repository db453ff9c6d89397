"""Measurements that count: the student's function beside a baseline, a few times each.

Kernel launches are counted in the kernel that makes them, by the tool that the notebook has too;
instructions and page faults by the system, from outside. A count hangs on the inputs and on little
else, so that a handful of rounds say what takes a clock dozens.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Sequence
from typing import Protocol

from grader.errors import SetupError
from grader.kinds import ratios
from grader.model import Race, Raw
from grader.runtime.kernels import Session
from grader.runtime.machine.counters import Counter, counting, uncounted
from grader.wire.values import read

OUTSIDE = ("instructions", "page_faults")
FEWEST = 5
"""Rounds: the median of so many lies between the smallest and the largest 15 times in 16."""
WARM_UP = 2
"""What is done once, such as importing a module, is done in these."""
_IDLE_ROUNDS = 5


class Sides(Protocol):
    """The two kernels of a race, and how to talk to them."""

    @property
    def clean(self) -> Session:
        """The kernel without anything of the student's."""

    def define(self, mine: Session, cells: Sequence[str]) -> None:
        """Runs what the student's function is made of."""

    def ask(
        self, session: Session, step: str, name: str = "", seed: int | None = None
    ) -> tuple[object, float]:
        """What was said to one step of `grader.wire.trial`."""

    def differ(self, mine: Session, promised: object, ours: object) -> str | None:
        """How the last runs differ, of which *promised* was said, and *ours* by the baseline."""


class _UnmadeError(Exception):
    """Nothing can be concluded; the text says why."""


def put_off(race: Race) -> Raw:
    """Why what *race* goes by can't be counted on this machine; empty when it can, or is timed."""
    why = uncounted(race.by) if race.by in OUTSIDE else None
    return {} if why is None else {"uncounted": why.what}


def compared(
    race: Race, name: str, sides: Sides, mine: Session, cells: Sequence[str]
) -> dict[str, object]:
    """What was counted in each round, the student's before the baseline's; and whether the
    results differed."""
    try:
        with contextlib.ExitStack() as stack:
            if race.by in OUTSIDE:
                counters = [
                    stack.enter_context(_attached(race.by, one)) for one in (mine, sides.clean)
                ]
                way: _Way = _Outside(sides, mine, counters)
            else:
                way = _Inside(sides)
                # A baseline that fails, fails in the kernel that is not the student's.
                way.count(sides.clean, "", _new_seed())
                # Before the student's code is there the tool takes hold of all that it uses.
                way.count(mine, "", _new_seed())
            sides.define(mine, cells)
            return _rounds(race, name, sides, mine, way)
    except _UnmadeError as error:
        return {"unmade": str(error)}
    except SetupError as error:
        return {"unmade": error.what}


def _attached(event: str, session: Session) -> contextlib.AbstractContextManager[Counter]:
    pid = session.pid
    if pid is None:
        raise _UnmadeError("the number of the kernel's process is not known on this system")
    return counting(event, pid)


class _Way(Protocol):
    def count(self, session: Session, name: str, seed: int) -> tuple[object, float | None]:
        """The digest of a result, and the count of the run; None when it was tampered with."""

    def idle(self) -> list[float]:
        """Counts of runs in which nothing is called."""


class _Inside:
    """Counted in the kernel itself."""

    def __init__(self, sides: Sides):
        self._sides = sides

    def count(self, session: Session, name: str, seed: int) -> tuple[object, float | None]:
        said, _ = self._sides.ask(session, "launches", name, seed)
        pair = said.get("v") if isinstance(said, dict) else None
        if not isinstance(pair, list) or len(pair) != 2:  # forged, as all of ours are pairs
            return None, None
        try:
            number = read(pair[1])
        except ValueError:
            number = None
        fine = isinstance(number, int) and not isinstance(number, bool) and number >= 0
        return pair[0], float(number) if fine else None  # type: ignore[arg-type]

    def idle(self) -> list[float]:
        return [0.0]


class _Outside:
    """Counted by the system, in the kernel's process and all that it starts."""

    def __init__(self, sides: Sides, mine: Session, counters: Sequence[Counter]):
        self._sides = sides
        self._mine = mine
        self._counters = counters

    def count(self, session: Session, name: str, seed: int) -> tuple[object, float | None]:
        return self._run(session, "run", name, seed)

    def idle(self) -> list[float]:
        found = [self._run(self._sides.clean, "idle", "", _new_seed()) for _ in range(_IDLE_ROUNDS)]
        return [count for _, count in found]

    def _run(self, session: Session, step: str, name: str, seed: int) -> tuple[object, float]:
        counter = self._counters[session is not self._mine]
        before = counter.read()
        counter.start()
        said, _ = self._sides.ask(session, step, name, seed)
        counter.stop()
        return said, float(counter.read() - before)


def _rounds(race: Race, name: str, sides: Sides, mine: Session, way: _Way) -> dict[str, object]:
    rounds: list[list[float]] = []
    idle: list[float] = []
    for number in range(WARM_UP + race.rounds):
        if number == WARM_UP:
            idle = way.idle()
        seed = _new_seed()  # nobody has seen these inputs before
        known, ours = way.count(sides.clean, "", seed)
        promised, theirs = way.count(mine, name, seed)
        if ours is None:
            raise _UnmadeError("the baseline's count is no number")
        if theirs is None:
            return {"disturbed": 1, "by": race.by}
        if wrong := sides.differ(mine, promised, known):
            return {"counts": [[theirs, ours]], "wrong": wrong, "by": race.by}
        if number < WARM_UP:
            continue
        rounds.append([theirs, ours])
        found = {"counts": rounds, "idle": idle, "least": race.least, "wrong": 0, "by": race.by}
        if len(rounds) >= min(FEWEST, race.rounds):
            try:
                ratio = ratios.ratio_of(found)
            except ratios.NotMeasuredError:
                break
            if all(ratio.above(mark) is not None for mark in race.marks):
                break
    return found


def _new_seed() -> int:
    return secrets.randbelow(2**31)
