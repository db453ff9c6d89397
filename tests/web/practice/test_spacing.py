"""Which problem comes next."""

from __future__ import annotations

import random
from dataclasses import replace

from grader.bank.heads import Head
from grader.web.practice.spacing import INTERVALS, Box, Progress, next_problem

HEADS = tuple(
    Head(
        id=f"{level}-{topic}",
        title="",
        family="numerics",
        level=level,
        points=1,
        topics=(topic,),
        parts=(),
    )
    for level in ("recall", "apply", "analyze")
    for topic in ("adam", "fsdp")
)


def test_boxes_follow_the_points() -> None:
    progress = Progress().record("a", 1.0)
    assert progress.boxes["a"] == Box(2, 1 + INTERVALS[1])
    assert progress.level == 1
    progress = progress.record("a", 0.5)
    assert progress.boxes["a"] == Box(2, 2 + INTERVALS[1])
    assert progress.level == 1
    progress = progress.record("a", 0.4)
    assert progress.boxes["a"] == Box(1, 3 + INTERVALS[0])
    assert progress.level == 0
    for _ in range(10):
        progress = progress.record("a", 1.0)
    assert progress.boxes["a"].number == len(INTERVALS)


def test_a_missed_problem_returns_after_three_others() -> None:
    progress, asked, last = Progress(), [], ""
    for number in range(5):
        head = next_problem(HEADS, progress, last, random.Random(0))
        progress = progress.record(head.id, 0.0 if number == 0 else 1.0)
        asked.append(head.id)
        last = head.id
    assert asked[4] == asked[0]
    assert len(set(asked[:4])) == 4


def test_harder_ones_follow_and_missed_topics_come_first() -> None:
    progress = Progress(level=1, answer_count=1, boxes={"recall-fsdp": Box(1, 4)})
    for seed in range(10):
        assert next_problem(HEADS, progress, "recall-fsdp", random.Random(seed)).id == "apply-fsdp"
    harder = replace(progress, level=2)
    assert next_problem(HEADS, harder, "", random.Random(0)).id == "analyze-fsdp"


def test_the_same_problem_is_asked_again_only_if_it_is_alone() -> None:
    assert next_problem(HEADS[:1], Progress(), HEADS[0].id, random.Random(0)) == HEADS[0]
    boxes = {head.id: Box(3, 100 + n) for n, head in enumerate(HEADS)}
    found = next_problem(HEADS, Progress(boxes=boxes), HEADS[0].id, random.Random(0))
    assert found == HEADS[1]
