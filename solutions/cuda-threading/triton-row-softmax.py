"""The softmax of rows in Triton's language, against numpy in float64."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import triton.language as tl  # noqa: TC004  # the notebook has it from a cell


def row_softmax(x, out, columns, stride, BLOCK: "tl.constexpr"):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + j, mask=j < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + j, powers / tl.sum(powers, axis=0), mask=j < columns)


def row_softmax_right_zeros_put_in_later(x, out, columns, stride, BLOCK: "tl.constexpr"):
    j = tl.arange(0, BLOCK)
    here = j < columns
    start = x + tl.program_id(0) * stride
    values = tl.load(start + j, mask=here)
    most = tl.max(tl.where(here, values, -float("inf")))
    powers = tl.where(here, tl.exp(values - most), 0.0)
    tl.store(out + tl.program_id(0) * columns + j, powers / tl.sum(powers), mask=here)


def row_softmax_right_by_logarithm(x, out, columns, stride, BLOCK: "tl.constexpr"):
    row = tl.program_id(axis=0)
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + (row * stride + lanes), lanes < columns, -1.0e30)
    most = tl.max(values, 0)
    total = tl.log(tl.sum(tl.exp(values - most), 0)) + most
    tl.store(out + (row * columns + lanes), tl.exp(values - total), lanes < columns)


def row_softmax_cases(rng, given):
    def case(rows, columns, block, wide=None, scale=1.0, shift=0.0, holes=False, count=False):
        x = shift + scale * rng.normal(size=(rows, wide or columns))
        if holes:
            x[rng.random(x.shape) < 0.4] = -np.inf
            x[np.arange(rows), rng.integers(0, columns, rows)] = 0.5
        return {"x": x.astype(np.float32), "columns": columns, "block": block, "count": count}

    yield "whole blocks", case(1, 32, 32)
    yield "whole blocks", case(3, 64, 64)
    yield "whole blocks", case(3, 16, 16, wide=21)
    yield "ragged", case(2, 1, 4)
    yield "ragged", case(3, 33, 64, shift=-6.0)
    yield "ragged", case(4, 20, 32, wide=29)
    for _ in range(2):
        columns = int(rng.integers(3, 60))
        yield "ragged", case(int(rng.integers(1, 5)), columns, 64, wide=columns + 3, scale=2.0)
    yield "large values", case(2, 40, 64, scale=60.0, shift=100.0)
    yield "large values", case(2, 32, 32, scale=60.0, shift=-150.0)
    yield "large values", case(3, 50, 64, holes=True)
    yield "traffic", case(3, 64, 64, count=True)
    yield "traffic", case(2, int(rng.integers(33, 60)), 64, wide=64, count=True)


def _right(x, columns):
    x = x[:, :columns].astype(np.float64)
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)


def row_softmax_expected(x, columns, block, count):
    return ... if count else _right(x, columns)


def row_softmax_holds(inputs, result):
    if not inputs["count"]:
        return
    right = _right(inputs["x"], inputs["columns"])
    out = result["out"]
    if np.shape(out) != right.shape or not np.allclose(out, right, rtol=1e-4, atol=1e-6):
        yield "the values are wrong"
    loads, again = result["x"], result["again"]
    if not (isinstance(loads, int) and loads >= right.size and isinstance(again, int)):
        yield "fewer elements of `x` are loaded than it has"
    elif loads > right.size:
        yield f"{loads} elements of `x` are loaded; {right.size} loads are enough"
    if again:
        yield "elements of `out` are loaded after they are stored"


def row_softmax_wrong_no_maximum(x, out, columns, stride, BLOCK: "tl.constexpr"):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    powers = tl.exp(tl.load(x + row * stride + j, mask=j < columns, other=-float("inf")))
    tl.store(out + row * columns + j, powers / tl.sum(powers, axis=0), mask=j < columns)


def row_softmax_wrong_other_is_zero(x, out, columns, stride, BLOCK: "tl.constexpr"):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + j, mask=j < columns, other=0.0)
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + j, powers / tl.sum(powers, axis=0), mask=j < columns)


def row_softmax_wrong_other_is_left_out(x, out, columns, stride, BLOCK: "tl.constexpr"):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + j, mask=j < columns)
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + j, powers / tl.sum(powers, axis=0), mask=j < columns)


def row_softmax_wrong_rows_close_together(x, out, columns, stride, BLOCK: "tl.constexpr"):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + j, mask=j < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + j, powers / tl.sum(powers, axis=0), mask=j < columns)


def row_softmax_wrong_no_mask_at_the_store(x, out, columns, stride, BLOCK: "tl.constexpr"):
    # Zeros are stored over the next row, which its own program then puts right: if it comes later.
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + j, mask=j < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + j, powers / tl.sum(powers, axis=0))


def row_softmax_wrong_loads_it_again(x, out, columns, stride, BLOCK: "tl.constexpr"):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    place, here = x + row * stride + j, j < columns
    most = tl.max(tl.load(place, mask=here, other=-float("inf")), axis=0)
    total = tl.sum(tl.exp(tl.load(place, mask=here, other=-float("inf")) - most), axis=0)
    tl.store(out + row * columns + j, tl.exp(tl.load(place, mask=here) - most) / total, mask=here)


def row_softmax_wrong_one_maximum_for_all(x, out, columns, stride, BLOCK: "tl.constexpr"):
    # It subtracts what the first row holds at most, which is no upper bound of the others.
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    most = tl.max(tl.load(x + j, mask=j < columns, other=-float("inf")), axis=0)
    values = tl.load(x + row * stride + j, mask=j < columns, other=-float("inf"))
    powers = tl.exp(values - most)
    tl.store(out + row * columns + j, powers / tl.sum(powers, axis=0), mask=j < columns)


def solve(given):
    """Doubles the block until the row fits, and counts lanes and bytes of one row."""
    columns, block = given["columns"], 1
    while block < columns:
        block *= 2
    idle = sum(lane >= columns for lane in range(block))
    row = sum(4 + 4 for lane in range(block) if lane < columns)
    # Elements per row that each kernel reads and writes: a whole row, or a value, which is ignored.
    kernels = [(1, 1)] * given["extra"] + [(1, 0), (1, 0, 1), (1, 1), (1, 0), (1, 0, 1)]
    return {
        "block_size": block,
        "masked_share": 100 * idle / block,
        "bytes_moved": given["rows"] * row / 1e6,
        "traffic_ratio": sum(map(sum, kernels)) / (1 + 1),
    }
