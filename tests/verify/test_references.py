"""The right answers run in a kernel, and their speed must leave a margin."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.bank.folders import Bank
from grader.verify.references import MARGIN, run_references
from tests.helpers.banks import a_bank

SPEC = """
id: sample
title: Waiting
family: memory-math
level: apply
minutes: 5
parameters:
  rows: {{choice: [10, 20]}}
prompt: A function waits.
parts:
  - id: double
    kind: measurement
    ask: Write `double` so that it waits less.
    points: 2
    starter: |
      def double(x):
          ...
    setup: |
      import time

      def prepare(seed):
          return (seed,)

      def baseline(x):
          time.sleep(0.045)
          return 2 * x
    speed:
      - {{ratio: {ratio}, share: 100%}}
explanation: Wait less.
"""
SOLUTION = """
import time


def double(x):
    time.sleep(0.015)
    return 2 * x


def double_cases(rng, given):
    yield "edge", {"x": 0}
"""


@pytest.mark.thorough
@pytest.mark.parametrize(("ratio", "is_narrow"), [(1.5, False), (2.5, True), (9, None)])
def test_the_right_answer_must_be_faster_than_the_points_require(
    ratio: float, is_narrow: bool | None, tmp_path: Path
) -> None:
    assert 1.5 * MARGIN < 3 < 2.5 * MARGIN
    bank = Bank.open([a_bank(tmp_path, SPEC.format(ratio=ratio), SOLUTION)])
    found = " ".join(run_references(bank, ["sample"]))
    assert ("on another machine, it may be too slow" in found) == bool(is_narrow), found
    assert ("A ratio of 9 earns more" in found) == (is_narrow is None), found
