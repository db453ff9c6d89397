"""The bank of this repository, and keys of its parts."""

from __future__ import annotations

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.kinds.attempts import CodeKey

BANK = Bank.open()


def a_key(problem: str, part: str, student: int = 0) -> CodeKey:
    """The key of a part of the bank, for some student."""
    variant = draw(BANK.problem(problem), sample_seed(problem, student), BANK.facts)
    key = variant.keys[part]
    assert isinstance(key, CodeKey)
    return key
