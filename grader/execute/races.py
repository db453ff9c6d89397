"""Measurements: a student's function against a baseline, by a clock that no student reaches."""

from __future__ import annotations

import base64
import json
import secrets
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from grader import measured
from grader.errors import SetupError
from grader.execute.trials import read_said
from grader.kernels import NotStartedError, Session, Terms
from grader.machine import MachineProfile, roofline_seconds
from grader.model import Answer, Outcome, Race, Raw, Trial
from grader.sandbox import THREADS
from grader.source import definitions

ATTEMPTS = 3
"""Measurements in one run while none is clear."""
WARM_UP = 2
FEWEST = 6
"""Rounds before anything is concluded."""
NEAR = 0.04
"""A ratio is known when both ends of its interval are within this share of it."""
_OVERHEAD_ROUNDS = 7
_CLOSE = 1e-3
"""Relative to its norm, how far sums over a result may lie from those of another order."""


class _FailedError(Exception):
    """The measurement came to nothing; the text says why."""


def raced(
    trial: Trial,
    answer: Answer,
    code: Sequence[str],
    start: Callable[[Terms], Session],
    terms: Terms,
    profile: MachineProfile | None = None,
) -> Answer:
    """*answer* with what was measured for it, in new kernels; *code* are the notebook's cells.

    With the *profile* of this machine also the least time that it could take.
    """
    race = trial.race
    if race is None or answer.raw is None:
        return answer
    source = "" if race.alone else definitions(code, trial.name)
    found: Raw = {}
    try:
        for _ in range(ATTEMPTS):
            with _kernel(start, terms) as clean:
                found = _Race(trial, race, clean).all(source, start, terms)
            if _clear(race, found):
                break
    except NotStartedError as error:
        found = {"unmade": f"no kernel could be started ({error})"}
    except _FailedError as error:
        found = {"failed": str(error)}
    if profile is not None and "rounds" in found:
        found = {**found, "floor": _floor(race, profile)}
    raw: dict[str, object]
    if answer.raw.get("t") == "code":
        raw = {**answer.raw, "race": found}
    else:
        raw = {"t": "measured", "value": answer.raw, "race": found}
    return Answer(name=answer.name, raw=raw)


@contextmanager
def _kernel(start: Callable[[Terms], Session], terms: Terms) -> Iterator[Session]:
    session = start(terms)
    try:
        yield session
    finally:
        session.close()


