"""A number that is predicted, held against the model and against what the machine then measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from grader import units
from grader.kinds import ratios
from grader.kinds import student_tools as tools
from grader.kinds.attempts import needs_of
from grader.kinds.base import CORRECT, Example, kinds
from grader.kinds.numbers import NumberPart, NumericKey, judge, shown
from grader.kinds.numeric import NumericKind
from grader.kinds.scalars import refusal
from grader.kinds.shares import share
from grader.model import Draw, Judgement, Race, Raw, Trial, Verdict, packages
from grader.model.item import Item
from grader.model.spec import STRICT, Share
from grader.units.quantity import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction(NumberPart):
    """A number that is predicted by a model, and measured on the runner."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    kind: Literal["prediction"] = "prediction"
    setup: str = ""
    """Python that defines `prepare(seed)`, the arguments of a run, and `baseline(*arguments)`,
    whose time is measured; or `measure(*arguments)`, which returns a number in the part's unit."""
    tools: tuple[str, ...] = ()
    """Modules of `grader.kinds.student_tools` that the setup uses."""
    factor: float = 3.0
    """How far from the measurement the prediction may lie, either way."""
    model: Share = 0.6
    """The share of the points for agreeing with the model; the rest is for the machine's."""
    rounds: int = 15
    """Measured at most so often."""
    seconds: float = 10.0
    """For one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """What was predicted, and what was measured."""

    value: int | float
    race: Mapping[str, object]
    deferred: str = ""
    """The package that the measurement waits for."""


class PredictionKind(NumericKind):
    """A number that is predicted by a model, and measured on the runner."""

    spec = Prediction
    is_measured = True

    def trial(self, name: str, key: NumericKey) -> Trial | None:
        """What is measured; nothing of the student's is in it."""
        part = key.part
        if not isinstance(part, Prediction) or not part.setup:
            return None
        race = Race(setup=key.draw.fill(part.setup, key.draw.scope), alone=True, rounds=part.rounds)
        return Trial(
            name=name,
            alias=part.id,
            tools=tuple(tools.source(one) for one in part.tools),
            needs=needs_of(part, ""),
            seconds=part.seconds,
            race=race,
        )

    def key(self, part: NumberPart, draw: Draw) -> NumericKey:
        """The model's value and the accepted interval."""
        assert isinstance(part, Prediction)  # noqa: S101 - the loader saw to it
        if "def prepare(" not in part.setup:
            raise ValueError("'setup' defines no function 'prepare(seed)'")
        if "def measure(" not in part.setup:
            units.magnitude(units.quantity(1.0, part.unit), "s")  # raises for what is no time
        return NumericKind.key(self, part, draw)

    def read(self, raw: Raw, key: NumericKey) -> Predicted:  # type: ignore[override]
        """The number, and what was measured."""
        value, race, deferred = raw, raw.get("race"), ""
        if raw.get("t") == "measured":
            deferred = str(raw.get("deferred", ""))
            inner = raw.get("value")
            value = inner if isinstance(inner, dict) else {}
        if not isinstance(value.get("t"), str):
            raise refusal(raw, self.wanted(key.unit))
        return Predicted(
            value=NumericKind.read(self, value, key),
            race=race if isinstance(race, dict) else {},
            deferred=deferred if deferred in packages.PACKAGES else "",
        )

    def judge(self, value: Predicted, key: NumericKey) -> Judgement:  # type: ignore[override]
        """By the model, and by the machine."""
        part = key.part
        assert isinstance(part, Prediction)  # noqa: S101 - the key's type
        by_model, most = judge(value.value, key), share(part.model)
        if by_model.share is None:
            return by_model
        if value.deferred:
            note = packages.waiting(value.deferred)
            return Judgement(share=None, verdict=Verdict.UNSETTLED, note=note)
        try:
            found = _measured(part, value.race)
        except (ratios.NotMeasuredError, ratios.RanWrongError) as error:
            note = f"It could not be measured: {error}. {ratios.what_next(value.race)}"
            return Judgement(share=None, verdict=Verdict.UNSETTLED, note=note)
        close = _within(part.factor, value.value, found.middle)
        told = _told(part, close=close)
        earned = round(most * by_model.share + (1 - most) * close, 6)
        if earned == 1:
            return Judgement(share=1.0, verdict=CORRECT.verdict, note=told)
        verdict = by_model.verdict
        if verdict is Verdict.CORRECT or (earned and by_model.mistake is None):
            verdict = Verdict.PARTIAL
        return Judgement(
            share=earned,
            verdict=verdict,
            note=" ".join(filter(None, (by_model.note, told))),
            mistake=by_model.mistake,
        )

    def say(self, value: Predicted, key: NumericKey) -> str:  # type: ignore[override]
        """The prediction, and the measurement beside it."""
        said = shown(value.value, key.unit)
        part = key.part
        if not isinstance(part, Prediction) or not value.race:
            return said
        try:
            found = _measured(part, value.race)
        except (ratios.NotMeasuredError, ratios.RanWrongError):
            return said
        low, high = (shown(end, key.unit, 3) for end in (found.low, found.high))
        spread = low if low == high else f"{low} to {high}"
        return f"{said}{_BEHIND}measured: {spread})"

    def before_release(self, said: str) -> str:
        """The prediction alone: what was measured is near the key."""
        return said.partition(_BEHIND)[0]

    def true(self, key: NumericKey) -> Predicted | None:  # type: ignore[override]
        """The model's number, confirmed."""
        return Predicted(value=key.value, race=_as_predicted(key))

    def solved(self, answer: object, key: NumericKey) -> Predicted:  # type: ignore[override]
        """The solution's number, confirmed."""
        return Predicted(value=NumericKind.solved(self, answer, key), race=_as_predicted(key))

    def carried(self, value: Predicted | None, key: NumericKey) -> Value | None:  # type: ignore[override]
        """The prediction."""
        return NumericKind.carried(self, value.value if value else None, key)

    def examples(self, key: NumericKey) -> tuple[Example, ...]:
        """Those of a number, each beside a measurement that is the model's number."""
        race, part = _as_predicted(key), key.part
        assert isinstance(part, Prediction)  # noqa: S101 - the key's type
        most = share(part.model)
        found = []
        for one in NumericKind.examples(self, key):
            kept = one.share
            if kept is not None:
                number = NumericKind.read(self, one.raw, key)
                close = number > 0 and 1 / part.factor <= number / key.value <= part.factor
                kept = round(most * kept + (1 - most) * close, 6)
            raw = {"t": "measured", "value": one.raw, "race": race}
            found.append(Example(raw=raw, share=kept, why=one.why, mistake=one.mistake))
        return tuple(found)

    def items(self, key: NumericKey) -> tuple[Item, ...]:  # noqa: ARG002
        """None: some of the points are for agreeing with a measurement, made nowhere else."""
        return ()

    def seen(self, raw: Raw, key: NumericKey) -> Raw:
        """The same beside a measurement that is the model's number."""
        return {"t": "measured", "value": raw, "race": _as_predicted(key)}

    def explain(self, key: NumericKey) -> str:
        """The model's number and the interval around it."""
        part = key.part
        assert isinstance(part, Prediction)  # noqa: S101 - the key's type
        return (
            f"{NumericKind.explain(self, key)}. The measurement counted within a factor of "
            f"{part.factor:g}."
        )


