"""The records of a paper are plain data: they compare, and pickle."""

from __future__ import annotations

import pickle

import pytest

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed, standalone_paper
from grader.model import Paper, Part
from tests.helpers.kinds import PARTS, a_key


@pytest.mark.parametrize("part", PARTS, ids=[f"{i}-{p.kind}" for i, p in enumerate(PARTS)])
def test_a_key_compares_and_pickles(part: Part) -> None:
    key = a_key(part)
    assert key == a_key(part)
    assert pickle.loads(pickle.dumps(key)) == key
    assert key != a_key(part, gpus=32)


def test_a_paper_of_the_bank_compares_and_pickles() -> None:
    bank = Bank.open()
    problems = [bank.problem(name) for name in ("fsdp-state-per-gpu", "online-softmax")]

    def paper(number: int) -> Paper:
        variants = [draw(p, sample_seed(p.id, number), bank.facts) for p in problems]
        return standalone_paper(variants, "paper")

    assert pickle.loads(pickle.dumps(paper(0))) == paper(0)
    assert paper(1) != paper(0)