class _Race:
    """One measurement."""

    def __init__(self, trial: Trial, race: Race, clean: Session):
        self._trial = trial
        self._race = race
        self._clean = clean
        self._end = time.monotonic() + race.seconds

    def all(self, source: str, start: Callable[[Terms], Session], terms: Terms) -> Raw:
        """What was found: seconds of each round, and whether the results agreed."""
        overhead = statistics.median(
            self._ask(self._clean, "nothing", "", 0)[1] for _ in range(_OVERHEAD_ROUNDS)
        )
        if "def measure(" in self._race.setup:
            return {"counted": self._count()}
        # Before anything of the student's exists, so that what slows the machine down shows.
        alone = [self._run(self._clean, "")[0] for _ in range(WARM_UP + 3)][WARM_UP:]
        found: dict[str, object] = {"overhead": overhead, "alone": alone}
        if self._race.alone:
            rounds = [[one] for one in self._more(alone)]
            return {**found, "rounds": rounds}
        with _kernel(start, terms) as mine:
            ran = mine.run(source, seconds=self._trial.seconds + 10, keep=0)
            if ran.outcome is not Outcome.FINISHED or ran.error is not None:
                raise _FailedError(ran.error or "the code could not be run by itself")
            rounds, wrong = self._rounds(mine, overhead)
        return {**found, "rounds": rounds, "wrong": wrong}

    def _more(self, seconds: list[float]) -> list[float]:
        while len(seconds) < self._race.rounds and time.monotonic() < self._end:
            seconds.append(self._run(self._clean, "")[0])
            if len(seconds) >= FEWEST and _known(seconds, ()):
                break
        return seconds

    def _count(self) -> list[object]:
        found = []
        for _ in range(3):
            seed = secrets.randbelow(2**31)
            self._ask(self._clean, "prepare", "", seed)
            found.append(self._ask(self._clean, "count", "", seed)[0])
        return found

    def _rounds(self, mine: Session, overhead: float) -> tuple[list[list[float]], int]:
        """Seconds of student and baseline, in turns; and how often their results differed."""
        rounds: list[list[float]] = []
        wrong = 0
        for number in range(WARM_UP + self._race.rounds):
            seed = secrets.randbelow(2**31)  # nobody has seen these inputs before
            both: dict[bool, tuple[float, object]] = {}
            for first in (True, False) if number % 2 else (False, True):
                both[first] = (
                    self._run(mine, self._trial.name, seed)
                    if first
                    else self._run(self._clean, "", seed)
                )
            wrong += not _agree(both[True][1], both[False][1])
            if number < WARM_UP:
                continue
            rounds.append([both[True][0], both[False][0]])
            if wrong or time.monotonic() > self._end:
                break
            if len(rounds) >= FEWEST and _known(
                measured.ratios(rounds, overhead), self._race.marks
            ):
                break
        return rounds, wrong

    def _run(self, session: Session, name: str, seed: int | None = None) -> tuple[float, object]:
        """Seconds of one run on new inputs, and the sums over its result."""
        seed = secrets.randbelow(2**31) if seed is None else seed
        self._ask(session, "prepare", name, seed)
        said, seconds = self._ask(session, "run", name, seed)
        return seconds, said

    def _ask(self, session: Session, step: str, name: str, seed: int) -> tuple[object, float]:
        asked = {
            "name": name,
            "round": step,
            "driver": self._race.setup,
            "tools": self._trial.tools,
            "seed": seed,
        }
        request = base64.b64encode(json.dumps(asked).encode()).decode()
        called = session.call(request, seconds=self._trial.seconds + 5)
        found = read_said(called.said)
        if called.late:
            raise _FailedError(f"one run took longer than {self._trial.seconds:g} s")
        if not called.alive:
            raise _FailedError(f"a run {called.error or 'ended the kernel'}")
        if found["is"] == "unfit":
            raise _FailedError(f"its result can't be taken ({found.get('what')})")
        if found["is"] != "returned":
            raise _FailedError(f"{found.get('type', 'an error')} was raised in a timed run")
        return _value(found["v"]), round(called.seconds, 6)


def _floor(race: Race, profile: MachineProfile) -> float:
    """Seconds by the roofline of the machine; 0 when its profile doesn't say."""
    try:
        return roofline_seconds(
            profile,
            flops=race.flops,
            bytes_moved=race.bytes_moved,
            dtype=race.dtype,
            threads=THREADS,
        )
    except (SetupError, ValueError):
        return 0.0


def _clear(race: Race, found: Raw) -> bool:
    """Whether *found* tells on which side of every mark the ratio lies."""
    if race.alone:
        return True
    try:
        ratio = measured.ratio(found)
    except measured.RanWrongError:
        return True
    except measured.NotMeasuredError:
        return False
    return all(ratio.above(mark) is not None for mark in race.marks)


def _known(values: Sequence[float], marks: Sequence[float]) -> bool:
    found = measured.estimate(values)
    if marks:
        return all(found.above(mark) is not None for mark in marks)
    return found.high - found.low <= 2 * NEAR * found.middle


def _value(raw: object) -> object:
    """Nested lists of numbers and texts, as the sums over a result are sent."""
    if not isinstance(raw, dict):
        raise _FailedError("what was said could not be read")
    value = raw.get("v")
    match raw.get("t"):
        case "list" if isinstance(value, list) and len(value) < 10_000:
            return [_value(item) for item in value]
        case "int" | "float" if isinstance(value, str) and len(value) < 100:
            try:
                return float(value)
            except ValueError:
                raise _FailedError("what was said could not be read") from None
        case "bool":
            return float(value is True)
        case "str":
            return str(value)
        case "none":
            return None
    raise _FailedError("what was said could not be read")


def _agree(mine: object, right: object, norm: float = 0.0) -> bool:
    """Whether the sums over two results are those of the same numbers."""
    if isinstance(mine, list) and isinstance(right, list):
        if len(mine) != len(right):
            return False
        for number, (a, b) in enumerate(zip(mine, right, strict=True)):
            if isinstance(b, str) and number + 2 < len(right):
                follows = right[number + 2]
                norm = follows if isinstance(follows, float) else norm
            if not _agree(a, b, norm):
                return False
        return True
    if isinstance(mine, float) and isinstance(right, float):
        return abs(mine - right) <= _CLOSE * max(abs(right), norm) or mine == right
    return mine == right
