"""Plans are judged by feasibility first, and then by their distance from the best one."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.expressions import evaluate
from grader.kinds import Unreadable, kinds
from grader.kinds.plan import PlanKey, as_text, credit_of
from grader.kinds.plan_outcomes import evaluate_plan, iter_outcomes
from grader.model import Verdict
from grader.wire.encoding import encode_answer
from tests.helpers.kinds import a_draw, a_key, a_plan, judged


def key_of(**changes: Any) -> PlanKey:
    key = a_key(a_plan(**changes))
    assert isinstance(key, PlanKey)
    return key


def brute_force() -> dict[tuple[int, int, str], float]:
    """The costs of the feasible sample plans, in plain Python."""
    costs = {}
    for tp, pp, checkpoint in itertools.product((1, 2, 4), (1, 2, 3), ("none", "full")):
        full = checkpoint == "full"
        if 16 % (tp * pp) == 0 and 14 / (tp * pp) * (2 if full else 4) <= 20:
            costs[tp, pp, checkpoint] = (8 + tp + 3 * pp) * (1.5 if full else 1)
    return costs


def test_the_best_plan_is_found_among_the_feasible_ones() -> None:
    costs = brute_force()
    best = min(costs, key=lambda plan: costs[plan])
    key = key_of()
    assert [tuple(plan.values()) for plan in key.best] == [best]
    assert key.score == pytest.approx(costs[best])


def test_values_that_compare_equal_keep_their_types() -> None:
    part = a_plan(
        values={"one": 1, "sure": True, "total": "tp + one"}, require=(), cost="total", unit=""
    )
    scores = [outcome.score for _, outcome in iter_outcomes(part, a_draw())]
    assert set(scores) == {2, 3, 5}


@pytest.mark.parametrize("plan", brute_force())
def test_points_fall_with_the_distance_from_the_best(plan: tuple[int, int, str]) -> None:
    costs = brute_force()
    distance = costs[plan] / min(costs.values()) - 1
    expected = min(1.0, max(0.0, (0.6 - distance) / 0.5))
    answer = dict(zip(("tp", "pp", "checkpoint"), plan, strict=True))
    assert judged(key_of(), answer).share == pytest.approx(expected)


@pytest.mark.parametrize(
    ("plan", "mistake", "share", "note"),
    [
        ({"tp": 1, "pp": 3, "checkpoint": "full"}, "not-whole", 0, "16 GPUs."),
        ({"tp": 1, "pp": 1, "checkpoint": "none"}, "does-not-fit", 0.25, "It takes 56 GB."),
    ],
)
def test_the_first_requirement_that_fails_is_the_mistake(
    plan: dict[str, Any], mistake: str, share: float, note: str
) -> None:
    judgment = judged(key_of(), plan)
    assert (judgment.mistake, judgment.share, judgment.note) == (mistake, share, note)
    assert judgment.verdict is Verdict.MISTAKE


def test_feedback_names_the_own_cost_and_a_shortcoming_but_not_the_best_plan() -> None:
    judgment = judged(key_of(), {"tp": 2, "pp": 1, "checkpoint": "full"})
    assert judgment.note == "Your plan's cost is 19.5 ms. It recomputes."
    assert judgment.mistake == "recomputes"


def test_plans_that_tie_are_equally_right() -> None:
    key = key_of(cost="10 * ms", require=())
    assert len(key.best) == 18
    assert all(judged(key, dict(plan)).share == 1 for plan in key.best)


def test_a_gain_is_better_if_it_is_larger() -> None:
    key = key_of(cost=None, gain="tp * 1.0", unit="", require=(), shortcomings=(), none=0.6)
    assert {plan["tp"] for plan in key.best} == {4}
    assert judged(key, {"tp": 2, "pp": 1, "checkpoint": "none"}).share == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"tp": 3, "pp": 1, "checkpoint": "none"}, "tp can't be 3; give 1, 2, or 4."),
        ({"tp": 2, "pp": 1, "checkpoint": "half"}, "give none or full."),
        ({"tp": 2, "pp": 1}, "No value is given for checkpoint."),
        ({"tp": 2, "pq": 1, "checkpoint": "none"}, "There is no choice"),
        (["tp", 2], "a dict with tp, pp, checkpoint"),
    ],
)
def test_what_is_no_plan_says_why(answer: object, said: str) -> None:
    key = key_of()
    with pytest.raises(Unreadable) as refused:
        kinds.find("plan").read(encode_answer(answer), key)
    assert said in refused.value.sentence


def test_numbers_may_be_written_as_text_and_words_in_any_case() -> None:
    found = kinds.find("plan").read(
        encode_answer({"tp": "2", "pp": 2.0, "checkpoint": " None "}), key_of()
    )
    assert found == {"tp": 2, "pp": 2, "checkpoint": "none"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gain": "1"}, "either 'cost' or 'gain'"),
        ({"cost": None}, "either 'cost' or 'gain'"),
        ({"full": 0.6}, "'full' must be smaller"),
        ({"cost": "(tp - 1) * ms", "require": ()}, "must be positive"),
        ({"cost": "tp * GB"}, "expected a time"),
        ({"choose": {"tp": (1,), "pp": (1, 2), "checkpoint": ("none", "full")}}, "two different"),
        ({"choose": dict.fromkeys(("tp", "pp", "checkpoint"), tuple(range(99)))}, "is 970299"),
    ],
)  # fmt: skip
def test_a_part_whose_plans_can_not_be_compared_is_an_error(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        key_of(**changes)


def test_the_solution_must_find_the_optimum_and_its_cost() -> None:
    kind, key = kinds.find("plan"), key_of()
    best = dict(key.best[0])
    assert kind.read_solution({**best, "cost": key.score}, key) == best
    with pytest.raises(ValueError, match="the best is"):
        kind.read_solution({**best, "cost": key.score * 1.001}, key)
    with pytest.raises(ValueError, match="the best is"):
        kind.read_solution({"tp": 2, "pp": 2, "checkpoint": "none"}, key)


def test_a_later_part_reads_the_students_own_choice() -> None:
    plan = as_text({"tp": 8, "checkpoint": "full"})
    assert evaluate("choice_of(plan, 'tp') * 2", {"plan": plan}) == 16
    assert evaluate("choice_of(plan, 'checkpoint') == 'full'", {"plan": plan}) is True
    fused = as_text({"fused": True, "shared": False})
    assert evaluate("choice_of(plan, 'fused') and not choice_of(plan, 'shared')", {"plan": fused})


@given(st.floats(0, 2))
def test_credit_never_grows_with_the_distance(distance: float) -> None:
    part = a_plan()
    assert 0 <= credit_of(part, distance + 0.01) <= credit_of(part, distance) <= 1


def test_memoized_evaluation_equals_evaluation_of_each_plan_alone() -> None:
    key = key_of()
    for plan, outcome in iter_outcomes(key.part, a_draw()):
        alone = evaluate_plan(plan, key.part, a_draw())
        assert alone.unmet_requirement == outcome.unmet_requirement
        assert outcome.unmet_requirement is not None or alone.score == outcome.score


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"fused": "yes", "tp": 2}, 'fused can\'t be "yes"; give False or True.'),
        ({"fused": 1, "tp": 2}, "fused can't be 1; give False or True."),
        ({"fused": True, "tp": "two"}, 'tp can\'t be "two"; give 1 or 2.'),
        ({"fused": True, "tp": [2]}, "1 or 2 for tp"),
        ({"fused": True, "tp": 10**9999}, "tp can't be a number so large; give 1 or 2."),
    ],
)
def test_a_value_that_is_not_on_offer_says_what_is(answer: object, said: str) -> None:
    key = key_of(
        choose={"fused": (False, True), "tp": (1, 2)},
        values={},
        require=(),
        cost="(3 - tp if fused else 4) * ms",
        shortcomings=(),
    )
    kind = kinds.find("plan")
    assert kind.read(encode_answer({"fused": True, "tp": 2}), key) == {"fused": True, "tp": 2}
    with pytest.raises(Unreadable) as refused:
        kind.read(encode_answer(answer), key)
    assert said in refused.value.sentence
    assert {example.share for example in kind.examples(key)} >= {0.0, 1.0}


def test_a_solution_that_gives_no_plan_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 is not a dict"):
        kinds.find("plan").read_solution(3, key_of())