def _measured(part: Prediction, race: Mapping[str, object]) -> ratios.Estimate:
    """In the part's unit."""
    if "counted" in race:
        return ratios.counted(race)
    found = ratios.seconds(race)
    unit = units.magnitude(units.quantity(1.0, part.unit), "s")
    return ratios.Estimate(found.low / unit, found.middle / unit, found.high / unit)


def _within(factor: float, predicted: float, found: float) -> bool:
    """Whether the prediction lies within the factor, either way; nothing is near to zero."""
    if predicted <= 0 or found <= 0:
        return predicted == found
    try:
        return 1 / factor <= predicted / found <= factor
    except OverflowError:  # a whole number beyond all floats
        return False


def _as_predicted(key: NumericKey) -> Mapping[str, object]:
    """A measurement that comes to the model's number."""
    part = key.part
    assert isinstance(part, Prediction)  # noqa: S101 - the key's type
    if "def measure(" in part.setup:
        return {"counted": [float(key.value)] * 3}
    unit = units.magnitude(units.quantity(1.0, part.unit), "s")
    return {"overhead": 0.0, "rounds": [[float(key.value * unit)]] * 6}


def _told(part: Prediction, *, close: bool) -> str:
    side = "within" if close else "not within"
    return f"The prediction is {side} a factor of {part.factor:g} of what was measured."


_BEHIND = " ("


kinds.add("prediction")(PredictionKind())
