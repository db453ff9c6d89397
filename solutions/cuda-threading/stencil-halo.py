"""A stencil from a tile with a halo; the reads are counted window by window."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grader.kinds.student_tools.cuda import cuda  # noqa: TC004  # the notebook has it from a cell


def stencil(x, w, out):
    tile = cuda.shared.array(76, np.float32)  # large enough for every variant
    t, width, around = cuda.threadIdx.x, cuda.blockDim.x, w.size - 1
    first = cuda.blockIdx.x * width
    for k in range(t, width + around, width):
        j = first + k - around // 2
        tile[k] = x[j] if 0 <= j < x.size else 0
    cuda.syncthreads()
    if first + t < x.size:
        total = 0.0
        for k in range(around + 1):
            total += w[k] * tile[t + k]
        out[first + t] = total


def stencil_right_halo_by_the_first_threads(x, w, out):
    tile = cuda.shared.array(76, np.float32)
    r = w.shape[0] // 2
    t, i, n = cuda.threadIdx.x, cuda.grid(1), len(x)
    tile[r + t] = x[i] if i < n else 0
    if t < r:
        left, right = i - r, i + cuda.blockDim.x
        tile[t] = x[left] if left >= 0 else 0
        tile[r + cuda.blockDim.x + t] = x[right] if right < n else 0
    cuda.syncthreads()
    if i >= n:
        return
    value = np.float32(0)
    for k in range(-r, r + 1):
        value += w[r + k] * tile[r + t + k]
    out[i] = value


def stencil_right_no_zeros(x, w, out):
    # Nothing is put beyond the ends; the sum leaves it out.
    tile = cuda.shared.array(76, np.float32)
    r = (w.size - 1) // 2
    t, width, n = cuda.threadIdx.x, cuda.blockDim.x, x.size
    first = cuda.blockIdx.x * width
    k = t
    while k < width + 2 * r:
        j = first - r + k
        if j >= 0 and j < n:
            tile[k] = x[j]
        k += width
    cuda.syncthreads()
    i = first + t
    if i < n:
        total = 0.0
        for j in range(max(0, i - r), min(n, i + r + 1)):
            total += w[j - i + r] * tile[j - first + r]
        out[i] = total


def stencil_cases(rng, given):
    radius, threads = given["radius"], given["threads"]

    def case(n, count=False):
        x, w = (rng.normal(size=k).astype(np.float32) for k in (n, 2 * radius + 1))
        return {"x": x, "w": w, "grid": -(-n // threads), "block": threads, "count": count}

    yield "one block", case(1)
    yield "one block", case(threads)
    yield "one block", case(int(rng.integers(2, threads)))
    yield "several blocks", case(2 * threads)
    yield "several blocks", case(threads + 1)
    yield "several blocks", case(2 * threads + int(rng.integers(1, threads)))
    yield "reads", case(3 * threads, count=True)
    yield "reads", case(2 * threads - 1, count=True)


def stencil_expected(x, w, grid, block, count):
    wide = np.convolve(x.astype(np.float64), w[::-1].astype(np.float64))
    radius = len(w) // 2
    return ... if count else wide[radius : radius + len(x)].astype(x.dtype)


def stencil_holds(inputs, result):
    if not inputs["count"]:
        return
    x, w = inputs["x"], inputs["w"]
    radius = len(w) // 2
    wanted = np.convolve(x, w[::-1])[radius : radius + len(x)]
    out = result["out"]
    if np.shape(out) != wanted.shape or not np.allclose(out, wanted, rtol=1e-4, atol=1e-4):
        yield "the values are wrong"
    most, reads = len(x) + 2 * radius * (inputs["grid"] - 1), result["reads"]
    if not (isinstance(reads, int) and reads >= len(x)):
        yield "`x` is read fewer times than it has elements"
    elif reads > most:
        yield f"{reads} elements of `x` are read, and {most} reads are enough"


def stencil_wrong_no_tile(x, w, out):
    i, r = cuda.grid(1), w.size // 2
    if i < x.size:
        total = 0.0
        for k in range(w.size):
            if 0 <= i - r + k < x.size:
                total += w[k] * x[i - r + k]
        out[i] = total


def stencil_wrong_no_barrier(x, w, out):
    tile = cuda.shared.array(76, np.float32)
    t, width, around = cuda.threadIdx.x, cuda.blockDim.x, w.size - 1
    first = cuda.blockIdx.x * width
    for k in range(t, width + around, width):
        j = first + k - around // 2
        tile[k] = x[j] if 0 <= j < x.size else 0
    if first + t < x.size:
        total = 0.0
        for k in range(around + 1):
            total += w[k] * tile[t + k]
        out[first + t] = total


def stencil_wrong_no_halo(x, w, out):
    tile = cuda.shared.array(76, np.float32)
    t, i, r = cuda.threadIdx.x, cuda.grid(1), w.size // 2
    tile[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if i < x.size:
        total = 0.0
        for k in range(w.size):
            if 0 <= t - r + k < cuda.blockDim.x:
                total += w[k] * tile[t - r + k]
        out[i] = total


def stencil_wrong_reads_beyond_the_ends(x, w, out):
    tile = cuda.shared.array(76, np.float32)
    t, width, around = cuda.threadIdx.x, cuda.blockDim.x, w.size - 1
    first = cuda.blockIdx.x * width
    for k in range(t, width + around, width):
        tile[k] = x[first + k - around // 2]
    cuda.syncthreads()
    if first + t < x.size:
        total = 0.0
        for k in range(around + 1):
            total += w[k] * tile[t + k]
        out[first + t] = total


def stencil_wrong_returns_before_the_barrier(x, w, out):
    tile = cuda.shared.array(76, np.float32)
    t, width, around = cuda.threadIdx.x, cuda.blockDim.x, w.size - 1
    first = cuda.blockIdx.x * width
    if first + t >= x.size:
        return
    for k in range(t, width + around, width):
        j = first + k - around // 2
        tile[k] = x[j] if 0 <= j < x.size else 0
    cuda.syncthreads()
    total = 0.0
    for k in range(around + 1):
        total += w[k] * tile[t + k]
    out[first + t] = total


def stencil_wrong_ends_left_unset(x, w, out):
    tile = cuda.shared.array(76, np.float32)
    t, width, around = cuda.threadIdx.x, cuda.blockDim.x, w.size - 1
    first = cuda.blockIdx.x * width
    for k in range(t, width + around, width):
        j = first + k - around // 2
        if 0 <= j < x.size:
            tile[k] = x[j]
    cuda.syncthreads()
    if first + t < x.size:
        total = 0.0
        for k in range(around + 1):
            total += w[k] * tile[t + k]
        out[first + t] = total


def solve(given):
    """Clip each output's window, and each block's, at the ends."""
    r, width, n = given["radius"], given["large"], given["blocks"] * given["large"]
    i = np.arange(n)
    without = int((np.minimum(n, i + r + 1) - np.maximum(0, i - r)).sum())
    within = sum(min(n, first + width + r) - max(0, first - r) for first in range(0, n, width))
    smallest = 1
    while True:
        read = range(-r, smallest + r)
        halo = sum(not 0 <= i < smallest for i in read)
        if 100 * halo <= given["percent"] * len(read):
            break
        smallest *= 2
    return {"reads_without": without, "reads_with": within, "smallest_block": smallest}
