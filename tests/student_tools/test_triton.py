"""Kernels in Triton's language: by its interpreter, watched and counted, and compiled for GPUs."""

# ruff: noqa: N803, TC004, UP037  # kernels are written as students write them

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from grader.kinds import student_tools
from grader.kinds.hidden.solutions import solution_module
from grader.runtime.machine.hardware import has_cuda
from grader.verify import verify_problem
from tests.helpers.notebooks import run

if TYPE_CHECKING:
    import triton.language as tl

MISSING = importlib.util.find_spec("triton") is None
SOLUTIONS = Path(__file__).parents[2] / "solutions" / "cuda-threading"
PROBLEMS = ("triton-fused-elementwise", "triton-row-softmax", "triton-tiled-matmul")

needs_triton = pytest.mark.skipif(MISSING, reason="triton is missing: pip install triton")
no_gpu = pytest.mark.skipif(has_cuda(), reason="there is a GPU, which is asked instead")


def text() -> str:
    return student_tools.source("triton_memory") + "\n" + student_tools.source("triton_blocks")


@pytest.fixture(scope="module")
def tool() -> SimpleNamespace:
    """What the tools' cells define."""
    space: dict[str, Any] = {"__name__": "driver"}
    exec(compile(text(), "<driver>", "exec"), space)
    return SimpleNamespace(**{k: v for k, v in space.items() if not k.startswith("__")})


# -- kernels, some of them wrong


def double(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def no_mask(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * 2, mask=i < n)


def before_the_first(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i - 1, mask=i < n), mask=i < n)


