"""Transpose with a padded tile; the sectors are counted address by address."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grader.kinds.student_tools.cuda import cuda  # noqa: TC004  # the notebook has it from a cell


def transpose(a, out):
    tile = cuda.shared.array((32, 33), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = 32 * cuda.blockIdx.x, 32 * cuda.blockIdx.y
    for r in range(y, 32, cuda.blockDim.y):
        if top + r < a.shape[0] and left + x < a.shape[1]:
            tile[r, x] = a[top + r, left + x]
    cuda.syncthreads()
    for r in range(y, 32, cuda.blockDim.y):
        if left + r < a.shape[1] and top + x < a.shape[0]:
            out[left + r, top + x] = tile[x, r]


def transpose_right_turned_columns(a, out):
    # No padding: element (r, c) stands in column r ^ c, so a column is spread over all banks.
    tile = cuda.shared.array(1024, np.float32)
    rows, columns = a.shape
    x = cuda.threadIdx.x
    r = cuda.threadIdx.y
    while r < 32:
        i, j = cuda.blockIdx.y * 32 + r, cuda.blockIdx.x * 32 + x
        if i < rows and j < columns:
            tile[32 * r + (r ^ x)] = a[i, j]
        r += cuda.blockDim.y
    cuda.syncthreads()
    r = cuda.threadIdx.y
    while r < 32:
        i, j = cuda.blockIdx.y * 32 + x, cuda.blockIdx.x * 32 + r
        if i < rows and j < columns:
            out[j, i] = tile[32 * x + (r ^ x)]
        r += cuda.blockDim.y


def transpose_right_turned_first(a, out):
    # Written transposed, read straight.
    tile = cuda.shared.array((32, 33), np.float32)
    j, i = cuda.blockIdx.x * 32 + cuda.threadIdx.x, cuda.blockIdx.y * 32 + cuda.threadIdx.y
    steps = 32 // cuda.blockDim.y
    for k in range(steps):
        down = k * cuda.blockDim.y
        if i + down < a.shape[0] and j < a.shape[1]:
            tile[cuda.threadIdx.x][cuda.threadIdx.y + down] = a[i + down][j]
    cuda.syncthreads()
    j, i = cuda.blockIdx.y * 32 + cuda.threadIdx.x, cuda.blockIdx.x * 32 + cuda.threadIdx.y
    for k in range(steps):
        down = k * cuda.blockDim.y
        if i + down < out.shape[0] and j < out.shape[1]:
            out[i + down][j] = tile[cuda.threadIdx.y + down][cuda.threadIdx.x]


def transpose_cases(rng, given):
    def case(rows, columns, look=""):
        a = rng.normal(size=(rows, columns)).astype(np.float32)
        grid = (-(-columns // 32), -(-rows // 32))
        return {"a": a, "grid": grid, "block": (32, given["high"]), "look": look}

    yield "one tile", case(1, 1)
    yield "one tile", case(32, 32)
    yield "one tile", case(int(rng.integers(2, 31)), 1)
    yield "one tile", case(int(rng.integers(2, 15)), int(rng.integers(17, 31)))
    yield "several tiles", case(int(rng.integers(33, 40)), 5)
    yield "several tiles", case(9, int(rng.integers(65, 80)))
    yield "several tiles", case(40, int(rng.integers(33, 39)))
    yield "sectors", case(32, 32, "sectors")
    yield "sectors", case(32, 64, "sectors")
    yield "banks", case(32, 32, "banks")


def transpose_expected(a, grid, block, look):
    return ... if look else np.ascontiguousarray(a.T)


def transpose_holds(inputs, result):
    a, look = inputs["a"], inputs["look"]
    if look:
        if not np.array_equal(result["out"], a.T):
            yield "the values are wrong"
        sectors, used, conflicts = (result[name] for name in ("sectors", "used", "conflicts"))
        if not all(isinstance(one, int) and one >= 0 for one in (sectors, used, conflicts)):
            yield "a count is not a whole number"
            return
        least = 2 * a.nbytes // 32
        # Of a tile, all but the diagonal changes hands: at best 32 lanes at a time, there and back.
        through = 2 * -(-a.size * 31 // 32 // 32)
        if sectors < least:
            yield "fewer sectors are transferred than both matrices have"
        elif look == "sectors" and sectors > least:
            yield f"{sectors} sectors are transferred, and {least} are enough"
        if look == "banks" and not used:
            yield "shared memory is not used"
        elif look == "banks" and used < through:
            yield "a part of the matrix does not pass through shared memory"
        if look == "banks" and conflicts > 0:
            yield f"bank conflicts cost {conflicts} additional passes"


def transpose_wrong_direct(a, out):
    j = 32 * cuda.blockIdx.x + cuda.threadIdx.x
    for r in range(cuda.threadIdx.y, 32, cuda.blockDim.y):
        i = 32 * cuda.blockIdx.y + r
        if i < a.shape[0] and j < a.shape[1]:
            out[j, i] = a[i, j]


def transpose_wrong_no_padding(a, out):
    tile = cuda.shared.array((32, 32), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = 32 * cuda.blockIdx.x, 32 * cuda.blockIdx.y
    for r in range(y, 32, cuda.blockDim.y):
        if top + r < a.shape[0] and left + x < a.shape[1]:
            tile[r, x] = a[top + r, left + x]
    cuda.syncthreads()
    for r in range(y, 32, cuda.blockDim.y):
        if left + r < a.shape[1] and top + x < a.shape[0]:
            out[left + r, top + x] = tile[x, r]


def transpose_wrong_no_barrier(a, out):
    tile = cuda.shared.array((32, 33), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = 32 * cuda.blockIdx.x, 32 * cuda.blockIdx.y
    for r in range(y, 32, cuda.blockDim.y):
        if top + r < a.shape[0] and left + x < a.shape[1]:
            tile[r, x] = a[top + r, left + x]
    for r in range(y, 32, cuda.blockDim.y):
        if left + r < a.shape[1] and top + x < a.shape[0]:
            out[left + r, top + x] = tile[x, r]


def transpose_wrong_block_in_its_old_place(a, out):
    tile = cuda.shared.array((32, 33), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = 32 * cuda.blockIdx.x, 32 * cuda.blockIdx.y
    for r in range(y, 32, cuda.blockDim.y):
        if top + r < a.shape[0] and left + x < a.shape[1]:
            tile[r, x] = a[top + r, left + x]
    cuda.syncthreads()
    for r in range(y, 32, cuda.blockDim.y):
        if top + r < out.shape[0] and left + x < out.shape[1]:
            out[top + r, left + x] = tile[x, r]


def transpose_wrong_first_guard_again(a, out):
    tile = cuda.shared.array((32, 33), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = 32 * cuda.blockIdx.x, 32 * cuda.blockIdx.y
    for r in range(y, 32, cuda.blockDim.y):
        if top + r < a.shape[0] and left + x < a.shape[1]:
            tile[r, x] = a[top + r, left + x]
    cuda.syncthreads()
    for r in range(y, 32, cuda.blockDim.y):
        if top + r < a.shape[0] and left + x < a.shape[1]:
            out[left + r, top + x] = tile[x, r]


def transpose_wrong_returns_early(a, out):
    tile = cuda.shared.array((32, 33), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = 32 * cuda.blockIdx.x, 32 * cuda.blockIdx.y
    if left + x >= a.shape[1]:
        return
    for r in range(y, 32, cuda.blockDim.y):
        if top + r < a.shape[0]:
            tile[r, x] = a[top + r, left + x]
    cuda.syncthreads()
    for r in range(y, 32, cuda.blockDim.y):
        if left + r < a.shape[1] and top + x < a.shape[0]:
            out[left + r, top + x] = tile[x, r]


def solve(given):
    """Collect the sectors and the banks of each warp's 32 words, for one tile."""
    size, rows, columns = given["size"], given["rows"], given["columns"]

    def sectors(places):
        return len({place * size // 32 for place in places})

    read = sum(sectors(i * columns + j for j in range(32)) for i in range(32))
    straight = sum(sectors(j * rows + i for j in range(32)) for i in range(32))
    turned = sum(sectors(j * rows + i for i in range(32)) for j in range(32))
    tiles = (rows // 32) * (columns // 32)

    places = {
        "xor": lambda r, c: r ^ c,
        "rotated": lambda r, c: (c + r) % 32,
        "multiplied": lambda r, c: (c + given["factor"] * r) % 32,
        "mirrored": lambda _, c: 31 - c,
        "alternating": lambda r, c: (c + r % 2) % 32,
    }
    one_pass = [
        name
        for name, place in places.items()
        if all(
            len({place(r, c) for c in range(32)}) == len({place(c, r) for c in range(32)}) == 32
            for r in range(32)
        )
    ]
    return {
        "gain": (read + straight) / (read + turned),
        "large_tiles": (read + turned) * tiles,
        "swizzles": one_pass,
    }
