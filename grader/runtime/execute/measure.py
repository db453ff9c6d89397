"""Compares a student's function with a baseline: by time, or by the kernels that they launch.

The clock is outside of the student's process. Kernel launches are counted inside it, by the tool
that notebooks can use too.
"""

from __future__ import annotations

import base64
import json
import math
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress

from grader.errors import SetupError
from grader.kinds import ratios
from grader.kinds.hidden.analysis import NotAnalyzedError, extract_definition
from grader.model import Answer, Benchmark, CallPlan, Outcome, Raw
from grader.runtime.execute import agreement
from grader.runtime.execute.calls import read_reply
from grader.runtime.execute.clarity import ATTEMPTS, is_clear, is_decided
from grader.runtime.kernels import CallResult, KernelOptions, NotStartedError, Session
from grader.runtime.kernels.base import Start, open_session
from grader.runtime.machine import MachineProfile, roofline_seconds
from grader.runtime.sandbox import THREADS
from grader.wire.values import decode_result

WARM_UP = 2
BEFORE = 3
"""Runs of the baseline before the student's code is loaded, and again after its kernel is gone."""
FEWEST = 6
"""Rounds required for a conclusion; half as many if they take very long."""
NEAR = 0.04
"""A time is known well enough if both ends of its interval are within this share of it."""
_IDLE_ROUNDS = 9
_IDLE_SECONDS = 1.0
"""Time after which fewer idle runs must do; their overhead is small beside so slow a baseline."""
_OVERTIME_SECONDS = 5.0
_NOTEBOOK_SECONDS = 60.0
"""For all cells of a notebook, if the definitions alone are not enough."""


class _EndedError(Exception):
    """The measurement has ended without a result: it was `unmade` because of the grader or the
    machine, the student's code `failed` or was `late`, or its count was `disturbed`."""

    def __init__(self, **result: object):
        super().__init__(result)
        self.result = result


def measure_answer(
    call_plan: CallPlan,
    answer: Answer,
    code: Sequence[str],
    start: Start,
    options: KernelOptions,
    profile: MachineProfile | None = None,
    *,
    alone: bool = False,
) -> Answer:
    """Returns *answer* with a measurement in new kernels; *code* holds the notebook's code cells.

    If the *profile* of this machine is given, adds the lower bound on the time. *alone* says that
    no other notebook of the batch runs at the same time: a person decides if the result is still
    unclear.
    """
    benchmark = call_plan.benchmark
    if (
        benchmark is None
        or answer.raw is None
        or not (benchmark.alone or _has_returned(answer.raw))
    ):
        return answer
    measured: Raw = {}
    for cells in _iter_definitions(call_plan, benchmark, code):
        for _ in range(ATTEMPTS):
            measured = _measure_once(call_plan, benchmark, cells, start, options)
            if is_clear(benchmark, measured):
                break
        if "failed" not in measured and not measured.get("wrong"):
            break
    if profile is not None and "rounds" in measured:
        measured = {**measured, "floor": roofline_bound(benchmark, call_plan.device, profile)}
    if alone:
        measured = {**measured, ratios.UNDISTURBED: True}
    value = {"t": "measured", "value": answer.raw}
    is_code = answer.raw.get("t") == "code"
    return Answer(name=answer.name, raw={**(answer.raw if is_code else value), "race": measured})


def _has_returned(raw: Raw) -> bool:
    """Returns whether any call returned a value; a function left unwritten is not measured."""
    calls = raw.get("calls")
    values = (call.get("v") for call in calls) if isinstance(calls, list) else ()
    return any(isinstance(value, dict) and value.get("t") != "none" for value in values)


def _iter_definitions(
    call_plan: CallPlan, benchmark: Benchmark, code: Sequence[str]
) -> Iterator[Sequence[str]]:
    """Yields sources that define the function in a new kernel, in the order in which to try them.

    First its definition with everything it uses; then the whole notebook, since another cell may
    change something that the definition depends on.
    """
    if benchmark.alone:
        yield ()
        return
    with suppress(NotAnalyzedError):
        source = extract_definition(code, call_plan.name)
        if source:
            yield (source,)
    yield code


def _measure_once(
    call_plan: CallPlan,
    benchmark: Benchmark,
    cells: Sequence[str],
    start: Start,
    options: KernelOptions,
) -> Raw:
    """Returns one measurement; if it ends early, only the reason (see `_EndedError`)."""
    try:
        with open_session(start, options) as clean:
            return _Measurement(call_plan, benchmark, clean).measure(cells, start, options)
    except NotStartedError as error:
        return {"unmade": f"no kernel could be started ({error})"}
    except _EndedError as error:
        return error.result


