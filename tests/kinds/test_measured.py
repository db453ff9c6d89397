"""Measurements and predictions are judged by what the evidence says, without a kernel."""

from __future__ import annotations

from typing import Any

import pytest

from grader.kinds import ratios
from grader.kinds.measurement import MeasurementKind, Step
from grader.kinds.numeric import IntegerKind
from grader.kinds.prediction import PredictionKind
from grader.model import Judgment, Mistake, Verdict
from grader.wire.encoding import encode_answer
from tests.helpers.code import SCALED, a_race_key
from tests.helpers.kinds import SETUP, a_key, a_prediction, an_integer

KEY = a_race_key(SCALED, SETUP)
LAUNCHES = a_race_key(SCALED, SETUP, by="launches")


def judged(race: dict[str, Any], key: Any = KEY) -> Judgment:
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


@pytest.mark.parametrize(
    ("race", "share", "note"),
    [
        ({"counts": [[2, 6]] * 6}, 1, "It uses 2 kernel launches, and the baseline 6."),
        ({"counts": [[6, 6]] * 6}, 0.4, "A ratio of 5 earns more"),
        ({"counts": [[2, 6]] * 6, "wrong": "inputs"}, 0, "did not use the inputs it was given"),
        ({"counts": [[2, 6]] * 6, "wrong": 1}, 0, "the result differed from the baseline's"),
        ({"counts": [[2, 6]] * 6, "least": 3}, None, "every solution needs at least 3"),
    ],
)
def test_a_count_earns_what_its_ratio_reaches(
    race: dict[str, Any], share: float | None, note: str
) -> None:
    key = a_race_key(SCALED, SETUP, ratio=3.0 if share == 1 else 5.0, by="launches")
    found = judged(race, key)
    assert found.share == share
    assert note in found.note


def test_the_highest_ratio_of_an_old_release_may_earn_less_than_all_points() -> None:
    key = a_race_key(SCALED, SETUP, by="launches", speed=(Step(ratio=2, share=0.5),))
    found = judged({"counts": [[1, 6]] * 6}, key)
    assert found.share == pytest.approx(0.7)
    assert "earns more" not in found.note


@pytest.mark.parametrize(
    ("alone", "why"), [(1.0, "too close to a threshold"), (0.1, "the machine was busy")]
)
def test_a_ratio_on_both_sides_of_a_threshold_stays_open(alone: float, why: str) -> None:
    rounds = [[0.32, 1.0], [0.34, 1.0], [0.36, 1.0]] * 4
    race = {"overhead": 0.0, "alone": [alone] * 3, "rounds": rounds}
    found = judged(race, a_race_key(SCALED, SETUP, ratio=3.0))
    assert (found.share, found.verdict) == (None, Verdict.UNSETTLED)
    assert why in found.note
    assert found.note.endswith("It will be measured again.")


def test_a_time_that_the_machine_does_not_allow_is_for_a_person() -> None:
    race = {"overhead": 0.0, "alone": [1.0] * 3, "rounds": [[0.001, 1.0]] * 6, "floor": 0.5}
    found = judged(race)
    assert (found.share, found.verdict) == (None, Verdict.UNSETTLED)
    assert "faster than this machine should allow" in found.note


def test_a_prediction_whose_measurement_waits_is_open_and_shown_without_it() -> None:
    key, kind = a_key(a_prediction()), PredictionKind()
    raw = {"t": "measured", "value": encode_answer("1 ms"), "deferred": "triton"}
    value = kind.read(raw, key)
    assert kind.judge(value, key).verdict is Verdict.UNSETTLED
    assert kind.format_value(value, key) == "1 ms"


def test_before_release_a_prediction_is_shown_without_what_was_measured() -> None:
    key, kind = a_key(a_prediction()), PredictionKind()
    race = {"overhead": 0.0, "rounds": [[0.002]] * 6}
    raw = {"t": "measured", "value": encode_answer("1 ms"), "race": race}
    said = kind.format_value(kind.read(raw, key), key)
    assert said == "1 ms (measured: 2 ms)"
    assert kind.before_release(said) == "1 ms"


def test_a_number_between_two_whole_ones_may_be_a_mistake_of_the_part() -> None:
    forgot = Mistake(id="forgot", value="9.4321", feedback="Round.")
    keys = [a_key(an_integer(answer=9, mistakes=more)) for more in ((), (forgot,))]
    plain, named = ([e.why for e in IntegerKind().examples(key)] for key in keys)
    assert "a number that is not whole" in plain
    assert "a number that is not whole" not in named


@pytest.mark.parametrize(("times", "share"), [(1, 1.0), (1e290, 0.0), (0, 0.0), (2, 0.4)])
def test_a_prediction_is_held_against_the_model_and_the_measured_time(
    times: float, share: float
) -> None:
    key, kind = a_key(a_prediction(model=0.6, factor=3)), PredictionKind()
    race = {"overhead": 0.0, "rounds": [[key.value / 1000]] * 6}
    raw = {"t": "measured", "value": encode_answer(f"{times * key.value} ms"), "race": race}
    assert kind.judge(kind.read(raw, key), key).share == pytest.approx(share)
