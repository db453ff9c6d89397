"""A layout changed through shared memory; sectors are collected from addresses."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grader.kinds.student_tools.cuda import cuda  # noqa: TC004  # the notebook has it from a cell


def regroup(records, arrays):
    tile = cuda.shared.array(448, np.float32)  # large enough for every variant
    fields, n = arrays.shape
    t, width = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * width
    for k in range(t, fields * width, width):
        if fields * first + k < records.size:
            tile[k] = records[fields * first + k]
    cuda.syncthreads()
    if first + t < n:
        for f in range(fields):
            arrays[f, first + t] = tile[fields * t + f]


def regroup_right_sorted_first(records, arrays):
    # The sorting is done on the way into shared memory.
    tile = cuda.shared.array((7, 64), np.float32)
    fields, n = arrays.shape
    width = cuda.blockDim.x
    begin = cuda.blockIdx.x * width * fields
    for step in range(fields):
        k = step * width + cuda.threadIdx.x
        if begin + k < len(records):
            tile[k % fields, k // fields] = records[begin + k]
    cuda.syncthreads()
    i = cuda.grid(1)
    for f in range(fields):
        if i < n:
            arrays[f][i] = tile[f][cuda.threadIdx.x]


def regroup_right_by_output(records, arrays):
    # Both copies run over all elements of the block.
    tile = cuda.shared.array(448, np.float32)
    fields, n = arrays.shape
    t, width = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * width
    mine = min(width, n - first)
    k = t
    while k < fields * mine:
        tile[k] = records[fields * first + k]
        k += width
    cuda.syncthreads()
    for k in range(t, fields * width, width):
        f, i = k // width, k % width
        if i < mine:
            arrays[f, first + i] = tile[fields * i + f]


def regroup_cases(rng, given):
    fields, threads = given["fields"], given["threads"]

    def case(n, count=False):
        records = rng.normal(size=fields * n).astype(np.float32)
        grid = -(-n // threads)
        return {
            "records": records,
            "fields": fields,
            "grid": grid,
            "block": threads,
            "count": count,
        }

    yield "one block", case(1)
    yield "one block", case(threads)
    yield "one block", case(int(rng.integers(2, threads)))
    yield "several blocks", case(2 * threads)
    yield "several blocks", case(threads + 1)
    yield "several blocks", case(2 * threads + int(rng.integers(1, threads)))
    yield "sectors", case(threads, count=True)
    yield "sectors", case(2 * threads, count=True)


def regroup_expected(records, fields, grid, block, count):
    return ... if count else np.ascontiguousarray(records.reshape(-1, fields).T)


def regroup_holds(inputs, result):
    if not inputs["count"]:
        return
    records = inputs["records"]
    if not np.array_equal(result["values"], records.reshape(-1, inputs["fields"]).T):
        yield "the values are wrong"
    least = records.nbytes // 32
    for name in ("records", "arrays"):
        if not (isinstance(result[name], int) and result[name] >= least):
            yield f"fewer sectors are transferred than `{name}` has"
        elif result[name] > least:
            yield f"`{name}` takes {result[name]} sectors, and {least} are enough"


def regroup_wrong_direct(records, arrays):
    i = cuda.grid(1)
    if i < arrays.shape[1]:
        for f in range(arrays.shape[0]):
            arrays[f, i] = records[arrays.shape[0] * i + f]


def regroup_wrong_reads_in_order_writes_apart(records, arrays):
    fields, width = arrays.shape[0], cuda.blockDim.x
    first = fields * cuda.blockIdx.x * width
    for k in range(cuda.threadIdx.x, fields * width, width):
        if first + k < records.size:
            arrays[(first + k) % fields, (first + k) // fields] = records[first + k]


def regroup_wrong_no_barrier(records, arrays):
    tile = cuda.shared.array(448, np.float32)
    fields, n = arrays.shape
    t, width = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * width
    for k in range(t, fields * width, width):
        if fields * first + k < records.size:
            tile[k] = records[fields * first + k]
    if first + t < n:
        for f in range(fields):
            arrays[f, first + t] = tile[fields * t + f]


def regroup_wrong_no_guard(records, arrays):
    tile = cuda.shared.array(448, np.float32)
    fields = arrays.shape[0]
    t, width = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * width
    for k in range(t, fields * width, width):
        tile[k] = records[fields * first + k]
    cuda.syncthreads()
    for f in range(fields):
        arrays[f, first + t] = tile[fields * t + f]


def regroup_wrong_fields_for_width(records, arrays):
    tile = cuda.shared.array(448, np.float32)
    fields, n = arrays.shape
    t, width = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * width
    for k in range(t, fields * width, width):
        if fields * first + k < records.size:
            tile[k] = records[fields * first + k]
    cuda.syncthreads()
    if first + t < n:
        for f in range(fields):
            arrays[f, first + t] = tile[f * width + t]


def regroup_wrong_forgets_the_block(records, arrays):
    tile = cuda.shared.array(448, np.float32)
    fields, n = arrays.shape
    t, width = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * width
    for k in range(t, fields * width, width):
        if first + k < records.size:
            tile[k] = records[first + k]
    cuda.syncthreads()
    if first + t < n:
        for f in range(fields):
            arrays[f, first + t] = tile[fields * t + f]


def solve(given):
    """Collect the sectors of the first warp's requests; all warps start on a sector border."""
    fields, n = given["fields"], given["n"]

    def sectors(elements):
        return len({4 * element // 32 for element in elements})

    direct = 0
    for f in range(fields):
        direct += sectors(fields * lane + f for lane in range(32))
        direct += sectors(f * n + lane for lane in range(32))
    staged = sum(2 * sectors(32 * k + lane for lane in range(32)) for k in range(fields))
    banks = [given["even"] * lane % 32 for lane in range(32)]
    return {
        "direct_sectors": direct * (n // 32),
        "factor": direct / staged,
        "bank_degree": max(banks.count(bank) for bank in banks),
    }