class _Measurement:
    """Measures the student's function and the baseline in turn, in rounds."""

    def __init__(self, call_plan: CallPlan, benchmark: Benchmark, clean: Session):
        self._call_plan = call_plan
        self._benchmark = benchmark
        self._clean = clean
        self._end = time.monotonic() + benchmark.seconds
        self._clean_turn = threading.Lock()
        self._runs_student_code = False
        """Whether the kernel of the student's side has run their code."""
        self._cut_short = False

    def measure(self, cells: Sequence[str], start: Start, options: KernelOptions) -> Raw:
        """Returns the measurement: times or counts of each round, and whether results agreed."""
        if "def measure(" in self._benchmark.setup:
            return {"counted": [_read_count(self._ask(self._clean, "count")[0]) for _ in range(3)]}
        if self._benchmark.by == "time":
            return self._measure_time(cells, start, options)
        if self._benchmark.by != "launches":
            raise _EndedError(unmade=f"this version does not count {self._benchmark.by}")
        with open_session(start, options) as student_session:
            # Let the tool bind everything that it uses before the student's code runs.
            for session in (self._clean, student_session):
                self._run_once(session, "", _new_seed())
            self._define_function(student_session, cells)
            measured = {"idle": [0.0], "least": self._benchmark.least, "by": self._benchmark.by}
            return {**measured, **self._compare(student_session, "counts", measured)}

    def _measure_time(self, cells: Sequence[str], start: Start, options: KernelOptions) -> Raw:
        """Returns idle times and rounds, of one time each if the baseline is measured alone."""
        self._time_baseline(WARM_UP)
        if self._benchmark.alone:
            idle = [self._ask(self._clean, "idle")[1] for _ in range(_IDLE_ROUNDS)]
            times = self._time_baseline_until_precise()
            return {"idle": idle, "rounds": [[seconds] for seconds in times]}
        with open_session(start, options) as student_session:
            measured = self._time_without_student(student_session)
            self._define_function(student_session, cells)
            measured |= self._compare(student_session, "rounds", measured)
        return {**measured, "after": self._time_baseline(BEFORE)}

    def _time_without_student(self, session: Session) -> dict[str, object]:
        """Times the baseline, and in turn with it, runs in *session* that call nothing.

        A kernel that waited while another one worked answers later than one asked twice in a row,
        so the overhead is measured in the kernel and in the order in which the student's function
        will run.
        """
        self._run_once(session, "", _new_seed())
        alone: list[float] = []
        idle: list[float] = []
        end = time.monotonic() + _IDLE_SECONDS
        while len(idle) < BEFORE or (len(idle) < FEWEST and time.monotonic() < end):
            alone += self._time_baseline(1)
            idle.append(self._ask(session, "idle")[1])
        return {"idle": idle, "alone": alone}

    def _time_baseline(self, count: int) -> list[float]:
        """Returns the seconds of *count* runs of the baseline on new inputs."""
        return [self._run_once(self._clean, "", _new_seed())[1] for _ in range(count)]

    def _time_baseline_until_precise(self) -> list[float]:
        """Returns the seconds of runs of the baseline, up to a median within NEAR or a limit."""
        seconds: list[float] = []
        while len(seconds) < self._benchmark.rounds and time.monotonic() < self._end:
            seconds += self._time_baseline(1)
            if len(seconds) >= FEWEST:
                estimate = ratios.estimate(seconds)
                if estimate.high - estimate.low <= 2 * NEAR * estimate.middle:
                    break
        return seconds

    def _define_function(self, session: Session, cells: Sequence[str]) -> None:
        """Defines the function in *session* by running *cells*; of several cells, some may fail."""
        self._runs_student_code = True
        end = time.monotonic() + _NOTEBOOK_SECONDS
        for cell in cells:
            seconds = min(self._call_plan.seconds + 2 * _OVERTIME_SECONDS, end - time.monotonic())
            ran = session.run(cell, seconds=max(seconds, 0.1), keep=0)
            succeeded = ran.outcome is Outcome.FINISHED and ran.error is None
            if ran.disturbance:
                raise _EndedError(unmade=f"the code {ran.disturbance}")
            self._cut_short |= ran.outcome is Outcome.TIMEOUT
            if not ran.alive or not (succeeded or len(cells) > 1):
                raise _EndedError(failed="the code could not be run by itself")

    def _compare(self, session: Session, key: str, before: Raw) -> dict[str, object]:
        """Returns the seconds or launches of both functions, round by round, under *key*.

        Both run in turn on the same inputs. "wrong" says how their results differed; it is 0 if
        they agreed. *before* holds the rest of the measurement.
        """
        rounds: list[list[float]] = []
        for number in range(WARM_UP + self._benchmark.rounds):
            seed = _new_seed()  # inputs that nobody has seen before
            baseline_reply, baseline_took = self._run_once(self._clean, "", seed)
            student_reply, student_took = self._run_once(session, self._call_plan.name, seed)
            took = [student_took, baseline_took]
            if number >= WARM_UP:
                rounds.append(took)
            wrong = self._find_difference(session, student_reply, baseline_reply)
            if wrong is not None:
                return {key: rounds or [took], "wrong": wrong}
            if len(rounds) >= FEWEST and is_decided(self._benchmark, {**before, key: rounds}):
                break
            if len(rounds) >= FEWEST // 2 and time.monotonic() > self._end:
                break
        return {key: rounds, "wrong": 0}

    def _run_once(self, session: Session, name: str, seed: int) -> tuple[object, float]:
        """Returns the digests of a run's result and inputs, and what it took: seconds, or launches
        if the benchmark counts them. An empty *name* runs the baseline."""
        if self._benchmark.by == "time":
            return self._ask(session, "run", name, seed)
        pair, _ = self._ask(session, "launches", name, seed)
        # A student's code can forge the reply.
        with suppress(ValueError, TypeError, KeyError, OverflowError):
            digests, encoded_count = pair["v"]  # type: ignore[index]
            count = decode_result(encoded_count)
            if type(count) is int and count >= 0:
                return digests, float(count)
        if self._has_only_our_code(session):
            raise _EndedError(unmade="the baseline's count is not a number")
        raise _EndedError(disturbed=1, by=self._benchmark.by)  # it replied with no count

    def _find_difference(
        self, session: Session, student_reply: object, baseline_reply: object
    ) -> str | None:
        """Returns what differs between the two runs of a round: "inputs", "result", or None."""
        if not agreement.inputs_match(student_reply, baseline_reply):
            return "inputs"
        with ThreadPoolExecutor(1) as beside:  # nothing is timed meanwhile
            showing = beside.submit(self._ask, self._clean, "show")
            student_result, _ = self._ask(session, "show")
            baseline_result, _ = showing.result()
        if baseline_result == {"t": "none"}:
            raise _EndedError(unmade="the baseline returns nothing to compare")
        try:
            same = agreement.results_match(student_reply, student_result, baseline_result)
        except agreement.UnreadableError:
            raise _EndedError(unmade="the baseline's result could not be read") from None
        return None if same else "result"

    def _ask(
        self, session: Session, step: str, name: str = "", seed: int | None = None
    ) -> tuple[object, float]:
        """Returns the value in the reply to *step* of `grader.wire.calls`, and its seconds."""
        step_request = {
            "name": name,
            "round": step,
            "driver": self._benchmark.setup,
            "tools": list(self._call_plan.tools),
            "seed": _new_seed() if seed is None else seed,
            "backward": self._benchmark.backward,
        }
        request = base64.b64encode(json.dumps(step_request).encode()).decode()
        # A failure of the student's side asks the baseline too.
        with self._clean_turn if session is self._clean else nullcontext():
            called = session.call(request, seconds=self._call_plan.seconds + _OVERTIME_SECONDS)
        reply = read_reply(called.reply)
        if called.late and not self._has_only_our_code(session):
            raise _EndedError(late=self._call_plan.seconds)
        if called.disturbance:
            raise _EndedError(unmade=f"a run {called.disturbance}")
        why = self._describe_failure(called, reply["is"])
        if why is None:
            return reply["v"], round(called.seconds, 6)
        if self._has_only_our_code(session):
            raise _EndedError(unmade=f"the baseline: {why}")
        if self._cut_short:  # what the function needs may be what took too long
            raise _EndedError(unmade="running the notebook again took too long")
        if reply["is"] == "unfit" and agreement.may_exceed_limit(self._ask(self._clean, "show")[0]):
            raise _EndedError(unmade="the result is too large")
        raise _EndedError(failed=why)

    def _has_only_our_code(self, session: Session) -> bool:
        return session is self._clean or not self._runs_student_code

    def _describe_failure(self, called: CallResult, outcome: object) -> str | None:
        """Returns what went wrong in a run with this *outcome*; None if it returned a value."""
        if called.late:
            return f"one run took longer than {self._call_plan.seconds:g} s"
        if not called.alive:
            return f"a run {called.error or 'ended the kernel'}"
        if outcome == "unfit":
            return "its result is too large"
        return None if outcome == "returned" else "an exception was raised in a timed run"


def _new_seed() -> int:
    """Returns a seed that nobody can predict."""
    return secrets.randbelow(2**31)


def _read_count(raw: object) -> float:
    """Returns the count that *raw* encodes. Raises _EndedError if it is not a finite float."""
    try:
        value = decode_result(raw)
    except ValueError:
        value = None
    if not isinstance(value, float) or not math.isfinite(value):
        raise _EndedError(unmade="the count is not a number")
    return value


def roofline_bound(benchmark: Benchmark, device: str, profile: MachineProfile) -> float:
    """Returns the roofline bound of *device* in seconds; 0 if the profile lacks the figures."""
    with suppress(SetupError, ValueError):
        return roofline_seconds(
            profile,
            flops=benchmark.flops,
            bytes_moved=benchmark.bytes_moved,
            dtype=benchmark.dtype,
            threads=THREADS,
            device=device,
        )
    return 0.0
