"""Code that does not do what is asked, and tries to look as if it did: no part of the bank pays it.

What a driver counts, it counts in the notebook's own process, where it can be forged. What can't
be asked for is that no forger gets through; but nothing that is impossible may be believed, and
nobody may get through by what their objects say of themselves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grader.bank.folders import Bank
from grader.draw import draw, sample_seed
from grader.kinds import kinds
from grader.kinds.attempts import CodeKey
from grader.kinds.code import CodeKind
from grader.kinds.hidden.solutions import SolutionFunctions
from grader.model import Limits, packages
from grader.notebook.render.answer_cells import tool_cells
from grader.wire.encoding import decode_input, encode_result
from tests.helpers.code import judged
from tests.helpers.notebooks import run
from tests.helpers.real_bank import a_key

BANK = Bank.open()
LONG = Limits(cell_seconds=20.0, notebook_seconds=60.0)


EMPTIED = """
import torch

def q1(p, g, m, v, t, lr, decay):
    n = len(p)
    class Sized(torch.Tensor):
        nbytes = 10**12
    for x in (p, g, m, v):
        x.resize_(0, n)
    p.__class__ = Sized
"""
SIZE_MADE_UP = """
import torch

def q1(p, g, m, v, t, lr, decay):
    p.copy_(p * (1 - lr * decay))
    m.copy_(0.9 * m + 0.1 * g)
    v.copy_(0.999 * v + 0.001 * g * g)
    p.copy_(p - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))
    class Sized(torch.Tensor):
        nbytes = 10**12
    p.__class__ = Sized
"""
ADAM = ("adam-in-place", "adam")
NOT_WATCHED = """
import torch

def q1(x, weights, act):
    with torch.set_grad_enabled(x.grad_fn is None):
        for W1, W2 in weights:
            x = x + act(x @ W1) @ W2
        return x
"""
SECOND_TIME = """
import torch

seen = []

def q1(x, weights, act):
    seen.append(x.shape)
    with torch.set_grad_enabled(seen[-2:] != [x.shape] * 2):
        for W1, W2 in weights:
            x = x + act(x @ W1) @ W2
        return x
"""
FORWARD = ("activation-memory-counted", "forward")
BY_NUMPY = """
import torch
import numpy as np

def q1(params, grads, ms, vs, t, lr):
    torch.zeros(1).add_(1)
    for p, g, m, v in zip(params, grads, ms, vs):
        P, G, M, V = (x.numpy() for x in (p, g, m, v))
        M[...] = 0.9 * M + 0.1 * G
        V[...] = 0.999 * V + 0.001 * G * G
        P[...] = P - lr / (1 - 0.9**t) * M / (np.sqrt(V / (1 - 0.999**t)) + 1e-8)
    return params, ms, vs
"""
BY_NUMBERS = """
import torch

def q1(params, grads, ms, vs, t, lr):
    torch.zeros(1).add_(1)
    found = [], [], []
    for each in zip(params, grads, ms, vs):
        rows = []
        for p, g, m, v in zip(*(x.flatten() for x in each)):
            p, g, m, v = map(float, (p, g, m, v))
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            rows.append((p - lr / (1 - 0.9**t) * m / ((v / (1 - 0.999**t)) ** 0.5 + 1e-8), m, v))
        for kept, new in zip(found, zip(*rows)):
            kept.append(torch.tensor(new).reshape(each[0].shape))
    return found
"""
LAUNCHES = ("launches-of-an-optimizer", "adam")
SERIAL = """
import numpy as np

def q1(x, out):
    b, t, n = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    if t == 0:
        total = 0.0
        for i in range(b * n, min(b * n + n, x.size)):
            total += x[i]
        out[b] = total
"""
# The same, with the driver's counter found some frames up and patched.
COUNTED = """
import sys
import numpy as np

class Cost:
    passes = requests = {count}

def q1(x, out):
    b, t, n = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    if t:
        return
    frame = sys._getframe()
    while frame:
        for one in list(frame.f_locals.values()):
            if type(one).__name__ == "Warps":
                type(one).cost = lambda *_: Cost
                frame = None
                break
        frame = frame and frame.f_back
    total = 0.0
    for i in range(b * n, min(b * n + n, x.size)):
        total += x[i]
    out[b] = total
