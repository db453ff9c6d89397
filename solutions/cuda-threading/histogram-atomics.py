"""A privatized histogram; the updates of an address are counted lane by lane."""

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grader.kinds.student_tools.cuda import cuda  # noqa: TC004  # the notebook has it from a cell


def histogram(values, counts):
    mine = cuda.shared.array(200, np.int64)
    for k in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        mine[k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, values[i], 1)
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        cuda.atomic.add(counts, k, mine[k])


def histogram_right_skips_empty_bins(values, counts):
    mine = cuda.shared.array((200,), np.int32)
    t, bins = cuda.threadIdx.x, counts.shape[0]
    k = t
    while k < bins:
        mine[k] = 0
        k += cuda.blockDim.x
    cuda.syncthreads()
    i = cuda.blockIdx.x * cuda.blockDim.x + t
    while i < len(values):
        value = values[i]
        cuda.atomic.add(mine, value, 1)
        i += cuda.blockDim.x * cuda.gridDim.x
    cuda.syncthreads()
    k = t
    while k < bins:
        if mine[k] > 0:
            cuda.atomic.add(counts, k, mine[k])
        k += cuda.blockDim.x


def histogram_right_by_bins(values, counts):
    # Each thread owns some bins and looks at all values of the block: no atomics in the block.
    each = (values.size + cuda.gridDim.x - 1) // cuda.gridDim.x
    first = cuda.blockIdx.x * each
    found = dict.fromkeys(range(cuda.threadIdx.x, counts.size, cuda.blockDim.x), 0)
    if not found:
        return
    for i in range(first, min(first + each, values.size)):
        value = values[i]
        if value in found:
            found[value] += 1
    for k, number in found.items():
        cuda.atomic.add(counts, k, number)


def histogram_cases(rng, given):
    threads, bins = given["threads"], given["bins"]

    def case(values, grid, count=False):
        values = np.asarray(values, dtype=np.int64)
        return {"values": values, "bins": bins, "grid": grid, "block": threads, "count": count}

    def some(n):
        return rng.integers(0, bins, n)

    yield "one block", case(some(1), 1)
    yield "one block", case(np.full(threads // 2, bins - 1), 1)
    yield "one block", case(some(2 * threads + 3), 1)
    yield "several blocks", case(some(threads // 3), 2)
    yield "several blocks", case(np.full(threads + 5, int(rng.integers(0, bins))), 2)
    yield "one block", case(np.full(300, int(rng.integers(0, bins))), 1)
    yield "several blocks", case(some(3 * threads), 3)
    yield "several blocks", case(some(3 * threads + int(rng.integers(1, threads))), 2)
    yield "atomics", case(some(4 * bins), 2, count=True)
    yield "atomics", case(some(2 * bins + 1), 1, count=True)


def histogram_expected(values, bins, grid, block, count):
    return ... if count else np.bincount(values, minlength=bins)


def histogram_holds(inputs, result):
    if not inputs["count"]:
        return
    most, atomics = inputs["grid"] * inputs["bins"], result["atomics"]
    right = np.bincount(inputs["values"], minlength=inputs["bins"])
    if not np.array_equal(result["counts"], right):
        yield "the counts are wrong"
    if not (isinstance(atomics, int) and atomics >= np.count_nonzero(right)):
        yield "there are fewer atomic operations on `counts` than nonempty bins"
    elif atomics > most:
        yield f"there are {atomics} atomic operations on `counts`, and at most {most} are allowed"


def histogram_wrong_eight_bits(values, counts):
    mine = cuda.shared.array(200, np.uint8)  # room for the largest
    for k in range(cuda.threadIdx.x, len(counts), cuda.blockDim.x):
        mine[k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), len(values), cuda.gridsize(1)):
        cuda.atomic.add(mine, values[i], 1)
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, len(counts), cuda.blockDim.x):
        cuda.atomic.add(counts, k, mine[k])


def histogram_wrong_no_atomics(values, counts):
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        counts[values[i]] += 1


def histogram_wrong_no_copy(values, counts):
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, values[i], 1)


def histogram_wrong_not_cleared(values, counts):
    mine = cuda.shared.array(200, np.int64)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, values[i], 1)
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        cuda.atomic.add(counts, k, mine[k])


def histogram_wrong_one_bin_a_thread(values, counts):
    mine = cuda.shared.array(200, np.int64)
    if cuda.threadIdx.x < counts.size:
        mine[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, values[i], 1)
    cuda.syncthreads()
    if cuda.threadIdx.x < counts.size:
        cuda.atomic.add(counts, cuda.threadIdx.x, mine[cuda.threadIdx.x])


def histogram_wrong_no_barrier_before_merging(values, counts):
    mine = cuda.shared.array(200, np.int64)
    for k in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        mine[k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, values[i], 1)
    for k in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        cuda.atomic.add(counts, k, mine[k])


def histogram_wrong_merged_without_atomics(values, counts):
    mine = cuda.shared.array(200, np.int64)
    for k in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        mine[k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, values[i], 1)
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        counts[k] += mine[k]


def histogram_wrong_all_threads_merge(values, counts):
    mine = cuda.shared.array(200, np.int64)
    for k in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        mine[k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, values[i], 1)
    cuda.syncthreads()
    for k in range(counts.size):
        cuda.atomic.add(counts, k, mine[k])


def solve(given):
    """Let the blocks merge bin by bin; draw the lanes' values so that each share is exact."""
    blocks = int(given.fact(given["gpu"], "sms", "")) * given["per_sm"]
    merged = sum(given["bins"] for _block in range(blocks))
    values = [0] * given["skew"] + [1] * (100 - given["skew"])
    warps = [[values[(7 * lane + start) % 100] for lane in range(32)] for start in range(100)]
    met = Counter(value for warp in warps for value in warp)
    # Where a memory is, who reaches it, and whether a kernel can write to it.
    spaces = {
        ("chip", "thread", "write"): "register",
        ("chip", "block", "write"): "shared",
        ("device", "thread", "write"): "local",
        ("device", "all", "write"): "global",
        ("device", "all", "read"): "constant",
    }
    needed = {
        "private": ("chip", "block", "write"),
        "counts": ("device", "all", "write"),
        "index": ("chip", "thread", "write"),
        "edges": ("device", "all", "read"),
        "spilled": ("device", "thread", "write"),
    }
    return {
        "fewer_atomics": given["millions"] * 1e6 / merged,
        "serial": met[0] / len(warps),
        "remedy": "run_length",
        "spaces": {item: spaces[what] for item, what in needed.items()},
    }
