"""A predicted number, compared with a model and with a measurement on the runner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from grader import units
from grader.kinds import ratios
from grader.kinds import student_tools as tools
from grader.kinds.attempts import required_packages
from grader.kinds.base import CORRECT, Example, kinds, partial_judgment
from grader.kinds.numeric import NumberPart, NumericKey, NumericKind, format_number, judge
from grader.kinds.scalars import refusal
from grader.kinds.texts import fill
from grader.model import Benchmark, CallPlan, Draw, Judgment, Raw, Share, Verdict, packages
from grader.units.quantity import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction(NumberPart):
    """A number that students predict with a model, and that is then measured on the runner."""

    kind: Literal["prediction"] = "prediction"
    setup: str = ""
    """Python code that defines `prepare(seed)`, which returns the arguments of a run, and either
    `baseline(*arguments)`, whose time is measured, or `measure(*arguments)`, which returns a number
    in the part's unit."""
    tools: tuple[str, ...] = ()
    """Modules of `grader.kinds.student_tools` that the setup uses."""
    factor: float = 3.0
    """The factor by which the prediction may differ from the measurement, in either direction."""
    model: Share = 0.6
    """The share of the points for agreeing with the model; the rest is for the measurement."""
    rounds: int = 15
    """Maximum number of measurements."""
    seconds: float = 10.0
    """Time limit for one run, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPrediction:
    """A prediction and its measurement."""

    value: int | float
    measurement: Mapping[str, object]
    deferred: str = ""
    """The package that the measurement waits for."""


class PredictionKind(NumericKind):
    """A number that students predict with a model, and that is then measured on the runner."""

    spec = Prediction
    is_measured = True

    def call_plan(self, name: str, key: NumericKey) -> CallPlan | None:
        part = _part_of(key)
        benchmark = Benchmark(setup=fill(part.setup, key.draw), alone=True, rounds=part.rounds)
        return CallPlan(
            name=name,
            alias=part.id,
            tools=tuple(tools.source(tool) for tool in part.tools),
            needs=required_packages(part, ""),
            seconds=part.seconds,
            benchmark=benchmark,
        )

    def key(self, part: NumberPart, draw: Draw) -> NumericKey:
        assert isinstance(part, Prediction)  # noqa: S101 - the loader saw to it
        if "def prepare(" not in part.setup:
            raise ValueError("'setup' defines no function 'prepare(seed)'")
        if "def measure(" not in part.setup:
            units.magnitude(units.quantity(1.0, part.unit), "s")  # raises if it is not a time
        return NumericKind.key(self, part, draw)

    def read(self, raw: Raw, key: NumericKey) -> MeasuredPrediction:  # type: ignore[override]
        value, deferred = raw, ""
        measured = raw.get("race")
        if raw.get("t") == "measured":
            deferred = str(raw.get("deferred", ""))
            inner = raw.get("value")
            value = inner if isinstance(inner, dict) else {}
        if not isinstance(value.get("t"), str):
            raise refusal(raw, self.expected_form(key.unit))
        return MeasuredPrediction(
            value=NumericKind.read(self, value, key),
            measurement=measured if isinstance(measured, dict) else {},
            deferred=deferred if deferred in packages.PACKAGES else "",
        )

    def judge(self, value: MeasuredPrediction, key: NumericKey) -> Judgment:  # type: ignore[override]
        part = _part_of(key)
        by_model = judge(value.value, key)
        if value.deferred:
            return partial_judgment(None, packages.waiting_note(value.deferred))
        try:
            estimate = _measurement_of(part, value.measurement)
        except (ratios.NotMeasuredError, ratios.RanWrongError) as error:
            note = f"It could not be measured: {error}. {ratios.next_step(value.measurement)}"
            return partial_judgment(None, note)
        is_close = _is_close(part, value.value, estimate.middle)
        side = "within" if is_close else "not within"
        message = f"The prediction is {side} a factor of {part.factor:g} of the measured value."
        earned = _combined_share(part, by_model.share or 0.0, is_close=is_close)
        if earned == 1:
            return Judgment(share=1.0, verdict=CORRECT.verdict, note=message)
        verdict = by_model.verdict
        if verdict is Verdict.CORRECT or (earned and by_model.mistake is None):
            verdict = Verdict.PARTIAL
        return Judgment(
            share=earned,
            verdict=verdict,
            note=" ".join(filter(None, (by_model.note, message))),
            mistake=by_model.mistake,
        )

    def format_value(self, value: MeasuredPrediction, key: NumericKey) -> str:  # type: ignore[override]
        predicted = format_number(value.value, key.unit)
        try:
            measured = _measurement_of(_part_of(key), value.measurement)
        except (ratios.NotMeasuredError, ratios.RanWrongError):
            return predicted
        low, high = (format_number(end, key.unit, 3) for end in (measured.low, measured.high))
        spread = low if low == high else f"{low} to {high}"
        return f"{predicted}{_BEHIND}measured: {spread})"

    def before_release(self, text: str) -> str:
        return text.partition(_BEHIND)[0]

    def carry_value(self, value: MeasuredPrediction, key: NumericKey) -> Value | None:  # type: ignore[override]
        return NumericKind.carry_value(self, value.value, key)

    def examples(self, key: NumericKey) -> tuple[Example, ...]:
        measurement, part = _ideal_measurement(key), _part_of(key)
        measured_examples = []
        for example in NumericKind.examples(self, key):
            share = example.share
            if share is not None:
                number = NumericKind.read(self, example.raw, key)
                share = _combined_share(part, share, is_close=_is_close(part, number, key.value))
            raw = {"t": "measured", "value": example.raw, "race": measurement}
            measured_examples.append(
                Example(raw=raw, share=share, why=example.why, mistake=example.mistake)
            )
        return tuple(measured_examples)

    def ideal_raw(self, raw: Raw, key: NumericKey) -> Raw:
        return {"t": "measured", "value": raw, "race": _ideal_measurement(key)}

    def explain(self, key: NumericKey) -> str:
        part = _part_of(key)
        counted = f"The measurement counted within a factor of {part.factor:g}."
        return f"{NumericKind.explain(self, key)}. {counted}"


def _part_of(key: NumericKey) -> Prediction:
    assert isinstance(key.part, Prediction)  # noqa: S101 - the loader saw to it
    return key.part


def _measurement_of(part: Prediction, measured: Mapping[str, object]) -> ratios.Estimate:
    """Returns the measured number in the part's unit. Raises NotMeasuredError or RanWrongError."""
    if "counted" in measured:
        return ratios.count_estimate(measured)
    estimate = ratios.time_estimate(measured)
    unit = units.magnitude(units.quantity(1.0, part.unit), "s")
    return ratios.Estimate(estimate.low / unit, estimate.middle / unit, estimate.high / unit)


def _combined_share(part: Prediction, model_share: float, *, is_close: bool) -> float:
    """Returns the share of the points if the model alone would give *model_share*."""
    return round(part.model * model_share + (1 - part.model) * is_close, 6)


def _is_close(part: Prediction, predicted: float, measured: float) -> bool:
    """Returns whether the prediction is within the part's factor of the measurement. If one is not
    positive, both must be equal."""
    if predicted <= 0 or measured <= 0:
        return predicted == measured
    return 1 / part.factor <= predicted / measured <= part.factor


def _ideal_measurement(key: NumericKey) -> Mapping[str, object]:
    """Returns a measurement that equals the model's number."""
    part = _part_of(key)
    if "def measure(" in part.setup:
        return {"counted": [float(key.value)] * 3}
    unit = units.magnitude(units.quantity(1.0, part.unit), "s")
    return {"overhead": 0.0, "rounds": [[float(key.value * unit)]] * 6}


_BEHIND = " ("


kinds.add("prediction")(PredictionKind())
