"""A sum over a block; warps and banks are counted lane by lane."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grader.kinds.student_tools.cuda import cuda  # noqa: TC004  # the notebook has it from a cell


def block_sum(x, out):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    d = cuda.blockDim.x // 2
    while d > 0:
        cuda.syncthreads()
        if t < d:
            s[t] += s[t + d]
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def block_sum_right_in_a_register(x, out):
    s = cuda.shared.array(256, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    here = cuda.blockIdx.x * n + t
    mine = np.float32(0)
    if here < x.shape[0]:
        mine = x[here]
    s[t] = mine
    cuda.syncthreads()
    half = n >> 1
    while half:
        if t < half:
            mine += s[t + half]
            s[t] = mine
        cuda.syncthreads()
        half >>= 1
    if t == 0:
        out[cuda.blockIdx.x] = mine


def block_sum_right_last_warp_first(x, out):
    # The first warp gathers a column each, and then adds in pairs.
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    s[t] = 0
    if cuda.grid(1) < len(x):
        s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    total = np.float32(0)
    if t < 32:
        for k in range(t, cuda.blockDim.x, 32):
            total += s[k]
    cuda.syncthreads()
    if t < 32:
        s[t] = total
    for level in range(5):
        d = 16 >> level
        cuda.syncthreads()
        if t < d:
            s[t] = s[t] + s[t + d]
    cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def block_sum_right_sums_on_the_way(x, out):
    # One warp reads all, each lane a column, and then adds in pairs what is in registers.
    s = cuda.shared.array(32, np.float32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    mine = np.float32(0)
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


def block_sum_right_pairs_on_the_way(x, out):
    s = cuda.shared.array(128, np.float32)
    t, i, half = cuda.threadIdx.x, cuda.grid(1), cuda.blockDim.x // 2
    if t < half:
        s[t] = (x[i] if i < x.size else 0) + (x[i + half] if i + half < x.size else 0)
    while half > 1:
        half >>= 1
        cuda.syncthreads()
        if t < half:
            s[t] += s[t + half]
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def block_sum_cases(rng, given):
    threads = given["threads"]

    def case(n, count=False):
        x = rng.normal(size=n).astype(np.float32)
        return {"x": x, "grid": -(-n // threads), "block": threads, "count": count}

    yield "full blocks", case(threads)
    yield "full blocks", case(2 * threads)
    yield "partial blocks", case(1)
    yield "partial blocks", case(threads // 2)
    yield "partial blocks", case(threads + 1)
    yield "partial blocks", case(threads + int(rng.integers(2, threads)))
    yield "passes", case(threads, count=True)
    yield "passes", case(threads, count=True)


def block_sum_expected(x, grid, block, count):
    wide = np.zeros(grid * block)
    wide[: len(x)] = x
    return ... if count else wide.reshape(grid, block).sum(1).astype(x.dtype)


def block_sum_holds(inputs, result):
    if not inputs["count"]:
        return
    n, out, passes, reads = inputs["block"], result["out"], result["passes"], result["reads"]
    total = inputs["x"].sum(dtype=np.float64)
    if np.shape(out) != (1,) or not np.allclose(out, total, rtol=1e-4, atol=1e-4):
        yield "the values are wrong"
    # With so few requests to `x`, 8 lanes or more read it; after a store, a load tells a thread
    # at most as much again as it knows.
    least, most = 4, 5 * (n // 32) + 20
    if not (isinstance(passes, int) and passes >= least):
        yield (
            "shared memory is not used"
            if passes == 0
            else "there are too few passes of shared memory"
        )
    elif passes > most:
        yield f"there are {passes} passes of shared memory, and at most {most} are allowed"
    if not (isinstance(reads, int) and reads >= n // 32):
        yield "there are fewer requests to `x` than groups of 32 elements"
    elif reads > n // 8:
        yield f"there are {reads} requests to `x`, and at most {n // 8} are allowed"


def block_sum_wrong_no_barrier(x, out):
    s = cuda.shared.array(256, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    d = cuda.blockDim.x // 2
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def block_sum_wrong_barrier_among_the_active(x, out):
    s = cuda.shared.array(256, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    d = cuda.blockDim.x // 2
    while d > 0:
        if t < d:
            s[t] += s[t + d]
            cuda.syncthreads()
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def block_sum_wrong_no_guard(x, out):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    d = cuda.blockDim.x // 2
    while d > 0:
        cuda.syncthreads()
        if t < d:
            s[t] += s[t + d]
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def block_sum_wrong_leaves_the_rest_unset(x, out):
    s = cuda.shared.array(256, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < x.size:
        s[t] = x[i]
    d = cuda.blockDim.x // 2
    while d > 0:
        cuda.syncthreads()
        if t < d:
            s[t] += s[t + d]
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def block_sum_wrong_spread_out(x, out):
    s = cuda.shared.array(256, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    d = 1
    while d < cuda.blockDim.x:
        cuda.syncthreads()
        if t % (2 * d) == 0:
            s[t] += s[t + d]
        d *= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def block_sum_wrong_one_thread_adds(x, out):
    s = cuda.shared.array(256, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if t == 0:
        total = np.float32(0)
        for k in range(cuda.blockDim.x):
            total += s[k]
        out[cuda.blockIdx.x] = total


def block_sum_wrong_one_thread_alone(x, out):
    """One thread adds everything, and only looks as if it used shared memory."""
    s = cuda.shared.array(256, np.float32)
    b, t, n = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    if t == 0:
        total = np.float32(0)
        for i in range(b * n, min(b * n + n, x.size)):
            total += x[i]
        for _ in range(6):
            s[0] = total
            total = s[0]
        out[b] = total


def block_sum_wrong_without_shared_memory(x, out):
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    if t == 0:
        total = np.float32(0)
        for i in range(cuda.grid(1), min(cuda.grid(1) + n, x.size)):
            total += x[i]
        out[cuda.blockIdx.x] = total


def block_sum_wrong_stops_early(x, out):
    s = cuda.shared.array(256, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    d = cuda.blockDim.x // 2
    while d > 1:
        cuda.syncthreads()
        if t < d:
            s[t] += s[t + d]
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def solve(given):
    """Look at every thread and every lane."""
    threads = given["threads"]
    rows = []
    for d in (threads // 2, 16, given["stride"], 1):
        spread = {t // 32 for t in range(threads) if t % (2 * d) == 0}
        packed = {t // 32 for t in range(threads) if t < d}
        rows.append([len(spread), len(packed)])
    d = given["stride"]
    banks = {}
    for lane in range(32):
        banks.setdefault(2 * d * lane % 32, set()).add(2 * d * lane)

    left, blocks = given["elements"], 0
    while left > 1:
        left = len(range(0, left, threads))
        blocks += left
    return {
        "active_warps": rows,
        "conflicts": max(map(len, banks.values())),
        "all_blocks": blocks,
    }
