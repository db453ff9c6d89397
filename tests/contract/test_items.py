"""Every kind says of itself, as a question of another system, what its own judge says."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.integrations.quiz_items import quiz_items
from grader.kinds import Unreadable, kinds
from grader.kinds.numeric import NumericKey
from grader.model import Key, Mistake, Part, Tolerance
from grader.model.item import (
    ChoiceItem,
    EssayItem,
    NumberItem,
    OrderItem,
    PairsItem,
    TextItem,
)
from tests.helpers.kinds import PARTS, a_key, a_multi_choice, a_numeric, an_integer, an_ordering
from tests.helpers.quizzes import judged_share, near_a_cut, replies

IDS = [f"{i}-{part.kind}" for i, part in enumerate(PARTS)]


def by_items(items: tuple[Any, ...], given: object) -> float:
    """What *given* earns by the forms alone, without any kind."""
    first = items[0]
    match first, given:
        case NumberItem(), tuple():
            return sum(
                item.weight * of_number(item, number)
                for item, number in zip(items, given, strict=True)
            )
        case ChoiceItem(several=True), frozenset():
            return by_rule(first, given)
        case ChoiceItem(), int():
            return first.choices[given].share
        case PairsItem(), tuple():
            return sum(map(int.__eq__, first.right, given)) / len(first.right)
        case OrderItem(), tuple():
            pairs = [(a, b) for i, a in enumerate(given) for b in given[i + 1 :]]
            right = sum(a < b for a, b in pairs)
            return right / len(pairs) if first.rule == "pairs" else float(right == len(pairs))
        case TextItem(), str():
            return of_text(first, given)
    raise AssertionError((first, given))


def of_number(item: NumberItem, number: float) -> float:
    return next((r.share for r in item.ranges if r.low <= number <= r.high), 0.0)


def by_rule(item: ChoiceItem, given: frozenset[int]) -> float:
    right = frozenset(i for i, choice in enumerate(item.choices) if choice.right)
    if item.rule == "each-option":
        return 1 - len(right ^ given) / len(item.choices)
    if item.rule == "all-or-nothing" or not right:
        return float(right == given)
    return max(0, len(right & given) - len(given - right)) / len(right)


def of_text(item: TextItem, given: str) -> float:
    def same(one: str, other: str) -> bool:
        return one == other if item.exact else one.casefold() == other.casefold()

    given = given.strip()
    return next((w.share for w in item.words if any(same(t, given) for t in w.texts)), 0.0)


@pytest.mark.parametrize("part", PARTS, ids=IDS)
def test_what_a_part_earns_elsewhere_is_what_its_judge_gives(part: Part) -> None:
    for seed in range(3):
        key = a_key(part, seed)
        items = quiz_items(key)
        if not items or isinstance(items[0], EssayItem):
            continue
        shares = set()
        for reply in replies(key, random.Random(seed)):
            if not near_a_cut(key, reply.given):
                earned = by_items(items, reply.given)
                assert earned == pytest.approx(judged_share(key, reply), abs=1e-6), reply
                shares.add(round(earned, 6))
        assert len(shares) > 1, "the answers should not all earn the same"


@pytest.mark.parametrize("part", PARTS, ids=IDS)
def test_every_readable_number_and_text_of_the_examples_earns_the_same(part: Part) -> None:
    kind, key = kinds.find(part.kind), a_key(part)
    items = quiz_items(key)
    if not items or part.kind not in ("numeric", "integer", "short_text"):
        return
    tried = 0
    for sample in kind.examples(key):
        try:
            value = kind.read(sample.raw, key)
        except Unreadable:
            continue
        # What a typesetter makes of a text, and what lies between whole numbers: said to be lost.
        lost = "\u2011" in str(sample.raw.get("v")) or sample.why == "a number that is not whole"
        if sample.share is not None and not lost:
            given = (value,) if isinstance(items[0], NumberItem) else value
            assert by_items(items, given) == pytest.approx(sample.share), sample.why
            tried += 1
    assert tried >= 3


def test_only_what_another_system_can_judge_has_a_form() -> None:
    without = {part.kind for part in PARTS if not quiz_items(a_key(part))}
    assert without == {"code", "measurement", "ordering", "plan", "prediction", "short_text"}
    loose = an_ordering(order=(("load", "update"), ("forward", "update")))
    assert not quiz_items(a_key(loose))


def test_what_does_not_survive_is_said() -> None:
    (number,) = quiz_items(a_key(a_numeric()))
    assert "unit slips" in number.lost_features[0]
    (number,) = quiz_items(a_key(a_numeric(slips=False)))
    assert number.lost_features == ()
    (number,) = quiz_items(a_key(an_integer(slips=False, tolerance=Tolerance(absolute=1))))
    assert "not whole" in number.lost_features[0]


def test_a_mistake_never_reaches_into_what_is_accepted_or_into_another() -> None:
    mistakes = tuple(
        Mistake(id=f"m{i}", value=f"weights / gpus * {factor}", feedback="x", credit=0.1)
        for i, factor in enumerate((1.01, 1.02, 1.015, 0.5, 0.505, 1))
    )
    key = a_key(a_numeric(mistakes=mistakes, tolerance=Tolerance(relative=0.01)))
    assert isinstance(key, NumericKey)
    item: Any = quiz_items(key)[0]
    found = sorted(item.ranges, key=lambda r: r.low)
    assert all(a.high <= b.low for a, b in pairwise(found))
    assert item.ranges[0].low == key.low
    assert item.ranges[0].high == key.high
    # The last lies wholly in what is accepted, and the others reach out of it.
    assert len(found) == 6


@given(
    answer=st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-6),
    factors=st.lists(st.floats(-4, 4), max_size=5),
    width=st.sampled_from([0, 0.001, 0.01, 0.3]),
    tries=st.lists(st.floats(-5, 5), min_size=5, max_size=20),
)
@settings(max_examples=150)
def test_any_mistakes_are_cut_as_the_judge_tells_them_apart(
    answer: float, factors: list[float], width: float, tries: list[float]
) -> None:
    mistakes = tuple(
        Mistake(id=f"m{i}", value=answer * f, feedback="x", credit=(i + 1) / 10)
        for i, f in enumerate(factors)
    )
    part = a_numeric(
        answer=answer, unit="", mistakes=mistakes, tolerance=Tolerance(relative=width), slips=False
    )
    kind, key = kinds.find("numeric"), a_key(part)
    items: Any = quiz_items(key)
    for number in [*(answer * t for t in tries), *(answer * f for f in factors)]:
        cuts = [end for r in items[0].ranges for end in (r.low, r.high)]
        if any(0 < abs(number - cut) <= 1e-7 * abs(cut) for cut in cuts):
            continue
        share = kind.judge(number, key).share
        on_a_cut = number in cuts and share != of_number(items[0], number)
        assert on_a_cut or of_number(items[0], number) == pytest.approx(share)


def test_a_form_holds_the_feedback_of_the_variant() -> None:
    item: Any = quiz_items(a_key(a_multi_choice()))[0]
    told = [choice.feedback for choice in item.choices if choice.feedback]
    assert told == ["Activations stay where they are."]


def weights(key: Key) -> float:
    return sum(getattr(item, "weight", 1.0) for item in quiz_items(key))


@pytest.mark.parametrize("part", PARTS, ids=IDS)
def test_the_weights_of_a_part_add_up(part: Part) -> None:
    key = a_key(part)
    assert not quiz_items(key) or weights(key) == pytest.approx(1)
