"""A grid-stride loop; the rounds are simulated for all threads."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grader.kinds.student_tools.cuda import cuda  # noqa: TC004  # the notebook has it from a cell


def add_scaled(a, x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] += a * x[i]


def add_scaled_right_while(a, x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < len(y):
        y[i] = y[i] + x[i] * a
        i += cuda.gridDim.x * cuda.blockDim.x


def add_scaled_right_by_rounds(a, x, y):
    n, step = x.shape[0], cuda.gridsize(1)
    rounds = (n + step - 1) // step
    for r in range(rounds):
        i = r * step + cuda.grid(1)
        if i < n:
            y[i] += a * x[i]


def add_scaled_expected(a, x, y, grid, block, count):
    return ... if count else (a * x.astype(np.float64) + y).astype(y.dtype)


def add_scaled_cases(rng, given):
    sizes = (2, 64), (3, 32), (3, 64), (4, 32), (5, 32), (5, 64), (6, 32), (7, 32)
    blocks, threads = sizes[int(rng.integers(len(sizes)))]
    total = blocks * threads

    def case(n, grid=blocks, block=threads, count=False):
        x, y = (rng.normal(size=n).astype(np.float32) for _ in range(2))
        a = float(rng.integers(2, 9))
        return {"a": a, "x": x, "y": y, "grid": grid, "block": block, "count": count}

    yield "small", case(1)
    yield "small", case(threads + 1)
    yield "small", case(total)
    yield "large", case(total + 1)
    yield "large", case(4 * total)
    yield "large", case(50, grid=1, block=7)
    for _ in range(3):
        yield "large", case(int(rng.integers(2, 5)) * total + int(rng.integers(2, total)))
    yield "sectors", case(4 * total, count=True)
    yield "sectors", case(2 * total + 8, count=True)


def add_scaled_holds(inputs, result):
    if inputs["count"]:
        wanted = inputs["a"] * inputs["x"] + inputs["y"]
        if np.shape(result["y"]) != wanted.shape or not np.allclose(result["y"], wanted, atol=1e-5):
            yield "the values are wrong"
        least, sectors = inputs["x"].nbytes // 32, result["sectors"]
        if not (isinstance(sectors, int) and sectors >= least):
            yield "the loads of `x` transfer fewer sectors than `x` occupies"
        elif sectors > least:
            yield f"the loads of `x` transfer {sectors} sectors, and {least} are enough"


def add_scaled_wrong_stride_of_a_block(a, x, y):
    for i in range(cuda.grid(1), x.size, cuda.blockDim.x):
        y[i] += a * x[i]


def add_scaled_wrong_one_round(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def add_scaled_wrong_starts_in_its_block(a, x, y):
    for i in range(cuda.threadIdx.x, x.size, cuda.gridsize(1)):
        y[i] += a * x[i]


def add_scaled_wrong_one_too_far(a, x, y):
    i = cuda.grid(1)
    while i <= x.size:
        y[i] += a * x[i]
        i += cuda.gridsize(1)


def add_scaled_wrong_stride_of_the_grid_in_blocks(a, x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridDim.x):
        y[i] += a * x[i]


def add_scaled_wrong_runs_of_neighbours(a, x, y):
    each = (x.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    first = cuda.grid(1) * each
    for i in range(first, min(first + each, x.size)):
        y[i] += a * x[i]


def solve(given):
    """Deal the elements out round by round; look up the sectors of all lanes."""
    blocks = int(given.fact(given["gpu"], "sms", "")) * given["per_sm"]
    block_of = np.repeat(np.arange(blocks), given["threads"])
    done = np.zeros(len(block_of), np.int64)
    left = given["millions"] * 1_000_000
    while left > 0:
        done[:left] += 1
        left -= len(done)
    thread = given["asked"]
    while thread >= len(done):
        thread -= len(done)
    sectors = {lane * given["run"] * 4 // 32 for lane in range(32)}
    return {
        "rounds": int(done.max()),
        "which_block": int(block_of[thread]),
        "contiguous": len(sectors),
    }
