"""Kernels in Triton's language, by its interpreter where there is no GPU."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from grader import tools
from grader.tools.numba_cuda import gpu_there

MISSING = importlib.util.find_spec("triton") is None

SOFTMAX = """
import torch

def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + i, powers / tl.sum(powers, axis=0), mask=i < columns)

x = torch.randn(5, 37)
out = torch.empty_like(x)
triton_launch(softmax, 5, x, out, 37, BLOCK=64)
assert torch.allclose(out, torch.softmax(x, 1), atol=1e-6)
print("the same")
"""


def ran(code: str, folder: Path) -> str:
    # Triton looks up the source of a kernel, as a notebook's cells have one.
    path = folder / "cells.py"
    path.write_text(code)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def a_kernel_runs(folder: Path) -> None:
    tool = tools.source("triton_blocks")
    first = "import torch\ntriton_module(torch)\nimport triton.language as tl\n"
    assert ran(tool + first + SOFTMAX, folder) == "the same\n"


@pytest.mark.skipif(MISSING, reason="triton is missing")
@pytest.mark.skipif(gpu_there(), reason="there is a GPU, which is asked instead")
def test_the_interpreter_runs_a_kernel(tmp_path: Path) -> None:
    a_kernel_runs(tmp_path)


@pytest.mark.gpu
@pytest.mark.skipif(MISSING or not gpu_there(), reason="no CUDA device, or no triton")
def test_a_gpu_runs_the_same_kernel(tmp_path: Path) -> None:
    a_kernel_runs(tmp_path)


def test_without_triton_one_line_says_what_to_install(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    code = """
import torch

class Not:
    def find_spec(self, name, *_):
        if name == "triton":
            raise ImportError("not here")

sys.meta_path.insert(0, Not())
try:
    triton_module(torch)
except TritonMissingError as error:
    print(error)
"""
    assert ran(tools.source("triton_blocks") + code, tmp_path) == (
        "Triton is missing: pip install triton (not here)\n"
    )
