"""The gate refuses a plan part that one recipe or a guess solves, and conditions without use."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.bank.folders import Bank
from grader.verify import Verified, verify_problem
from tests.helpers.banks import a_bank

SPEC = """\
id: sample
title: A sample
family: memory-math
parameters:
  work: {choice: [10, 20, 40, 80, 160, 320, 640, 1280]}
  fixed: {choice: [1, 3, 7]}
  most: {choice: [9, 13]}
prompt: Split the work of {{ work }} units. Pieces and fixed costs have a limit.
parts:
  - id: split
    kind: plan
    ask: Into how many pieces, and in which order?
    choose: {pieces: [1, 2, 4, 8, 16, 32], order: [up, down]}
    require:
      - id: too-many
        that: pieces + fixed <= most + work / 40
        stated: have a limit
        feedback: Too many.
    cost: (work / pieces + fixed * pieces + (50 if order == 'up' else 0)) * s
    unit: s
    none: 15%
    shortcomings:
      - {id: order, when: order == 'up', feedback: Going up takes longer.}
explanation: The best is {{ split }}.
"""
SOLUTION = """\
def solve(given):
    def cost(plan):
        extra = 50 if plan["order"] == "up" else 0
        return given["work"] / plan["pieces"] + given["fixed"] * plan["pieces"] + extra

    plans = [
        {"pieces": pieces, "order": order}
        for pieces in (1, 2, 4, 8, 16, 32)
        for order in ("up", "down")
        if pieces + given["fixed"] <= given["most"] + given["work"] / 40
    ]
    best = min(plans, key=cost)
    return {"split": {**best, "cost": cost(best)}}
"""


def gate(folder: Path, spec: str, solution: str = SOLUTION) -> Verified:
    return verify_problem(Bank.open([a_bank(folder, spec, solution)]), "sample", 40)


def test_a_sound_plan_part_passes(tmp_path: Path) -> None:
    result = gate(tmp_path, SPEC)
    assert result.holds, [str(f) for f in result.findings] + list(result.errors)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("work / pieces + fixed * pieces", "pieces", "pieces = 1, order = down earns 100%"),
        ("none: 15%", "none: 100%", "at random earns"),
        (
            "order == 'up', feedback",
            "order == 'no', feedback",
            "'order' is the first reason for no",
        ),
        ("that: pieces + fixed <= most + work / 40", "that: pieces > 0", "'too-many' is the first"),
    ],
)
def test_a_part_that_tests_nothing_is_reported(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    result = gate(tmp_path, SPEC.replace(old, new))
    assert any(said in f.what for f in result.findings if f.check == "plans"), result.findings


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("        stated: have a limit\n", "", "requirement 'too-many' has no 'stated'"),
        ("stated: have a limit", "stated: have no limit", 'quotes "have no limit", which the'),
        ("stated: have a limit", 'stated: "{{ 1 / (most - most) }}"', "can't be filled in"),
        ("pieces + fixed <= most + work / 40", "pieces <= most and fixed <= most", "joins rules"),
    ],
)
def test_a_rule_that_the_question_does_not_state_is_reported(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    result = gate(tmp_path, SPEC.replace(old, new))
    found = [f for f in result.findings if f.check == "stated-rules"]
    assert [said in f.what for f in found] == [True]
    assert found[0].where.line == SPEC.splitlines().index("    require:") + 2


@pytest.mark.parametrize(
    ("stated", "where"),
    [
        (
            "work of {{ work }} units. Pieces and",
            "prompt: Split the work of {{ work }} units. Pieces",
        ),
        (
            "at most {{ most }}",
            "assumptions: ['There are at most {{ most }} pieces.']\nprompt: Pieces",
        ),
        ("Limit of pieces", "prompt: Pieces"),
    ],
)
def test_prompt_assumptions_and_labels_can_state_a_rule(
    tmp_path: Path, stated: str, where: str
) -> None:
    spec = SPEC.replace(
        "most: {choice: [9, 13]}", "most: {choice: [9, 13], label: Limit of pieces}"
    )
    spec = spec.replace("stated: have a limit", f'stated: "{stated}"')
    spec = spec.replace("prompt: Split the work of {{ work }} units. Pieces", where)
    result = gate(tmp_path, spec)
    assert result.holds, [str(f) for f in result.findings] + list(result.errors)


def test_a_solution_that_misses_the_optimum_is_reported(tmp_path: Path) -> None:
    result = gate(tmp_path, SPEC, SOLUTION.replace("min(plans", "max(plans"))
    assert {f.check for f in result.findings} == {"second-computation"}
