"""A fused elementwise kernel in Triton's language, against numpy in float64."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import triton.language as tl  # noqa: TC004  # the notebook has it from a cell


def leaky_axpy(x, y, out, n, w, slope, BLOCK: "tl.constexpr"):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    v = w * tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask)
    tl.store(out + i, tl.where(v > 0, v, slope * v), mask=mask)


def leaky_axpy_right_strides_over_the_grid(x, y, out, n, w, slope, BLOCK: "tl.constexpr"):
    # However many programs there are, together they have all blocks.
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(y + i, mask=i < n, other=0.0)
        v += w * tl.load(x + i, mask=i < n, other=0.0)
        tl.store(out + i, tl.maximum(v, slope * v), mask=i < n)


def leaky_axpy_right_moved_pointers(x, y, out, n, w, slope, BLOCK: "tl.constexpr"):
    first = tl.program_id(axis=0) * BLOCK
    lanes = tl.arange(0, BLOCK)
    left = n - first
    a = tl.load(x + first + lanes, lanes < left, 0.0)
    b = tl.load(y + first + lanes, lanes < left, 0.0)
    v = a * w + b
    v = v * tl.where(v < 0, slope, 1.0)
    tl.store(out + first + lanes, v, lanes < left)


def leaky_axpy_cases(rng, given):
    block = given["block"]

    def case(n, extra=0, count=False):
        x, y = (rng.normal(size=n).astype(np.float32) for _ in range(2))
        grid = -(-n // block) + extra
        w, slope = (float(v) for v in np.round(rng.uniform([-3, 0.05], [3, 0.6]), 2))
        return {
            "x": x, "y": y, "w": w, "slope": slope, "grid": grid, "block": block, "count": count,
        }  # fmt: skip

    yield "whole blocks", case(block)
    yield "whole blocks", case(3 * block)
    yield "whole blocks", case(2 * block, extra=1)
    yield "ragged", case(1)
    yield "ragged", case(block - 1)
    yield "ragged", case(block + 1)
    yield "ragged", case(2 * block + int(rng.integers(2, block)), extra=2)
    for _ in range(2):
        yield "ragged", case(block * int(rng.integers(1, 4)) + int(rng.integers(1, block)))
    yield "traffic", case(2 * block, count=True)
    yield "traffic", case(block + int(rng.integers(1, block)), extra=1, count=True)


def _right(x, y, w, slope):
    v = w * x.astype(np.float64) + y
    return np.where(v > 0, v, slope * v).astype(np.float32)


def leaky_axpy_expected(x, y, w, slope, grid, block, count):
    return ... if count else _right(x, y, w, slope)


def leaky_axpy_holds(inputs, result):
    if not inputs["count"]:
        return
    right = _right(*(inputs[name] for name in ("x", "y", "w", "slope")))
    out = result["out"]
    if np.shape(out) != right.shape or not np.allclose(out, right, rtol=1e-4, atol=1e-5):
        yield "the values are wrong"
    for name, needed in (("x", right.size), ("y", right.size), ("out", 0)):
        loads = result["loads"][name]
        if not (isinstance(loads, int) and loads >= needed):
            yield f"fewer elements of `{name}` are loaded than are needed"
        elif loads > needed:
            yield f"{loads} elements of `{name}` are loaded; {needed} loads are enough"
    stores = result["stores"]
    if not (isinstance(stores, int) and stores >= right.size):
        yield "fewer elements are stored than `out` has"
    elif stores > right.size:
        yield f"{stores} elements are stored; {right.size} stores are enough"


def leaky_axpy_wrong_no_mask_at_the_store(x, y, out, n, w, slope, BLOCK: "tl.constexpr"):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = w * tl.load(x + i, mask=i < n, other=0.0) + tl.load(y + i, mask=i < n, other=0.0)
    tl.store(out + i, tl.where(v > 0, v, slope * v))


def leaky_axpy_wrong_no_mask_at_the_loads(x, y, out, n, w, slope, BLOCK: "tl.constexpr"):
    # The values are right wherever what lies behind the vectors can be read.
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = w * tl.load(x + i) + tl.load(y + i)
    tl.store(out + i, tl.where(v > 0, v, slope * v), mask=i < n)


def leaky_axpy_wrong_one_too_many(x, y, out, n, w, slope, BLOCK: "tl.constexpr"):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = w * tl.load(x + i, mask=i <= n) + tl.load(y + i, mask=i <= n)
    tl.store(out + i, tl.where(v > 0, v, slope * v), mask=i <= n)


def leaky_axpy_wrong_every_program_the_first_block(x, y, out, n, w, slope, BLOCK: "tl.constexpr"):
    i = tl.arange(0, BLOCK)
    v = w * tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n)
    tl.store(out + i, tl.where(v > 0, v, slope * v), mask=i < n)


def leaky_axpy_wrong_blocks_overlap(x, y, out, n, w, slope, BLOCK: "tl.constexpr"):
    i = tl.program_id(0) + tl.arange(0, BLOCK)
    v = w * tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n)
    tl.store(out + i, tl.where(v > 0, v, slope * v), mask=i < n)


def leaky_axpy_wrong_other_side(x, y, out, n, w, slope, BLOCK: "tl.constexpr"):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = w * tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n)
    tl.store(out + i, tl.where(v < 0, v, slope * v), mask=i < n)


def leaky_axpy_wrong_through_memory(x, y, out, n, w, slope, BLOCK: "tl.constexpr"):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, w * tl.load(x + i, mask=i < n), mask=i < n)
    tl.store(out + i, tl.load(out + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)
    v = tl.load(out + i, mask=i < n)
    tl.store(out + i, tl.where(v > 0, v, slope * v), mask=i < n)


def solve(given):
    """Goes through the lanes, and adds up the vectors that each kernel reads and writes."""
    n, block = given["n"], given["block"]
    first, idle = 0, 0
    while first < n:
        idle += sum(first + lane >= n for lane in range(block))
        first += block
    kernels = [("x", "t"), ("t", "y", "s"), ("s", "out")]
    vectors = sum(map(len, kernels)) - len({"x", "y", "out"})
    bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/s")
    per_element = sum(np.dtype(np.float32).itemsize for _ in ("x", "y", "out")) / bandwidth
    return {
        "masked_lanes": idle,
        "bytes_saved": vectors * given["millions"] * 4e6 / 1e9,
        "interpreted": "logic",  # what the cases above check without a GPU
        "free_arithmetic": per_element * given.fact(given["gpu"], "fp32", "FLOP/s"),
    }
