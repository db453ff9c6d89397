"""A tiled product (with shared arrays that are large enough for every variant); every block fetches its tiles and counts."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grader.kinds.student_tools.cuda import cuda  # noqa: TC004  # the notebook has it from a cell


def matmul(a, b, c):
    size = cuda.blockDim.x
    sa = cuda.shared.array((8, 8), np.float32)
    sb = cuda.shared.array((8, 8), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, a.shape[1], size):
        inside = row < a.shape[0] and start + x < a.shape[1]
        sa[y, x] = a[row, start + x] if inside else 0
        inside = start + y < b.shape[0] and column < b.shape[1]
        sb[y, x] = b[start + y, column] if inside else 0
        cuda.syncthreads()
        for k in range(size):
            total += sa[y, k] * sb[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def matmul_right_short_inner_loop(a, b, c):
    # No zeros: the inner loop stops where the tile does.
    size = cuda.blockDim.x
    left = cuda.shared.array(64, np.float32)
    right = cuda.shared.array(64, np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.blockIdx.y * size + y, cuda.blockIdx.x * size + x
    total = 0.0
    for t in range((a.shape[1] + size - 1) // size):
        k = t * size
        if t > 0:
            cuda.syncthreads()
        if i < a.shape[0] and k + x < a.shape[1]:
            left[y * size + x] = a[i, k + x]
        if j < b.shape[1] and k + y < b.shape[0]:
            right[y * size + x] = b[k + y, j]
        cuda.syncthreads()
        if i < c.shape[0] and j < c.shape[1]:
            for m in range(min(size, a.shape[1] - k)):
                total += left[y * size + m] * right[m * size + x]
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


def matmul_right_two_buffers(a, b, c):
    # The next pair goes into the other buffer, so one barrier for each pair is enough.
    size = cuda.blockDim.x
    sa = cuda.shared.array((2, 8, 8), np.float32)
    sb = cuda.shared.array((2, 8, 8), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total, turn = 0.0, 0
    for start in range(0, a.shape[1], size):
        sa[turn, x, y] = 0.0
        sb[turn, y, x] = 0.0
        if row < a.shape[0] and start + x < a.shape[1]:
            sa[turn, x, y] = a[row, start + x]
        if start + y < b.shape[0] and column < b.shape[1]:
            sb[turn, y, x] = b[start + y, column]
        cuda.syncthreads()
        for k in range(size):
            total += sa[turn, k, y] * sb[turn, k, x]
        turn = 1 - turn
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def matmul_cases(rng, given):
    tile = given["tile"]

    def case(rows, inner, columns, count=False):
        a, b = (rng.normal(size=s).astype(np.float32) for s in ((rows, inner), (inner, columns)))
        grid = (-(-columns // tile), -(-rows // tile))
        return {"a": a, "b": b, "grid": grid, "block": (tile, tile), "count": count}

    yield "whole tiles", case(tile, tile, tile)
    yield "whole tiles", case(tile, 3 * tile, tile)
    yield "whole tiles", case(2 * tile, 2 * tile, tile)
    yield "ragged", case(1, 1, 1)
    yield "ragged", case(1, 2 * tile + 1, 2)
    yield "ragged", case(tile + 1, 2, tile - 1)
    for _ in range(2):
        sizes = rng.integers(1, tile, size=3)
        yield "ragged", case(int(sizes[0]), tile + int(sizes[1]), tile + int(sizes[2]))
    yield "reads", case(tile, 2 * tile, 2 * tile, count=True)
    yield "reads", case(tile + 1, tile - 1, tile, count=True)


def matmul_expected(a, b, grid, block, count):
    return ... if count else (a.astype(np.float64) @ b).astype(a.dtype)


def matmul_holds(inputs, result):
    if not inputs["count"]:
        return
    a, b = inputs["a"], inputs["b"]
    across, down = inputs["grid"]
    c, wanted = result["c"], a @ b
    if np.shape(c) != wanted.shape or not np.allclose(c, wanted, rtol=1e-4, atol=1e-4):
        yield "the values are wrong"
    for name, least, most in (("a", a.size, a.size * across), ("b", b.size, b.size * down)):
        if not (isinstance(result[name], int) and result[name] >= least):
            yield f"`{name}` is read fewer times than it has elements"
        elif result[name] > most:
            yield f"{result[name]} elements of `{name}` are read, and {most} reads are enough"


def matmul_wrong_straight_from_memory(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


def matmul_wrong_one_barrier(a, b, c):
    size = cuda.blockDim.x
    sa = cuda.shared.array((8, 8), np.float32)
    sb = cuda.shared.array((8, 8), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = 0.0
    for start in range(0, a.shape[1], size):
        inside = row < a.shape[0] and start + x < a.shape[1]
        sa[y, x] = a[row, start + x] if inside else 0
        inside = start + y < b.shape[0] and column < b.shape[1]
        sb[y, x] = b[start + y, column] if inside else 0
        cuda.syncthreads()
        for k in range(size):
            total += sa[y, k] * sb[k, x]
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def matmul_wrong_barrier_after_only(a, b, c):
    size = cuda.blockDim.x
    sa = cuda.shared.array((8, 8), np.float32)
    sb = cuda.shared.array((8, 8), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = 0.0
    for start in range(0, a.shape[1], size):
        inside = row < a.shape[0] and start + x < a.shape[1]
        sa[y, x] = a[row, start + x] if inside else 0
        inside = start + y < b.shape[0] and column < b.shape[1]
        sb[y, x] = b[start + y, column] if inside else 0
        for k in range(size):
            total += sa[y, k] * sb[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def matmul_wrong_guard_around_all(a, b, c):
    size = cuda.blockDim.x
    sa = cuda.shared.array((8, 8), np.float32)
    sb = cuda.shared.array((8, 8), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = 0.0
        for start in range(0, a.shape[1], size):
            sa[y, x] = a[row, start + x] if start + x < a.shape[1] else 0
            sb[y, x] = b[start + y, column] if start + y < b.shape[0] else 0
            cuda.syncthreads()
            for k in range(size):
                total += sa[y, k] * sb[k, x]
            cuda.syncthreads()
        c[row, column] = total


def matmul_wrong_no_guard(a, b, c):
    size = cuda.blockDim.x
    sa = cuda.shared.array((8, 8), np.float32)
    sb = cuda.shared.array((8, 8), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = 0.0
    for start in range(0, a.shape[1], size):
        sa[y, x] = a[row, start + x]
        sb[y, x] = b[start + y, column]
        cuda.syncthreads()
        for k in range(size):
            total += sa[y, k] * sb[k, x]
        cuda.syncthreads()
    c[row, column] = total


def matmul_wrong_drops_the_last_tile(a, b, c):
    size = cuda.blockDim.x
    sa = cuda.shared.array((8, 8), np.float32)
    sb = cuda.shared.array((8, 8), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = 0.0
    for t in range(a.shape[1] // size):
        sa[y, x] = a[row, t * size + x] if row < a.shape[0] else 0
        sb[y, x] = b[t * size + y, column] if column < b.shape[1] else 0
        cuda.syncthreads()
        for k in range(size):
            total += sa[y, k] * sb[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def solve(given):
    """Let each block fetch its tiles of both matrices and count; try tile sizes on a roofline."""
    n, wide = given["n"], given["tiles_wide"]
    fetched = 0
    for _block in range((n // wide) ** 2):
        fetched += n // wide * (wide * wide + wide * wide)
    peak = given.fact(given["gpu"], "fp32", "FLOP/s")
    bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/s")
    tile = 1
    while 2 * 4 * tile * tile / bandwidth > 2 * tile**3 / peak:  # one pair of tiles
        tile *= 2
    outputs = 1
    while tile * tile > 1024 * outputs:
        outputs += 1
    return {
        "bytes_read": fetched * 4 / 1e9,
        "intensity": 2 * n**3 / (fetched * 4),
        "smallest_tile": tile,
        "outputs_per_thread": outputs,
    }
