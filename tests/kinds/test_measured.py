"""Measurements and predictions are judged by what the evidence says, without a kernel."""

from __future__ import annotations

from typing import Any

import pytest

from grader.kinds import ratios
from grader.kinds.measurement import MeasurementKind
from grader.kinds.prediction import PredictionKind
from grader.model import Judgement, Verdict
from grader.wire.encoding import encode_answer
from tests.helpers.code import SCALED, a_race_key
from tests.helpers.kinds import SETUP, a_key, a_prediction

KEY = a_race_key(SCALED, SETUP)
LAUNCHES = a_race_key(SCALED, SETUP, by="launches")


def judged(race: dict[str, Any], key: Any = KEY) -> Judgement:
    kind = MeasurementKind()
    return kind.judge(kind.read({**kind.raw(key, "scaled"), "race": race}, key), key)


def test_what_a_run_of_the_solution_would_leave_earns_everything() -> None:
    kind = MeasurementKind()
    for key in (KEY, LAUNCHES):
        assert kind.judge(kind.read(kind.raw(key, "scaled"), key), key).share == 1


def test_without_a_solution_there_is_nothing_to_race_against() -> None:
    assert KEY.call_plan("q1_scaled").benchmark
    assert a_race_key("", SETUP).call_plan("q1_scaled").benchmark is None


@pytest.mark.parametrize(
    ("race", "note"),
    [
        ({"uncounted": "no counters"}, "waits for a machine that counts kernel launches: no count"),
        ({"disturbed": True}, "The count is not reliable"),
        ({"unmade": "the baseline failed"}, "kernel launches could not be counted: the baseline"),
    ],
)
def test_a_count_that_could_not_be_made_waits(race: dict[str, Any], note: str) -> None:
    found = judged({"counts": [], **race}, LAUNCHES)
    assert (found.share, found.verdict) == (None, Verdict.UNSETTLED)
    assert note in found.note


def test_the_next_step_names_what_disturbed_the_last_measurement() -> None:
    alone = {ratios.UNDISTURBED: True, "rounds": [[1.0, 1.0]] * 3}
    assert ratios.next_step({}) == "It will be measured again."
    assert ratios.next_step({**alone, "alone": [1.0]}).endswith("a person will review it.")
    assert "slower while" not in ratios.next_step({**alone, "alone": [1.0]})
    assert "slower while" in ratios.next_step({**alone, "alone": [0.1]})


@pytest.mark.parametrize(("times", "share"), [(1, 1.0), (1e290, 0.0), (0, 0.0), (2, 0.4)])
def test_a_prediction_is_held_against_the_model_and_the_measured_time(
    times: float, share: float
) -> None:
    key, kind = a_key(a_prediction(model=0.6, factor=3)), PredictionKind()
    race = {"overhead": 0.0, "rounds": [[key.value / 1000]] * 6}
    raw = {"t": "measured", "value": encode_answer(f"{times * key.value} ms"), "race": race}
    assert kind.judge(kind.read(raw, key), key).share == pytest.approx(share)
