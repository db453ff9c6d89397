"""Code that must be right and fast, measured against a baseline on the runner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from grader import units
from grader.expressions import evaluate
from grader.kinds import ratios, student_tools
from grader.kinds.attempts import Code, CodeAnswer, CodeKey
from grader.kinds.base import kinds
from grader.kinds.code import CodeKind
from grader.kinds.texts import fill
from grader.model import Benchmark, CallPlan, Draw, Expr, Judgement, Raw, Verdict
from grader.model.spec import STRICT, Share
from grader.units.quantity import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The points for a speed-up."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    ratio: float
    """The minimum speed-up over the baseline."""
    share: Share
    """The share of the points for speed that this speed-up earns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The minimum work of one run for any implementation, for the machine's roofline."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    flops: Expr = 0
    """Number of operations; a multiplication and an addition count as two."""
    bytes: Expr = 0
    """Number of bytes that must be read or written, each counted once."""
    dtype: Literal["fp64", "fp32", "bf16", "fp16", "int8"] = "fp32"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Code):
    """Code that must be right and fast, measured against a baseline."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

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


@dataclass(frozen=True, kw_only=True)
class MeasurementKey(CodeKey):
    """The hidden cases and the measurement."""

    part: Measurement

    def trial(self, name: str) -> CallPlan:
        """Returns the calls, and the race if this key belongs to a release."""
        calls = CodeKey.trial(self, name)
        if not self.draw.solution:
            return calls
        marks = tuple(step.ratio for step in self.part.speed)
        work = self.part.work
        race = Benchmark(
            setup=self.setup,
            marks=marks,
            rounds=self.part.rounds,
            by=self.part.by,
            least=self._evaluate_amount(self.part.least, ""),
            backward=self.part.backward,
            flops=self._evaluate_amount(work.flops, "FLOP"),
            bytes_moved=self._evaluate_amount(work.bytes, "B"),
            dtype=work.dtype,
        )
        return replace(calls, race=race)

    def _evaluate_amount(self, expression: Expr, unit: str) -> float:
        found = evaluate(expression, self.draw.scope, self.draw.facts)
        return float(units.magnitude(found, unit if isinstance(found, Quantity) else ""))

    @property
    def setup(self) -> str:
        """Returns the source with the variant's numbers, after the counting tool."""
        setup = fill(self.part.setup, self.draw)
        return (
            f"{student_tools.source('launches')}\n{setup}" if self.part.by == "launches" else setup
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedAnswer(CodeAnswer):
    """The student's code, the results of calling it, and the measurement."""

    race: Mapping[str, object]


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
        known = super().key(part, draw)
        return MeasurementKey(part=part, draw=draw, starter=known.starter, examples=known.examples)

    def read(self, raw: Raw, key: CodeKey) -> TimedAnswer:
        attempt = super().read(raw, key)
        race = raw.get("race")
        return TimedAnswer(
            source=attempt.source,
            unseen=attempt.unseen,
            calls=attempt.calls,
            deferred=attempt.deferred,
            race=race if isinstance(race, dict) else {},
        )

    def judge(self, value: CodeAnswer, key: CodeKey) -> Judgement:
        right = super().judge(value, key)
        part = key.part
        if right.share is None or not isinstance(part, Measurement):
            return right
        kept = part.correct
        if right.share < 1:
            earned = round(kept * right.share, 6)
            note = f"{right.note} Speed counts only if all groups pass."
            return replace(right, share=earned, note=note)
        return _judge_speed(part, value.race if isinstance(value, TimedAnswer) else {}, kept)

    def simulate_run(self, key: CodeKey, name: str, source: str, function: str = "") -> Raw:
        """Returns the raw answer with a race that is clearly won: speed is not measured here."""
        raw = super().simulate_run(key, name, source, function)
        part = key.part
        assert isinstance(part, Measurement)  # noqa: S101 - the key's type
        best = 2 * max(step.ratio for step in part.speed)
        rounds = [[1.0, best] for _ in range(6)]
        if part.by != "time":
            return {**raw, "race": {"counts": rounds, "wrong": 0, "by": part.by}}
        race = {"overhead": 0.0, "alone": [best] * 3, "rounds": rounds, "wrong": 0}
        return {**raw, "race": race}


def _judge_speed(part: Measurement, race: Mapping[str, object], kept: float) -> Judgement:
    """Returns the judgment of correct code, given its race."""
    try:
        ratio = ratios.measured_ratio(race)
    except ratios.TooSlowError as error:
        return _correct_but_slow(kept, f"All hidden cases pass, but {error}.")
    except ratios.RanWrongError as error:
        note = f"All hidden cases pass, but {error}."
        return Judgement(share=0.0, verdict=Verdict.INCORRECT, note=note)
    except ratios.NotMeasuredError as error:
        return _judge_unmeasured(part, race, error)
    if part.by != "time":
        return _judge_count(part, ratio, race, kept)
    if ratios.is_too_fast(race):
        note = "All hidden cases pass. It is faster than this machine should allow"
        return Judgement(
            share=None, verdict=Verdict.UNSETTLED, note=f"{note}; a person will review it."
        )
    return _judge_time(part, ratio, race, kept)


def _judge_unmeasured(
    part: Measurement, race: Mapping[str, object], error: ratios.NotMeasuredError
) -> Judgement:
    """Returns an unsettled judgment: an inconclusive measurement never costs points."""
    right = "All hidden cases pass."
    if isinstance(error, ratios.ElsewhereError):
        what = f"The rest waits for a machine that counts {_WORDS[part.by]}"
        note = f"{right} {what}: {error}. No points are deducted."
    elif isinstance(error, ratios.DisturbedError):
        note = f"{right} The count is not reliable: {error}. A person will review it."
    elif part.by == "time":
        return _unsettled(f"{right} The speed could not be measured: {error}.", race)
    else:
        return _unsettled(f"{right} The {_WORDS[part.by]} could not be counted: {error}.", race)
    return Judgement(share=None, verdict=Verdict.UNSETTLED, note=note)


def _judge_count(
    part: Measurement, ratio: ratios.Estimate, race: Mapping[str, object], kept: float
) -> Judgement:
    mine, ours = ratios.median_counts(race)
    what = _WORDS[part.by]
    told = f"It uses {mine:,.0f} {what}, and the baseline {ours:,.0f}"
    if any(ratio.is_at_least(step.ratio) is None for step in part.speed):
        between = f"a ratio of {ratio.low:.3g} to {ratio.high:.3g}"
        return _unsettled(
            f"All hidden cases pass. {told} ({between}): too close to a threshold.", race
        )
    return _judge_ratio(part, ratio, kept, told)


def _judge_time(
    part: Measurement, ratio: ratios.Estimate, race: Mapping[str, object], kept: float
) -> Judgement:
    told = f"{ratio.middle:.3g} times as fast as the baseline"
    if any(ratio.is_at_least(step.ratio) is None for step in part.speed):
        between = f"between {ratio.low:.3g} and {ratio.high:.3g}"
        busy = ratios.is_busy(race)
        why = "the machine was busy" if busy else "too close to a threshold"
        return _unsettled(f"All hidden cases pass. It is {told} ({between}): {why}.", race)
    return _judge_ratio(part, ratio, kept, f"It is {told}")


def _judge_ratio(part: Measurement, ratio: ratios.Estimate, kept: float, told: str) -> Judgement:
    """Judges by the highest threshold that *ratio* reaches; it is clearly on one side of each."""
    steps = sorted(part.speed, key=lambda step: step.ratio)
    reached = [step for step in steps if ratio.is_at_least(step.ratio)]
    earned = reached[-1].share if reached else 0.0
    total = round(kept + (1 - kept) * earned, 6)
    if total >= 1:
        return Judgement(share=1.0, verdict=Verdict.CORRECT, note=f"{told}.")
    nearest = next(step for step in steps if step not in reached)
    note = f"All hidden cases pass. {told}. A ratio of {nearest.ratio:g} earns more."
    return _correct_but_slow(total, note)


_WORDS = {
    "launches": "kernel launches",
    "instructions": "instructions",
    "page_faults": "page faults",
}


def _correct_but_slow(earned: float, note: str) -> Judgement:
    """Returns the judgment of correct code that may be too slow for all points."""
    verdict = Verdict.PARTIAL if earned else Verdict.INCORRECT
    return Judgement(share=round(earned, 6), verdict=verdict, note=note)


def _unsettled(note: str, race: Mapping[str, object]) -> Judgement:
    note = f"{note} {ratios.next_step(race)}"
    return Judgement(share=None, verdict=Verdict.UNSETTLED, note=note)


kinds.add("measurement")(MeasurementKind())
