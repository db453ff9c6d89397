"""Feedback on mistakes of the bank that is true for every student who receives it."""

from __future__ import annotations

import pytest

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.kinds import kinds

BANK = Bank.open()


# With the first seed, the fifth output is larger than the second.
@pytest.mark.parametrize(("seed", "is_named"), [(109, False), (137, True)])
def test_two_outputs_are_called_the_largest_only_if_they_are(seed: int, is_named: bool) -> None:
    problem = BANK.problem("memory-planner")
    variant = draw(problem, sample_seed(problem.id, seed), BANK.facts)
    key = variant.keys["inference"]
    named = {sample.mistake for sample in kinds.find(key.part.kind).examples(key)}
    assert ("two-largest" in named) == is_named
