"""Code that must be right and fast: how often as fast as a baseline, measured on the runner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from grader import units
from grader.expressions import evaluate
from grader.kinds import ratios, student_tools
from grader.kinds.attempts import Attempt, Code, CodeKey
from grader.kinds.base import kinds
from grader.kinds.code import CodeKind
from grader.kinds.shares import share
from grader.model import Draw, Expr, Judgement, Race, Raw, Trial, Verdict
from grader.model.spec import STRICT, Share
from grader.units.quantity import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a speed-up earns."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    ratio: float
    """At least so many times as fast as the baseline."""
    share: Share
    """Of the points that are for speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What no way of doing it can be without, in one run; for the roofline of the machine."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    flops: Expr = 0
    """Operations, a multiplication and an addition being two."""
    bytes: Expr = 0
    """Bytes that must be read or written, each once."""
    dtype: Literal["fp64", "fp32", "bf16", "fp16", "int8"] = "fp32"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Code):
    """Code that must be right and fast, measured beside a baseline."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    kind: Literal["measurement"] = "measurement"  # type: ignore[assignment]
    setup: str
    """Python that defines `prepare(seed)`, the arguments of a run, and `baseline(*arguments)`."""
    speed: tuple[Step, ...]
    """What which ratio of baseline to student earns."""
    correct: Share = 0.4
    """The share of the points for being right, however slow."""
    rounds: int = 24
    """At most; fewer when the answer is clear."""
    by: Literal["time", "launches", "instructions", "page_faults"] = "time"
    """What the ratio is of: times, or counts of kernel launches, of instructions in user space, or
    of page faults. Where the machine counts no instructions, the mark waits for one that does."""
    least: Expr = 0
    """Of what is counted, what no way can be without; less is for a person to look at."""
    backward: bool = False
    """Whether the launches of the backward pass count, and the gradients of the arguments too."""
    work: Work = field(default_factory=Work)
    """The least that one run has to do: what is faster than the machine's profile allows is for a
    person to look at."""


@dataclass(frozen=True, kw_only=True)
class MeasurementKey(CodeKey):
    """The hidden cases, and what is to be measured."""

    part: Measurement

    def trial(self, name: str) -> Trial:
        """The calls, and the race when this is the key of a release."""
        calls = CodeKey.trial(self, name)
        if not self.draw.solution:
            return calls
        marks = tuple(step.ratio for step in self.part.speed)
        work = self.part.work
        race = Race(
            setup=self.setup,
            marks=marks,
            rounds=self.part.rounds,
            by=self.part.by,
            least=self._amount(self.part.least, ""),
            backward=self.part.backward,
            flops=self._amount(work.flops, "FLOP"),
            bytes_moved=self._amount(work.bytes, "B"),
            dtype=work.dtype,
        )
        return replace(calls, race=race)

    def _amount(self, expression: Expr, unit: str) -> float:
        found = evaluate(expression, self.draw.scope, self.draw.facts)
        return float(units.magnitude(found, unit if isinstance(found, Quantity) else ""))

    @property
    def setup(self) -> str:
        """The source, with the variant's numbers, after the tool that counts."""
        setup = self.draw.fill(self.part.setup, self.draw.scope)
        return (
            f"{student_tools.source('launches')}\n{setup}" if self.part.by == "launches" else setup
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed(Attempt):
    """What was written, what came of calling it, and how long it took."""

    race: Mapping[str, object]


class MeasurementKind(CodeKind):
    """Code that must be right and fast, measured beside a baseline."""

    spec: type[Code] = Measurement
    is_measured = True

    def key(self, part: Measurement, draw: Draw) -> MeasurementKey:  # type: ignore[override]
        """The key; nothing is run for it yet."""
        if not part.speed:
            raise ValueError("'speed' says of no ratio what it earns")
        if part.backward and part.by != "launches":
            raise ValueError("'backward' is for a measurement by launches")
        if part.by == "time" and part.least:
            raise ValueError("'least' is for what is counted; 'work' says it of a time")
        if part.by != "time" and part.work != Work():
            raise ValueError("'work' is for what is timed; 'least' says it of a count")
        known = super().key(part, draw)
        return MeasurementKey(part=part, draw=draw, starter=known.starter, examples=known.examples)

    def read(self, raw: Raw, key: CodeKey) -> Timed:
        """What was written, and the race."""
        attempt = super().read(raw, key)
        race = raw.get("race")
        return Timed(
            source=attempt.source,
            unseen=attempt.unseen,
            calls=attempt.calls,
            deferred=attempt.deferred,
            race=race if isinstance(race, dict) else {},
        )

    def judge(self, value: Attempt, key: CodeKey) -> Judgement:
        """Right first; what is right then earns by its speed."""
        right = super().judge(value, key)
        part = key.part
        if right.share is None or not isinstance(part, Measurement):
            return right
        kept = share(part.correct)
        if right.share < 1:
            earned = round(kept * right.share, 6)
            note = f"{right.note} Speed counts when all groups pass."
            return replace(right, share=earned, note=note)
        return _timed(part, value.race if isinstance(value, Timed) else {}, kept)

    def ran(self, key: CodeKey, name: str, source: str, function: str = "") -> Raw:
        """The same with a race that is won by far: speed is not measured here."""
        raw = super().ran(key, name, source, function)
        part = key.part
        assert isinstance(part, Measurement)  # noqa: S101 - the key's type
        best = 2 * max(step.ratio for step in part.speed)
        rounds = [[1.0, best] for _ in range(6)]
        if part.by != "time":
            return {**raw, "race": {"counts": rounds, "wrong": 0, "by": part.by}}
        race = {"overhead": 0.0, "alone": [best] * 3, "rounds": rounds, "wrong": 0}
        return {**raw, "race": race}


def _timed(part: Measurement, race: Mapping[str, object], kept: float) -> Judgement:
    """What a race says of code that is right."""
    try:
        ratio = ratios.ratio_of(race)
    except ratios.TooSlowError as error:
        return _right(kept, f"All hidden cases pass, but {error}.")
    except ratios.RanWrongError as error:
        note = f"All hidden cases pass, but {error}."
        return Judgement(share=0.0, verdict=Verdict.INCORRECT, note=note)
    except ratios.NotMeasuredError as error:
        return _unmeasured(part, race, error)
    if part.by != "time":
        return _by_count(part, ratio, race, kept)
    if ratios.too_fast(race):
        note = "All hidden cases pass. It is faster than this machine should be able to do it"
        return Judgement(
            share=None, verdict=Verdict.UNSETTLED, note=f"{note}; a person looks at it."
        )
    return _by_speed(part, ratio, race, kept)


def _unmeasured(
    part: Measurement, race: Mapping[str, object], error: ratios.NotMeasuredError
) -> Judgement:
    """Nobody loses anything by what could not be concluded."""
    right = "All hidden cases pass."
    if isinstance(error, ratios.ElsewhereError):
        what = f"The rest waits for a machine that counts {_WORDS[part.by]}"
        note = f"{right} {what}: {error}. Nothing is deducted."
    elif isinstance(error, ratios.DisturbedError):
        note = f"{right} What was counted is not believed: {error}; a person looks at it."
    elif part.by == "time":
        return _again(f"{right} The speed could not be measured: {error}.", race)
    else:
        return _again(f"{right} The {_WORDS[part.by]} could not be counted: {error}.", race)
    return Judgement(share=None, verdict=Verdict.UNSETTLED, note=note)


def _by_count(
    part: Measurement, ratio: ratios.Estimate, race: Mapping[str, object], kept: float
) -> Judgement:
    mine, ours = ratios.middles(race)
    what = _WORDS[part.by]
    told = f"It takes {mine:,.0f} {what} where the baseline takes {ours:,.0f}"
    if any(ratio.above(step.ratio) is None for step in part.speed):
        between = f"{ratio.low:.3g} to {ratio.high:.3g} times as few"
        return _again(f"All hidden cases pass. {told} ({between}): too near to a mark.", race)
    return _earned(part, ratio, kept, told, "as few earns more")


def _by_speed(
    part: Measurement, ratio: ratios.Estimate, race: Mapping[str, object], kept: float
) -> Judgement:
    told = f"{ratio.middle:.3g} times as fast as the baseline"
    if any(ratio.above(step.ratio) is None for step in part.speed):
        between = f"between {ratio.low:.3g} and {ratio.high:.3g}"
        busy = ratios.busy(race)
        why = "the machine was busy with something else" if busy else "too near to a mark"
        return _again(f"All hidden cases pass. It is {told} ({between}): {why}.", race)
    return _earned(part, ratio, kept, f"It is {told}", "earns more")


def _earned(
    part: Measurement, ratio: ratios.Estimate, kept: float, told: str, more: str
) -> Judgement:
    """By the highest mark that *ratio* reaches; it lies clearly on one side of each."""
    steps = sorted(part.speed, key=lambda step: step.ratio)
    reached = [step for step in steps if ratio.above(step.ratio)]
    earned = share(reached[-1].share) if reached else 0.0
    total = round(kept + (1 - kept) * earned, 6)
    if total >= 1:
        return Judgement(share=1.0, verdict=Verdict.CORRECT, note=f"{told}.")
    nearest = next(step for step in steps if step not in reached)
    note = f"All hidden cases pass. {told}; {nearest.ratio:g} times {more}."
    return _right(total, note)


_WORDS = {
    "launches": "kernel launches",
    "instructions": "instructions",
    "page_faults": "page faults",
}


def _right(earned: float, note: str) -> Judgement:
    """For what is right and not as fast as it might be."""
    verdict = Verdict.PARTIAL if earned else Verdict.INCORRECT
    return Judgement(share=round(earned, 6), verdict=verdict, note=note)


def _again(note: str, race: Mapping[str, object]) -> Judgement:
    note = f"{note} {ratios.what_next(race)}"
    return Judgement(share=None, verdict=Verdict.UNSETTLED, note=note)


kinds.add("measurement")(MeasurementKind())
