"""A prefix sum in a block; the additions are counted in a simulated scan."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grader.kinds.student_tools.cuda import cuda  # noqa: TC004  # the notebook has it from a cell


def scan(x, out):
    s = cuda.shared.array((2, 128), np.int64)
    t, n = cuda.threadIdx.x, x.size
    s[0, t] = x[t - 1] if 0 < t <= n else 0
    old, k = 0, 1
    while k < n:
        cuda.syncthreads()
        s[1 - old, t] = s[old, t] + (s[old, t - k] if t >= k else 0)
        old, k = 1 - old, 2 * k
    if t < n:
        out[t] = s[old, t]


def scan_right_in_place(x, out):
    s = cuda.shared.array(128, np.int64)
    t, n = cuda.threadIdx.x, len(x)
    mine = 0
    if t < n:
        mine = x[t]
    s[t] = mine
    total = mine
    k = 1
    while k < cuda.blockDim.x:
        cuda.syncthreads()
        before = s[t - k] if t >= k else 0
        cuda.syncthreads()
        total = total + before
        s[t] = total
        k *= 2
    if t < n:
        out[t] = total - mine


def scan_right_two_sweeps(x, out):
    # Blelloch: sums up a tree, and down again what lies to the left.
    s = cuda.shared.array(128, np.int64)
    t, n, width = cuda.threadIdx.x, x.size, cuda.blockDim.x
    s[t] = x[t] if t < n else 0
    k = 1
    while k < width:
        cuda.syncthreads()
        right = (t + 1) * 2 * k - 1
        if right < width:
            s[right] += s[right - k]
        k *= 2
    cuda.syncthreads()
    if t == 0:
        s[width - 1] = 0
    k = width // 2
    while k >= 1:
        cuda.syncthreads()
        right = (t + 1) * 2 * k - 1
        if right < width:
            left = s[right - k]
            s[right - k] = s[right]
            s[right] += left
        k //= 2
    cuda.syncthreads()
    if t < n:
        out[t] = s[t]


def scan_right_runs(x, out):
    # The lanes of one warp have a run each; only the sums of the runs are scanned.
    s = cuda.shared.array((2, 32), np.int64)
    t, each = cuda.threadIdx.x, cuda.blockDim.x // 32
    total = 0
    if t < 32:
        for i in range(t * each, min((t + 1) * each, x.size)):
            total += x[i]
        s[0, t] = total
    known, old = total, 0
    for k in (1, 2, 4, 8, 16):
        cuda.syncthreads()
        if k <= t < 32:
            known += s[old, t - k]
        if t < 32 and k < 16:
            s[1 - old, t] = known
        old = 1 - old
    if t < 32:
        before = known - total
        for i in range(t * each, min((t + 1) * each, x.size)):
            out[i] = before
            before += x[i]


def scan_cases(rng, given):
    threads = given["threads"]

    def case(n, count=False):
        return {"x": rng.integers(-50, 100, n), "block": threads, "count": count}

    yield "full", case(threads)
    yield "full", {"x": np.ones(threads, np.int64), "block": threads, "count": False}
    large = rng.integers(2**20, 2**22, threads)  # odd sums that no float32 holds
    yield "full", {"x": large, "block": threads, "count": False}
    yield "short", case(1)
    yield "short", case(2)
    yield "short", case(int(rng.integers(5, 31)))
    yield "short", case(int(rng.integers(34, threads - 1)))
    yield "requests", case(threads, count=True)
    yield "requests", case(threads, count=True)


def scan_expected(x, block, count):
    return ... if count else np.concatenate([[0], np.cumsum(x)[:-1]]).astype(x.dtype)


def scan_holds(inputs, result):
    if not inputs["count"]:
        return
    x, warps = inputs["x"], inputs["block"] // 32
    most = 8 * warps * (6 if warps == 2 else 7)
    if not np.array_equal(result["out"], np.cumsum(x) - x):
        yield "the sums are wrong"
    requests, reads, others = (result[name] for name in ("requests", "reads", "others"))
    if not all(isinstance(one, int) for one in (requests, reads, others)):
        yield "a count is not an integer"
        return
    # With so few requests to `x`, more than 4 lanes read it; after a store, a load tells a thread
    # at most as much again as it knows.
    if requests < 4:
        yield "there are too few requests to shared memory"
    elif requests >= most:
        yield f"{requests} requests to shared memory, and fewer than {most} are allowed"
    if reads < len(x) - 1:  # the last is in no sum
        yield "not all of `x` is read"
    elif reads > 2 * len(x):
        yield f"{reads} elements of `x` are read, and at most {2 * len(x)} reads are allowed"
    if others < 2 * warps:
        yield "there are fewer requests to `x` and `out` than groups of 32 elements"
    elif others > len(x) // 4:
        yield f"there are {others} requests to `x` and `out`, and at most {len(x) // 4} are allowed"


def scan_wrong_inclusive(x, out):
    s = cuda.shared.array((2, 128), np.int64)
    t, n = cuda.threadIdx.x, x.size
    s[0, t] = x[t] if t < n else 0
    old, k = 0, 1
    while k < n:
        cuda.syncthreads()
        s[1 - old, t] = s[old, t] + (s[old, t - k] if t >= k else 0)
        old, k = 1 - old, 2 * k
    if t < n:
        out[t] = s[old, t]


def scan_wrong_in_place_with_one_barrier(x, out):
    s = cuda.shared.array(128, np.int64)
    t, n = cuda.threadIdx.x, x.size
    s[t] = x[t - 1] if 0 < t <= n else 0
    k = 1
    while k < n:
        cuda.syncthreads()
        if t >= k:
            s[t] += s[t - k]
        k *= 2
    if t < n:
        out[t] = s[t]


def scan_wrong_barrier_for_some(x, out):
    s = cuda.shared.array((2, 128), np.int64)
    t, n = cuda.threadIdx.x, x.size
    if t < n:
        s[0, t] = x[t - 1] if t > 0 else 0
        old, k = 0, 1
        while k < n:
            cuda.syncthreads()
            s[1 - old, t] = s[old, t] + (s[old, t - k] if t >= k else 0)
            old, k = 1 - old, 2 * k
        out[t] = s[old, t]


def scan_wrong_reads_outside(x, out):
    s = cuda.shared.array((2, 128), np.int64)
    t, n = cuda.threadIdx.x, x.size
    s[0, t] = x[t - 1] if t <= n else 0
    old, k = 0, 1
    while k < n:
        cuda.syncthreads()
        s[1 - old, t] = s[old, t] + (s[old, t - k] if t >= k else 0)
        old, k = 1 - old, 2 * k
    if t < n:
        out[t] = s[old, t]


def scan_wrong_one_thread(x, out):
    s = cuda.shared.array(128, np.int64)
    t, n = cuda.threadIdx.x, x.size
    s[t] = x[t] if t < n else 0
    cuda.syncthreads()
    if t == 0:
        total = 0
        for i in range(n):
            mine = s[i]
            s[i] = total
            total += mine
    cuda.syncthreads()
    if t < n:
        out[t] = s[t]


def scan_wrong_one_thread_alone(x, out):
    if cuda.threadIdx.x == 0:
        total = 0
        for i in range(x.size):
            out[i] = total
            total += x[i]


def scan_wrong_one_thread_writes_all(x, out):
    s = cuda.shared.array(128, np.int64)
    t, n = cuda.threadIdx.x, x.size
    s[t] = x[t] if t < n else 0
    cuda.syncthreads()
    if t == 0:
        total = 0
        for i in range(n):
            out[i] = total
            total += s[i]


def scan_wrong_each_thread_by_itself(x, out):
    s = cuda.shared.array(128, np.int64)
    t, n = cuda.threadIdx.x, x.size
    s[t] = x[t] if t < n else 0
    cuda.syncthreads()
    if t < n:
        total = 0
        for k in range(t):
            total += s[k]
        out[t] = total


def scan_wrong_without_shared_memory(x, out):
    t = cuda.threadIdx.x
    if t < x.size:
        total = 0
        for k in range(t):
            total += x[k]
        out[t] = total


def scan_right_by_multiples(x, out):
    # Two sweeps with the active threads spread over all warps.
    s = cuda.shared.array(128, np.int64)
    t, n, width = cuda.threadIdx.x, x.size, cuda.blockDim.x
    s[t] = x[t] if t < n else 0
    k = 1
    while k < width:
        cuda.syncthreads()
        if (t + 1) % (2 * k) == 0:
            s[t] += s[t - k]
        k *= 2
    cuda.syncthreads()
    if t == width - 1:
        s[t] = 0
    while k > 1:
        k //= 2
        cuda.syncthreads()
        if (t + 1) % (2 * k) == 0:
            left = s[t - k]
            s[t - k] = s[t]
            s[t] += left
    cuda.syncthreads()
    if t < n:
        out[t] = s[t]


def scan_wrong_single_precision(x, out):
    s = cuda.shared.array((2, 128), np.float32)
    t, n = cuda.threadIdx.x, x.size
    s[0, t] = x[t - 1] if 0 < t <= n else 0
    old, k = 0, 1
    while k < n:
        cuda.syncthreads()
        s[1 - old, t] = s[old, t] + (s[old, t - k] if t >= k else 0)
        old, k = 1 - old, 2 * k
    if t < n:
        out[t] = int(s[old, t])


def scan_wrong_a_step_too_few(x, out):
    s = cuda.shared.array((2, 128), np.int64)
    t, n = cuda.threadIdx.x, x.size
    s[0, t] = x[t - 1] if 0 < t <= n else 0
    old, k = 0, 1
    while 2 * k < n:
        cuda.syncthreads()
        s[1 - old, t] = s[old, t] + (s[old, t - k] if t >= k else 0)
        old, k = 1 - old, 2 * k
    if t < n:
        out[t] = s[old, t]


def solve(given):
    """Run the scan with one set per element, and note in which warps any thread adds."""
    n = given["n"]
    held = [{i} for i in range(n)]
    additions = issued = 0
    distance = 1
    while len(held[-1]) < n:
        adding = [i for i in range(n) if i - distance >= 0]
        additions += len(adding)
        issued += len({i // 32 for i in adding})
        held = [held[i] | held[i - distance] if i in adding else held[i] for i in range(n)]
        distance += distance
    return {"additions": additions, "warp_additions": issued}
