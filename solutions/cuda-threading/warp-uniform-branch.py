"""Elements assigned to threads by kind; cycles and sectors are counted lane by lane."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grader.kinds.student_tools.cuda import cuda  # noqa: TC004  # the notebook has it from a cell


def becomes(kind, x):
    """Transform an element; a device function."""
    if kind == 0:
        return x * x
    if kind == 1:
        return -x
    if kind == 2:
        return x + 1
    return 2 * x


def by_kind(x, out, kinds):
    each = cuda.blockDim.x // kinds
    kind, place = cuda.threadIdx.x // each, cuda.threadIdx.x % each
    i = cuda.blockIdx.x * cuda.blockDim.x + place * kinds + kind
    if i < x.size:
        out[i] = becomes(kind, x[i])


def by_kind_right_by_warps(x, out, kinds):
    # The warps take turns: warp w has kind w % kinds.
    warp, lane = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    kind = warp % kinds
    i = cuda.blockIdx.x * cuda.blockDim.x + (warp // kinds * 32 + lane) * kinds + kind
    if i >= len(x):
        return
    v = x[i]
    if kind == 0:
        out[i] = v * v
    elif kind == 1:
        out[i] = -v
    elif kind == 2:
        out[i] = v + 1
    else:
        out[i] = v + v


def by_kind_right_without_branches(x, out, kinds):
    i = cuda.grid(1)
    if i < x.shape[0]:
        kind, v = i % kinds, x[i]
        rest = (kind == 2) * (v + 1) + (kind == 3) * 2 * v
        out[i] = (kind == 0) * v * v - (kind == 1) * v + rest


def by_kind_cases(rng, given):
    kinds, threads = given["kinds"], 32 * given["kinds"] * given["groups"]

    def case(n, count=False, block=threads):
        x = rng.normal(size=n).astype(np.float32)
        grid = -(-n // block)
        return {"x": x, "kinds": kinds, "grid": grid, "block": block, "count": count}

    yield "full blocks", case(threads)
    yield "full blocks", case(2 * threads)
    yield "full blocks", case(192 * kinds, block=96 * kinds)
    yield "last block", case(1)
    yield "last block", case(threads - 1)
    yield "last block", case(threads + int(rng.integers(2, threads)))
    yield "decisions", case(threads, count=True)
    yield "decisions", case(2 * threads, count=True)
    yield "decisions", case(96 * kinds, count=True, block=96 * kinds)


def by_kind_expected(x, kinds, grid, block, count):
    kind, wide = np.arange(len(x)) % kinds, x.astype(np.float64)
    chosen = np.choose(kind, [wide * wide, -wide, wide + 1, 2 * wide])
    return ... if count else chosen.astype(x.dtype)


def by_kind_holds(inputs, result):
    if not inputs["count"]:
        return
    x = inputs["x"]
    kind = np.arange(len(x)) % inputs["kinds"]
    wanted = np.choose(kind, [x * x, -x, x + 1, 2 * x])
    if np.shape(result["out"]) != wanted.shape or not np.allclose(result["out"], wanted, atol=1e-5):
        yield "the values are wrong"
    divergent = result["divergent"]
    if not (isinstance(divergent, int) and divergent >= 0):
        yield "the number of divergent decisions is not a count"
    elif divergent:
        yield f"{divergent} decisions of warps are divergent"


def by_kind_wrong_as_they_come(x, out, kinds):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = becomes(i % kinds, x[i])


def by_kind_wrong_half_warps(x, out, kinds):
    # Runs of 16 threads are too short: two kinds meet in a warp.
    run, place = cuda.threadIdx.x // 16, cuda.threadIdx.x % 16
    kind = run % kinds
    i = cuda.blockIdx.x * cuda.blockDim.x + (run // kinds * 16 + place) * kinds + kind
    if i < x.size:
        out[i] = becomes(kind, x[i])


def by_kind_wrong_forgets_to_move(x, out, kinds):
    # The kind is that of the warp, but the element is the old one.
    i = cuda.grid(1)
    if i < x.size:
        out[i] = becomes(cuda.threadIdx.x // 32 % kinds, x[i])


def by_kind_wrong_no_guard(x, out, kinds):
    each = cuda.blockDim.x // kinds
    kind, place = cuda.threadIdx.x // each, cuda.threadIdx.x % each
    i = cuda.blockIdx.x * cuda.blockDim.x + place * kinds + kind
    out[i] = becomes(kind, x[i])


def by_kind_wrong_for_one_size(x, out, kinds):
    kind, place = cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    i = cuda.blockIdx.x * cuda.blockDim.x + place * kinds + kind
    if i < x.size and kind < kinds:
        out[i] = becomes(kind, x[i])


def by_kind_wrong_leaves_the_block(x, out, kinds):
    each = cuda.gridsize(1) // kinds
    kind, place = cuda.grid(1) // each, cuda.grid(1) % each
    i = place * kinds + kind
    if i < x.size and cuda.gridDim.x == 1:
        out[i] = becomes(kind, x[i])


def solve(given):
    """Give every thread an element, and charge each warp the kinds of its lanes."""
    kinds, groups = given["kinds"], given["groups"]
    threads = 32 * kinds * groups
    price = [given["first"]] + [given["others"]] * (kinds - 1)

    def cycles(element_of):
        warps = [[element_of(32 * w + lane) for lane in range(32)] for w in range(threads // 32)]
        return sum(price[k] for warp in warps for k in {i % kinds for i in warp})

    by_kind_first = sorted(range(threads), key=lambda i: (i % kinds, i))

    def sectors(element_of):
        """Sectors that all warps access in a vector."""
        lanes = [[element_of(w + lane) for lane in range(32)] for w in range(0, threads, 32)]
        return sum(len({4 * i // 32 for i in warp}) for warp in lanes)

    saved = cycles(lambda t: t) - cycles(by_kind_first.__getitem__)
    more = sectors(by_kind_first.__getitem__) - sectors(lambda t: t)
    low, high = 0.0, 1000.0  # cycles per sector; the kernels read and write
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if saved > 2 * more * middle else (low, middle)
    return {
        "cycles_mixed": cycles(lambda t: t),
        "cycles_uniform": cycles(by_kind_first.__getitem__),
        "price": len({4 * i // 32 for i in by_kind_first[:32]}),
        "break_even": low,
    }
