"""Code that must be right and fast, measured against a baseline on the runner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Literal

from grader import units
from grader.expressions import evaluate
from grader.kinds import ratios, student_tools
from grader.kinds.attempts import Code, CodeAnswer, CodeKey
from grader.kinds.base import kinds, partial_judgment
from grader.kinds.code import CodeKind
from grader.kinds.texts import fill
from grader.model import Benchmark, CallPlan, Draw, Expr, Judgment, Raw, Verdict
from grader.model.spec import Share, Strict
from grader.units.quantity import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Strict):
    """The points for a speed-up."""

    ratio: float
    """The minimum speed-up over the baseline."""
    share: Share
    """The share of the points for speed that this speed-up earns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(Strict):
    """The minimum work of one run for any implementation, for the machine's roofline."""

    flops: Expr = 0
    """Number of operations; a multiplication and an addition count as two."""
    bytes: Expr = 0
    """Number of bytes that must be read or written, each counted once."""
    dtype: Literal["fp64", "fp32", "bf16", "fp16", "int8"] = "fp32"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Code):
    """Code that must be right and fast, measured against a baseline."""

    kind: Literal["measurement"] = "measurement"  # type: ignore[assignment]
    setup: str
    """Python code that defines `prepare(seed)`, which returns the arguments of a run, and
    `baseline(*arguments)`."""
    speed: tuple[Step, ...]
    """The points for each ratio of baseline to student."""
    correct: Share = 0.4
    """The share of the points for correct code, however slow."""
    rounds: int = 24
    """Maximum number of rounds; fewer if the result is clear."""
    by: Literal["time", "launches", "instructions", "page_faults"] = "time"
    """What to compare: times, or counts of kernel launches. The other counts are those of version
    0.1, whose results are still scored; they are not made any more."""
    least: Expr = 0
    """The smallest count that any implementation needs. If a count is lower, a person reviews
    it."""
    backward: bool = False
    """Whether launches of the backward pass count, and gradients of the arguments must be right
    too."""
    work: Work = field(default_factory=Work)
    """The minimum work of one run. If code is faster than the machine's profile allows, a person
    reviews it."""

    def iter_faults(self) -> Iterator[tuple[str, str, str]]:
        """Yields a fault if code can be as fast as asked and still not earn all points."""
        yield from Code.iter_faults(self)
        if self.speed and max(self.speed, key=attrgetter("ratio")).share < 1:
            what = "the highest ratio of 'speed' has a share below 1, so nobody can earn all points"
            yield "speed", what, "give the highest ratio a share of 100%"


@dataclass(frozen=True, kw_only=True)
class MeasurementKey(CodeKey):
    """The hidden cases and the measurement."""

    part: Measurement

    def call_plan(self, name: str) -> CallPlan:
        """Returns the calls, and the benchmark if this key belongs to a release."""
        calls = CodeKey.call_plan(self, name)
        if not self.draw.solution:
            return calls
        work = self.part.work
        benchmark = Benchmark(
            setup=self.setup,
            marks=tuple(step.ratio for step in self.part.speed),
            rounds=self.part.rounds,
            by=self.part.by,
            least=self._evaluate_amount(self.part.least, ""),
            backward=self.part.backward,
            flops=self._evaluate_amount(work.flops, "FLOP"),
            bytes_moved=self._evaluate_amount(work.bytes, "B"),
            dtype=work.dtype,
        )
        return replace(calls, benchmark=benchmark)

    def _evaluate_amount(self, expression: Expr, unit: str) -> float:
        amount = evaluate(expression, self.draw.scope, self.draw.facts)
        return float(units.magnitude(amount, unit if isinstance(amount, Quantity) else ""))

    @property
    def setup(self) -> str:
        """The code with the variant's numbers; for launches, after the tool that counts them."""
        setup = fill(self.part.setup, self.draw)
        if self.part.by != "launches":
            return setup
        return f"{student_tools.source('launches')}\n{setup}"


