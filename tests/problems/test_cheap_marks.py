"""Marks that would come too cheaply: no part of the bank gives them.

For code that leaves the work to a library or does none at all, and for one answer given whatever
the numbers are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.kinds import kinds
from grader.kinds.attempts import CodeAnswer, CodeKey
from grader.kinds.choice import ChoiceKey
from grader.kinds.code import CodeKind
from grader.kinds.hidden.judging import CaseResults
from grader.kinds.hidden.solutions import run_here
from grader.model import packages
from tests.helpers.real_bank import a_key

BANK = Bank.open()


CHECKPOINT = """
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

def {name}(segment, x):
    return checkpoint_wrapper(segment)(x)
"""
BFLOAT = """
import numpy as np
import torch

def {name}(x):
    found = torch.tensor(x).to(torch.get_autocast_dtype("cpu"))
    return found.view(torch.int16).numpy().astype(np.uint16)
"""
BY_TYPE = """
import numpy as np
import torch

def {name}(x):
    found = torch.tensor(x).type("torch.BFloat16Tensor")
    return found.view(torch.int16).numpy().astype(np.uint16)
"""
EXACT = """
def {name}(x):
    bits = 2**1074
    total = sum(n * (bits // d) for n, d in map(float.as_integer_ratio, x.tolist()))
    return x.dtype.type(total / bits)
"""
# By no name that could be forbidden: it is told from what is asked by its results alone.
WHOLE = """
def {name}(x):
    low = sum(int(v * 2.0**149) for v in x.tolist() if abs(v) < 2.0**150)
    high = sum(int(v) for v in x.tolist() if abs(v) >= 2.0**150)
    return x.dtype.type(low / 2**149 + high)
"""
SLOW = pytest.mark.slow
BF16 = ("float-formats-by-bits", "to_bf16")
KEPT = ("compensated-summation", "compensated_sum")


def made_here(key: CodeKey, source: str) -> float:
    """What a student earns who wrote *source*, run in this process."""
    kind = kinds.find(key.part.kind)
    assert isinstance(kind, CodeKind)
    share = kind.judge(kind.read(kind.simulate_run(key, key.part.id, source), key), key).share
    assert share is not None
    return share


@pytest.mark.parametrize(
    ("where", "code"),
    [
        pytest.param(
            ("recompute-segments", "checkpointed"), CHECKPOINT, id="a wrapper", marks=SLOW
        ),
        pytest.param(BF16, BFLOAT, id="a type that torch gives"),
        pytest.param(BF16, BY_TYPE, id="a type by its name"),
        pytest.param(KEPT, EXACT, id="an exact sum"),
        pytest.param(KEPT, WHOLE, id="an exact sum of whole numbers"),
    ],
)
def test_what_the_problem_is_about_is_not_to_be_had_elsewhere(
    where: tuple[str, str], code: str
) -> None:
    assert made_here(a_key(*where), code.format(name=where[1])) == 0


EMPTY = """
import copy

def {name}(*given, **named):
    given = (*given, *named.values())
    {body}
"""
BODIES = (
    "raise ValueError", "return None", "return 0", "return 1", "return []", "return {}",
    "return float('inf')", "return given[0]", "return copy.deepcopy(given[0])",
)  # fmt: skip


def with_code() -> Iterator[object]:
    """The problems of the bank that ask for code; many take long, such as by their processes."""
    for name, path in sorted(BANK.paths.items()):
        if "kind: code" in (text := path.read_text()) or "kind: measurement" in text:
            long = "tools: [ranks]" in text or "live]" in text
            yield pytest.param(name, marks=[SLOW] * long)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*with_code()])
def test_what_does_nothing_earns_nothing(name: str) -> None:
    variant = draw(BANK.problem(name), sample_seed(name, 1), BANK.facts)
    for part, key in variant.keys.items():
        if not isinstance(key, CodeKey) or f"class {part}" in key.starter:
            continue
        if packages.missing_packages(key.part.needs) or key.part.device == "cuda":
            continue
        for body in BODIES:
            source = EMPTY.format(name=part, body=body)
            calls: Any = run_here(key.call_plan(part), source)["calls"]
            judgment = CaseResults(CodeAnswer(source=source, calls=tuple(calls)), key).judgment()
            assert judgment.share == 0, (part, body, judgment.cells)


def answers(key: Any) -> list[object]:
    """What is right: one value, the text of an option, or the cells of a table."""
    right = kinds.find(key.part.kind).answer(key)
    if isinstance(key, ChoiceKey):
        return [next(c.text for c in key.choices if c.letter == key.right)]
    return [x for row in right.values() for x in row] if isinstance(right, dict) else [right]


def fits(guess: object, right: object) -> bool:
    """Whether a guess is right, or as near as these parts accept."""
    if isinstance(guess, (int, float)) and isinstance(right, (int, float)):
        return math.isclose(guess, right, rel_tol=0.01)
    return guess == right


@pytest.mark.parametrize(
    ("problem", "part"),
    [
        ("the-same-product-every-time", "factor"),
        ("coalescing-transactions", "shifted_sectors"),
        ("activation-memory-checkpointing", "crossover"),
        ("launch-configuration", "guard"),
        ("decode-step-lower-bound", "large_batch"),
        ("decode-step-lower-bound", "lever"),
        ("weak-and-strong-scaling", "efficiencies"),
        ("grid-stride-loop", "which_block"),
        ("float-format-extremes", "tiny_count"),
        ("triton-row-softmax", "block_size"),
    ],
)
def test_no_answer_is_right_for_most_students(problem: str, part: str) -> None:
    spec, count = BANK.problem(problem), 80
    drawn = [draw(spec, sample_seed(problem, i), BANK.facts).keys[part] for i in range(count)]
    for cells in zip(*map(answers, drawn), strict=True):
        most = max(sum(fits(guess, right) for right in cells) for guess in set(cells))
        assert most <= 0.62 * count, (problem, part, most / count)