def far_away(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    i = tl.arange(0, BLOCK).to(tl.int64)
    tl.store(out + i, tl.load(x + i + (1 << 33), mask=i < n), mask=i < n)


def all_to_one(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    i = tl.arange(0, BLOCK)
    tl.store(out + i * 0, tl.load(x + i, mask=i < n), mask=i < n)


def over_one_another(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.program_id(0) + tl.load(x + i, mask=i < n), mask=i < n)


def the_same_by_all(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


def from_the_neighbour(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    # A stencil in place: what a program reads at its edge, its neighbour has written.
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + i - 1, mask=(i < n) & (i > 0), other=0.0)
    tl.store(x + i, left, mask=i < n)


def to_the_neighbour(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    # The other way round: what it writes, another one has read before.
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    right = tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(x + i, right, mask=i < n)


def in_place(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


def sum_of_all(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


def undefined(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n))


def raises(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    tl.store(out, no_such_name)  # type: ignore[name-defined]  # noqa: F821


def columns_of(x: Any, out: Any, stride: Any, BLOCK: "tl.constexpr") -> None:
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(out + row * BLOCK + j, tl.load(x + row * stride + j))


def helped(x: Any, out: Any, n: Any, BLOCK: "tl.constexpr") -> None:
    tl.store(out, twice(n))


def twice(n: Any) -> Any:
    return n + n


def floats(n: int) -> Any:
    return np.arange(1, n + 1, dtype=np.float32)


# -- what they compute, and what is found


@needs_triton
@no_gpu
@pytest.mark.parametrize("n", [1, 31, 32, 33, 100])
def test_every_element_is_computed_once(tool: SimpleNamespace, n: int) -> None:
    out = np.zeros(n, np.float32)
    given = floats(n)
    result = tool.triton_launch(double, -(-n // 32), given, out, n, BLOCK=32)
    assert result[1] is out
    assert np.array_equal(out, 2 * floats(n))
    assert np.array_equal(given, floats(n))


@needs_triton
@pytest.mark.parametrize(
    ("kernel", "grid", "error", "said"),
    [
        (no_mask, 2, "OutOfRangeError", "element 20 of x, which has 20, used by lane 4 of program"),
        (before_the_first, 2, "OutOfRangeError", "element -1 of x, which has 20, used by lane 0"),
        (far_away, 1, "OutOfRangeError", "element 8589934592 of x"),
        (all_to_one, 1, "DataRaceError", "two lanes of program (0, 0, 0) store unlike values"),
        (over_one_another, 2, "DataRaceError", "element 0 of out is stored by program (1, 0, 0)"),
        (from_the_neighbour, 2, "DataRaceError", "element 15 of x is loaded by program (1, 0, 0)"),
        (to_the_neighbour, 2, "DataRaceError", "element 16 of x is stored by program (1, 0, 0)"),
        (raises, 1, "NameError", "name 'no_such_name' is not defined"),
        (helped, 1, "LaunchError", "twice is a plain function"),
        (double, 0, "LaunchError", "at least 1"),
        (double, (300, 300), "LaunchError", "90000 programs"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_mistake_is_named(
    tool: SimpleNamespace, kernel: Any, grid: Any, error: str, said: str
) -> None:
    with pytest.raises(Exception, match=r".") as found:
        tool.triton_launch(kernel, grid, floats(20), np.zeros(20, np.float32), 20, BLOCK=16)
    assert type(found.value).__name__ == error
    assert said in str(found.value)


@needs_triton
@no_gpu
def test_what_has_no_order_to_depend_on_is_no_race(tool: SimpleNamespace) -> None:
    x, out = floats(20), np.zeros(20, np.float32)
    tool.triton_launch(in_place, 2, x, out, 20, BLOCK=16)
    assert np.array_equal(x, 2 * floats(20) + 1)
    tool.triton_launch(the_same_by_all, 3, floats(16), out, 16, BLOCK=16)
    assert np.array_equal(out[:16], floats(16))


@needs_triton
@no_gpu
def test_lanes_that_are_off_load_what_nobody_should_use(tool: SimpleNamespace) -> None:
    out = np.zeros(8, np.float32)
    tool.triton_launch(undefined, 1, floats(5), out, 5, BLOCK=8)
    assert np.array_equal(np.isnan(out), np.arange(8) >= 5)
    whole = np.zeros(8, np.int64)
    tool.triton_launch(undefined, 1, np.arange(5), whole, 5, BLOCK=8)
    assert whole[5] == np.iinfo(np.int64).max


@needs_triton
@no_gpu
@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16", "int32", "int8"])
def test_types_of_numbers(tool: SimpleNamespace, kind: str) -> None:
    import torch

    dtype = getattr(torch, kind)
    x, out = torch.arange(20).to(dtype), torch.zeros(20, dtype=dtype)
    tool.triton_launch(the_same_by_all, 2, x, out, 20, BLOCK=32)
    assert torch.equal(out, x)


@needs_triton
@no_gpu
def test_a_tensor_within_another_ends_where_it_does(tool: SimpleNamespace) -> None:
    import torch

    wide = torch.randn(4, 12)
    out = torch.zeros(4, 8)
    tool.triton_launch(columns_of, 4, wide[:, :8], out, 12, BLOCK=8)
    assert torch.equal(out, wide[:, :8])
    with pytest.raises(tool.OutOfRangeError, match="element 5 of x, which has 20"):
        tool.triton_launch(columns_of, 4, wide[:, :5], out, 12, BLOCK=8)
    with pytest.raises(tool.OutOfRangeError, match="element 0 of x, which has 0"):
        tool.triton_launch(columns_of, 1, wide[:0], out, 12, BLOCK=8)


@needs_triton
@no_gpu
@pytest.mark.parametrize("n", [16, 20, 50])
def test_what_is_moved_is_what_the_masks_let_through(tool: SimpleNamespace, n: int) -> None:
    traffic, programs = tool.Traffic(), -(-n // 16)
    tool.triton_launch(
        double, programs, floats(n), np.zeros(n, np.float32), n, BLOCK=16, recorder=traffic
    )
    assert (traffic["x"].loads, traffic["x"].stores) == (n, 0)
    assert (traffic["out"].loads, traffic["out"].stores) == (0, n)
    assert traffic["x"].masked == traffic["out"].masked == 16 * programs - n
    assert traffic.bytes == 2 * 4 * n
    assert str(traffic).startswith(f"{programs} programs, {8 * n} bytes\nx: {n} loads, 0 stores")

    traffic, total = tool.Traffic(), np.zeros(1, np.float32)
    tool.triton_launch(sum_of_all, programs, floats(n), total, n, BLOCK=16, recorder=traffic)
    assert total[0] == n * (n + 1) / 2
    assert (traffic["out"].atomics, traffic["out"].bytes) == (programs, 8 * programs)


# -- the language itself


@needs_triton
@no_gpu
@pytest.mark.parametrize("mode", ["", "0", "1"])
def test_it_runs_however_triton_was_imported_before(tmp_path: Path, mode: str) -> None:
    before = (
        "import os\n"
        f"os.environ['TRITON_INTERPRET'] = {mode!r}\n"
        "import torch, triton, triton.language as first\n"
    )
    code = (
        "def names():\n"
        "    owners = [m for n, m in sorted(sys.modules.items()) if n.startswith('triton.lang')]\n"
        "    owners += [first.tensor, first.dtype, first.core.tensor]\n"
        "    return [{k: id(v) for k, v in vars(o).items()} for o in owners]\n"
        "\n@triton.jit\ndef largest(a, b):\n    return tl.maximum(a, b)\n"
        "\ndef softmax(x, out, n, BLOCK: tl.constexpr):\n"
        "    i = tl.arange(0, BLOCK)\n"
        "    v = tl.load(x + i, mask=i < n, other=-float('inf'))\n"
        "    e = tl.exp(v - largest(tl.max(v, axis=0), -100.0))\n"
        "    tl.store(out + i, e / e.sum(axis=0), mask=i < n)\n"
        "x, out = torch.randn(37), torch.zeros(37)\n"
        "triton_launch(softmax, 1, x, out, 37, BLOCK=64)\n"
        "before, mine = names(), set(globals())\n"
        "triton_launch(softmax, 1, x, out, 37, BLOCK=64)\n"
        "assert names() == before\n"
        "assert set(globals()) - mine == {'before', 'mine'} - mine\n"
        "assert torch.allclose(out, torch.softmax(x, 0), atol=1e-6)\n"
        "print('the same')\n"
    )
    assert ran(before + text() + "\n" + code, tmp_path) == "the same\n"


def ran(code: str, folder: Path) -> str:
    # Triton looks up the source of a kernel, as a notebook's cells have one.
    path = folder / "cells.py"
    path.write_text(code)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


COMPILED = """
import sys
from pathlib import Path
import numpy as np
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction
from grader.kinds.hidden.solutions import solution_module

kernels = {KERNELS}
for problem, (part, types, block) in kernels.items():
    module = solution_module((Path(sys.argv[1]) / f"{{problem}}.py").read_text(encoding="utf-8"))
    names = [n for n in vars(module) if n == part or n.startswith(f"{{part}}_right_")]
    assert len(names) >= 3
    for name in names:
        kernel = getattr(module, name)
        vars(module)["tl"] = triton.language
        values = [np.zeros(64, np.float16 if t == "*fp16" else np.float32) if "*" in t
                  else 1 if t == "i32" else 0.5 for t in types.values()]
        triton_launch(kernel, 1, *values, **block)
        signature = {{**types, **dict.fromkeys(block, "constexpr")}}
        made = triton.compile(ASTSource(JITFunction(kernel), signature, block),
                              target=GPUTarget("cuda", 80, 32))
        assert "ptx" in made.asm
        print(name)
"""


@needs_triton
@no_gpu
def test_what_is_right_in_the_bank_compiles_for_a_gpu_too(tmp_path: Path) -> None:
    """Right after it was interpreted: the same language, and none is needed in the machine."""
    kernels = {
        "triton-fused-elementwise": (
            "leaky_axpy",
            {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "w": "fp32", "slope": "fp32"},
            {"BLOCK": 64},
        ),
        "triton-row-softmax": (
            "row_softmax",
            {"x": "*fp32", "out": "*fp32", "columns": "i32", "stride": "i32"},
            {"BLOCK": 64},
        ),
        "triton-tiled-matmul": (
            "matmul",
            {"a": "*fp16", "b": "*fp16", "c": "*fp32", "rows": "i32", "columns": "i32",
             "inner": "i32"},
            {"T": 16},
        ),
    }  # fmt: skip
    assert set(kernels) == set(PROBLEMS)
    code = text() + COMPILED.format(KERNELS=repr(kernels))
    path = tmp_path / "cells.py"
    path.write_text("import os\nos.environ['TRITON_INTERPRET'] = '0'\n" + code)
    done = subprocess.run(
        [sys.executable, str(path), str(SOLUTIONS)],
        capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "TRITON_CACHE_DIR": str(tmp_path / "cache"),
             "HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) == 9


# -- where it is used


@needs_triton
@no_gpu
def test_a_kernel_runs_behind_the_wall_from_the_notebooks_own_cells() -> None:
    evidence = run(
        student_tools.source("triton_memory"),
        student_tools.source("triton_blocks"),
        "import triton\nimport triton.language as tl\nimport numpy as np\n"
        "@triton.jit\ndef add(x, out, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(out + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)",
        "t = Traffic()\n"
        "q1_a = float(triton_launch(add, 3, np.arange(70.0), np.zeros(70), 70, BLOCK=32,\n"
        "                           recorder=t)[1].sum())\nq1_b = t.bytes",
        "try:\n    triton_launch(add, 3, np.arange(70.0), np.zeros(70), 71, BLOCK=32)\n"
        "except OutOfRangeError as error:\n    q1_c = str(error)",
        asks="q1_a q1_b q1_c",
    )
    assert [cell.error for cell in evidence.cells] == [None] * 5
    raws: list[Any] = [evidence.answers[name].raw for name in ("q1_a", "q1_b", "q1_c")]
    assert float(raws[0]["v"]) == 70 * 69 / 2 + 70
    assert raws[1]["v"] == str(2 * 8 * 70)
    assert raws[2]["v"] == (
        "out of range: element 70 of x, which has 70, used by lane 6 of program (2, 0, 0)"
    )


@needs_triton
@no_gpu
@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_gate_runs_the_code_of_the_bank(problem: str) -> None:
    from grader.bank.folders import Bank

    verified = verify_problem(Bank.open(), problem, 2, code_seeds=1)
    assert verified.unrun == ()
    assert [f for f in verified.findings if f.check != "variants-differ"] == []


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_solution_can_be_read_without_triton(problem: str) -> None:
    module = solution_module((SOLUTIONS / f"{problem}.py").read_text(encoding="utf-8"))
    assert callable(module.solve)
    assert "triton" not in vars(module)


@pytest.mark.gpu
@needs_triton
@pytest.mark.skipif(not has_cuda(), reason="no CUDA device is found")
def test_a_gpu_comes_to_the_same(tool: SimpleNamespace) -> None:
    import torch

    x, out = torch.randn(1000), torch.zeros(1000)
    tool.triton_launch(double, 16, x, out, 1000, BLOCK=64)
    assert torch.equal(out, 2 * x)
    with pytest.raises(tool.OutOfRangeError):
        tool.triton_launch(no_mask, 16, x, out, 1000, BLOCK=64)


@pytest.mark.thorough
def test_without_triton_one_line_says_what_to_install(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    first = """
import sys

class Not:
    def find_spec(self, name, *_):
        if name == "triton":
            raise ImportError("not here")

sys.meta_path.insert(0, Not())
"""
    last = """
def kernel(x, BLOCK: tl.constexpr):
    pass

try:
    triton_launch(kernel, 1, None, BLOCK=2)
except TritonMissingError as error:
    print(error)
"""
    assert ran(first + text() + last, tmp_path) == (
        "Triton is not installed: kernels can be written here, and not run (pip install triton)\n"
        "Triton is missing: pip install triton (not here)\n"
    )