"""
SUM = ("block-reduction", "block_sum")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("where", "code", "most"),
    [
        pytest.param(ADAM, EMPTIED, 0, id="vectors that were emptied"),
        pytest.param(ADAM, SIZE_MADE_UP, 0.5, id="vectors that say they are large"),
        pytest.param(FORWARD, NOT_WATCHED, 0.5, id="a graph for leaves alone"),
        pytest.param(FORWARD, SECOND_TIME, 0.5, id="a graph the first time alone"),
        pytest.param(LAUNCHES, BY_NUMPY, 0, id="numpy and one launch"),
        pytest.param(LAUNCHES, BY_NUMBERS, 0, id="Python's numbers and one launch"),
        pytest.param(SUM, SERIAL, 0.7, id="one thread"),
        pytest.param(SUM, COUNTED.format(count=1), 0.7, id="one thread and one pass"),
        pytest.param(SUM, COUNTED.format(count="float('nan')"), 0.7, id="no number of passes"),
        pytest.param(SUM, COUNTED.format(count=-5), 0.7, id="fewer passes than none"),
        pytest.param(SUM, COUNTED.format(count="True"), 0.7, id="a flag for a count"),
    ],
)
def test_what_only_looks_right_earns_less(where: tuple[str, str], code: str, most: float) -> None:
    key = a_key(*where)
    kind = kinds.find(key.part.kind)
    assert isinstance(kind, CodeKind)
    calls = replace(
        kind.call_plan("q1", key), benchmark=None
    )  # what is wrong earns nothing by speed
    cells = (*tool_cells(key).values(), code)
    judgment = judged(run(*cells, asks="q1", call_plans=(calls,), limits=LONG), "q1", key)
    if judgment.share is None:
        assert "a person will review it" in judgment.note
    else:
        assert judgment.share <= most, judgment.note


def decided_by_properties() -> Iterator[str]:
    """Problems with a `..._holds` and a `..._expected` that leaves something to it."""
    for name in sorted(BANK.paths):
        solution = BANK.solution(name)
        text = solution.read_text() if solution else ""
        if "_holds(inputs" in text and ("return ..." in text or "else ..." in text):
            yield name


def told(hidden: SolutionFunctions, inputs: str, raw: Mapping[str, Any]) -> str | None:
    """What the author's properties, alone, say of a result; also when they can't be asked."""
    given = {name: decode_input(one) for name, one in json.loads(inputs).items()}
    try:
        return next(iter(hidden.get("holds")(given, decode_input(raw))), None)
    except Exception as error:  # which is judged as not held
        return type(error).__name__


IMPOSSIBLE = (-1, 0.5, math.nan, math.inf, np.zeros((0, 1)))


def forged(raw: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """An encoded result, a number or an array of which is what can't have come of it."""
    tag, value = raw["t"], raw.get("v")
    if tag in ("int", "float"):
        yield from (encode_result(one) for one in IMPOSSIBLE)
    elif tag in ("array", "tensor"):
        yield {**raw, "shape": [0, *raw["shape"]], "v": ""}
        yield {**raw, "shape": [0, 1], "v": ""}
        if value:
            yield {**raw, "shape": [1, *raw["shape"]]}
            yield {**raw, "shape": [*raw["shape"], 1]}
            array = np.asarray(decode_input(raw))
            if array.dtype.kind == "f":
                hollow = encode_result(np.full_like(array, np.nan))
                yield {**raw, "v": hollow["v"]}
    elif tag in ("list", "tuple"):
        for place, item in enumerate(raw["v"][:2]):
            rest = raw["v"][place + 1 :]
            yield from ({**raw, "v": [*raw["v"][:place], one, *rest]} for one in forged(item))
    elif tag == "dict":
        for place, (key, item) in enumerate(raw["v"]):
            rest = raw["v"][place + 1 :]
            for one in forged(item):
                yield {**raw, "v": [*raw["v"][:place], [key, one], *rest]}


# Its properties are asked of the most forged results.
MANY = "activation-memory-counted"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.thorough if name == MANY else ())
        for name in decided_by_properties()
    ],
)
def test_properties_refuse_what_is_impossible(name: str) -> None:
    variant = draw(BANK.problem(name), sample_seed(name, 0), BANK.facts)
    looked = False
    for key in variant.keys.values():
        if not isinstance(key, CodeKey) or key.solution_functions.get("holds") is None:
            continue
        if packages.missing_packages(key.part.needs):
            pytest.skip("it needs what is not installed")
        hidden = key.solution_functions
        for case, want in zip(key.cases, key.expected_results, strict=True):
            if "form" not in want or case.again:
                continue
            said = hidden.call_reference(case.call)
            assert told(hidden, case.call.inputs, said["v"]) is None
            for raw in forged(said["v"]):
                looked = True
                assert told(hidden, case.call.inputs, raw) is not None, (case.group, str(raw)[:500])
    assert looked