class MeasurementKind(CodeKind):
    """Code that must be right and fast, measured against a baseline."""

    spec: type[Code] = Measurement
    is_measured = True

    def key(self, part: Measurement, draw: Draw) -> MeasurementKey:  # type: ignore[override]
        if not part.speed:
            raise ValueError("'speed' is empty: give at least one ratio and its share")
        if part.backward and part.by != "launches":
            raise ValueError("'backward' requires by: launches")
        if part.by == "time" and part.least:
            raise ValueError("'least' is for counts; use 'work' for times")
        if part.by != "time" and part.work != Work():
            raise ValueError("'work' is for times; use 'least' for counts")
        key = super().key(part, draw)
        return MeasurementKey(part=part, draw=draw, starter=key.starter, examples=key.examples)

    def judge(self, value: CodeAnswer, key: CodeKey) -> Judgment:
        right, part = super().judge(value, key), key.part
        if right.share is None or not isinstance(part, Measurement):
            return right
        if right.share < 1:
            note = f"{right.note} Speed counts only if all groups pass."
            return replace(right, share=round(part.correct * right.share, 6), note=note)
        return _judge_speed(part, value.measurement)

    def simulate_run(self, key: CodeKey, name: str, source: str, function: str = "") -> Raw:
        """Returns the raw answer with a measurement that earns all points, as none is made here."""
        raw = super().simulate_run(key, name, source, function)
        part = key.part
        assert isinstance(part, Measurement)  # noqa: S101 - the key's type
        best = 2 * max(step.ratio for step in part.speed)
        rounds = [[1.0, best] for _ in range(6)]
        if part.by != "time":
            return {**raw, "race": {"counts": rounds, "wrong": 0, "by": part.by}}
        measured = {"overhead": 0.0, "alone": [best] * 3, "rounds": rounds, "wrong": 0}
        return {**raw, "race": measured}


def _judge_speed(part: Measurement, measured: Mapping[str, object]) -> Judgment:
    """Returns the judgment of correct code, which stays open if the measurement is inconclusive."""
    counted = _COUNTED.get(part.by)
    try:
        ratio = ratios.measured_ratio(measured)
    except ratios.TooSlowError as error:
        return partial_judgment(round(part.correct, 6), f"All hidden cases pass, but {error}.")
    except ratios.RanWrongError as error:
        return partial_judgment(0.0, f"All hidden cases pass, but {error}.")
    except ratios.ElsewhereError as error:
        note = (
            f"The rest waits for a machine that counts {counted}: {error}. No points are deducted."
        )
    except ratios.DisturbedError as error:
        note = f"The count is not reliable: {error}. A person will review it."
    except ratios.NotMeasuredError as error:
        failed = f"{counted} could not be counted" if counted else "speed could not be measured"
        note = f"The {failed}: {error}. {ratios.next_step(measured)}"
    else:
        return _judge_ratio(part, ratio, measured)
    return partial_judgment(None, f"All hidden cases pass. {note}")


def _judge_ratio(
    part: Measurement, ratio: ratios.Estimate, measured: Mapping[str, object]
) -> Judgment:
    """Returns the judgment by the highest threshold reached; open close to any threshold."""
    right = "All hidden cases pass."
    between = f"between {ratio.low:.3g} and {ratio.high:.3g}"
    if part.by != "time":
        count, baseline_count = ratios.median_counts(measured)
        counted = _COUNTED[part.by]
        comparison = f"It uses {count:,.0f} {counted}, and the baseline {baseline_count:,.0f}"
        between = f"a ratio of {ratio.low:.3g} to {ratio.high:.3g}"
    elif ratios.is_too_fast(measured):
        note = "It is faster than this machine should allow; a person will review it."
        return partial_judgment(None, f"{right} {note}")
    else:
        comparison = f"It is {ratio.middle:.3g} times as fast as the baseline"
    if any(ratio.is_at_least(step.ratio) is None for step in part.speed):
        busy = part.by == "time" and ratios.is_busy(measured)
        why = "the machine was busy" if busy else "too close to a threshold"
        return partial_judgment(
            None, f"{right} {comparison} ({between}): {why}. {ratios.next_step(measured)}"
        )
    steps = sorted(part.speed, key=lambda step: step.ratio)
    reached = [step for step in steps if ratio.is_at_least(step.ratio)]
    total = round(part.correct + (1 - part.correct) * (reached[-1].share if reached else 0.0), 6)
    if total >= 1:
        return Judgment(share=1.0, verdict=Verdict.CORRECT, note=f"{comparison}.")
    nearest = next((step for step in steps if step not in reached), None)
    # None is left if the highest ratio earns less than all points, as releases of old specs may.
    more = f" A ratio of {nearest.ratio:g} earns more." if nearest else ""
    return partial_judgment(total, f"{right} {comparison}.{more}")


_COUNTED = {
    "launches": "kernel launches",
    "instructions": "instructions",
    "page_faults": "page faults",
}


kinds.add("measurement")(MeasurementKind())
