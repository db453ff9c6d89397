"""Code that does what is asked in a way of its own: no part of the bank takes it for a forgery."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from grader.kinds import kinds
from grader.kinds.attempts import CodeKey
from grader.kinds.code import CodeKind
from grader.model import Judgment, Limits, packages
from grader.notebook.render.answer_cells import tool_cells
from tests.helpers.code import judged
from tests.helpers.notebooks import run
from tests.helpers.real_bank import BANK, a_key

LONG = Limits(cell_seconds=20.0, notebook_seconds=60.0)


def earned(key: CodeKey, code: str) -> Judgment:
    """The judgment on a notebook whose last cell defines `q1` so."""
    kind = kinds.find(key.part.kind)
    assert isinstance(kind, CodeKind)
    cells = (*tool_cells(key).values(), code)
    evidence = run(*cells, asks="q1", call_plans=(kind.call_plan("q1", key),), limits=LONG)
    return judged(evidence, "q1", key)


OF_A_COPY = """
import torch
from torch.utils.checkpoint import checkpoint

def q1(x, weights, act):
    x = x.clone()
    for W1, W2 in weights:
        x = checkpoint(lambda x, a, b: x + act(x @ a) @ b, x, W1, W2, use_reentrant=False)
    return x
"""
COLUMNS = """
import numpy as np

def q1(x, out):
    s = cuda.shared.array(32, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    mine = 0.0
    if t < 32:
        for i in range(cuda.grid(1), min((cuda.blockIdx.x + 1) * n, x.size), 32):
            mine += x[i]
        s[t] = mine
    for d in (16, 8, 4, 2, 1):
        cuda.syncthreads()
        if t < d:
            mine += s[t + d]
            if d > 1:
                s[t] = mine
    if t == 0:
        out[cuda.blockIdx.x] = mine
"""
RUNS = """
import numpy as np

def q1(x, out):
    s = cuda.shared.array((2, 16), np.int64)
    t, each = cuda.threadIdx.x, cuda.blockDim.x // 16
    total = 0
    if t < 16:
        for i in range(t * each, min((t + 1) * each, x.size)):
            total += x[i]
        s[0, t] = total
    known, old = total, 0
    for k in (1, 2, 4, 8):
        cuda.syncthreads()
        if k <= t < 16:
            known += s[old, t - k]
        if t < 16 and k < 8:
            s[1 - old, t] = known
        old = 1 - old
    if t < 16:
        before = known - total
        for i in range(t * each, min((t + 1) * each, x.size)):
            out[i] = before
            before += x[i]
"""
FORWARD = ("activation-memory-counted", "forward")
SUM = ("block-reduction", "block_sum")
SCAN = ("block-scan", "scan")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("where", "code", "student"),
    [
        pytest.param(FORWARD, OF_A_COPY, 0, id="the blocks of a copy", marks=pytest.mark.thorough),
        pytest.param(SUM, COLUMNS, 6, id="one warp of eight reads all"),
        pytest.param(SCAN, RUNS, 0, id="sums of runs"),
    ],
)
def test_what_takes_less_than_the_reference_earns_all(
    where: tuple[str, str], code: str, student: int
) -> None:
    judgment = earned(a_key(*where, student), code)
    assert judgment.share == 1, judgment.note


def kernels() -> Iterator[tuple[str, str]]:
    """Problems and parts of which the answer is a kernel."""
    for name, path in sorted(BANK.paths.items()):
        if "launch(answer" in path.read_text():
            for part in BANK.problem(name).parts:
                if "launch(answer" in getattr(part, "driver", ""):
                    yield name, part.id


def under_other_names(solution: str, function: str) -> str:
    """A solution of which that function is `q1`, and calls its arguments v, vv, vvv and so on."""
    tree = ast.parse(solution)
    (found,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function)
    found.name, names = "q1", {}
    for number, argument in enumerate(found.args.args, start=1):
        if argument.annotation is None:  # a constant of Triton's is given by its name
            names[argument.arg] = argument.arg = "v" * number
    for node in ast.walk(found):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return ast.unparse(tree)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "part"), [*kernels()])
def test_a_kernel_may_call_its_arguments_as_it_likes(name: str, part: str) -> None:
    key = a_key(name, part)
    if packages.missing_packages(key.part.needs):
        pytest.skip("it needs what is not installed")
    judgment = earned(key, under_other_names(key.draw.solution, part))
    assert judgment.share == 1, judgment.note


@pytest.mark.parametrize("name", sorted(BANK.paths))
def test_what_is_wrong_can_be_told_by_its_name(name: str) -> None:
    """Of a dictionary only such keys are named to a student; others might be hidden inputs."""
    for part in BANK.problem(name).parts:
        driver = getattr(part, "driver", "")
        found = [n for n in ast.walk(ast.parse(driver)) if isinstance(n, ast.Dict)]
        keys = [k.value for each in found for k in each.keys if isinstance(k, ast.Constant)]
        assert [k for k in keys if isinstance(k, str) and not k.isidentifier()] == []
