"""Two guarded kernels; the idle threads are found by going through the launch."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grader.kinds.student_tools.cuda import cuda  # noqa: TC004  # the notebook has it from a cell


def axpy(a, x, y):
    i = cuda.grid(1)
    if i < len(y):
        y[i] = a * x[i] + y[i]


def axpy_right_written_out(a, x, y):
    here = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x
    if here >= y.size:
        return
    y[here] += a * x[here]


def axpy_right_strided(a, x, y):
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        y[i] = y[i] + x[i] * a


def axpy_expected(a, x, y, grid, block):
    return (a * x.astype(np.float64) + y).astype(y.dtype)


def axpy_cases(rng, given):
    threads = given["threads"]

    def case(n, blocks):
        x, y = (rng.normal(size=n).astype(np.float32) for _ in range(2))
        return {"a": float(rng.integers(2, 9)), "x": x, "y": y, "grid": blocks, "block": threads}

    yield "whole blocks", case(threads, 1)
    yield "whole blocks", case(3 * threads, 3)
    yield "partial blocks", case(1, 1)
    yield "partial blocks", case(threads - 1, 1)
    yield "partial blocks", case(threads + 1, 2)
    yield "partial blocks", case(threads, 3)
    for _ in range(3):
        n = int(rng.integers(2, 6)) * threads + int(rng.integers(1, threads))
        yield "partial blocks", case(n, -(-n // threads))


def axpy_wrong_no_guard(a, x, y):
    i = cuda.grid(1)
    y[i] = a * x[i] + y[i]


def axpy_wrong_guard_too_wide(a, x, y):
    i = cuda.grid(1)
    if i <= len(y):
        y[i] = a * x[i] + y[i]


def axpy_wrong_thread_alone(a, x, y):
    i = cuda.threadIdx.x
    if i < len(y):
        y[i] = a * x[i] + y[i]


def axpy_wrong_grid_for_block(a, x, y):
    i = cuda.blockIdx.x * cuda.gridDim.x + cuda.threadIdx.x
    if i < len(y):
        y[i] = a * x[i] + y[i]


def axpy_wrong_loses_y(a, x, y):
    i = cuda.grid(1)
    if i < len(y):
        y[i] = a * x[i]


def brighten(image, out, gain):
    column, row = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        out[row, column] = gain * image[row, column]


def brighten_right_written_out(image, out, gain):
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    rows, columns = out.shape
    if x >= columns or y >= rows:
        return
    value = image[y][x]
    out[y][x] = value * gain


def brighten_right_strided(image, out, gain):
    first, top = cuda.grid(2)
    right, down = cuda.gridsize(2)
    for row in range(top, image.shape[0], down):
        for column in range(first, image.shape[1], right):
            out[row, column] = image[row, column] * gain


def brighten_cases(rng, given):
    wide, high = given["wide"], given["high"]

    def case(rows, columns, count=False, more=0):
        image = rng.normal(size=(rows, columns)).astype(np.float32)
        grid = (-(-columns // wide) + more, -(-rows // high) + more)
        gain = float(rng.integers(2, 9))
        return {
            "image": image,
            "gain": gain,
            "grid": grid,
            "block": (wide, high),
            "count": count,
        }

    yield "square", case(1, 1)
    yield "square", case(11, 11)
    yield "rectangular", case(1, 2 * wide + 1)
    yield "rectangular", case(2 * high + 1, 1)
    yield "rectangular", case(high + 1, wide + 3, more=1)
    for _ in range(2):
        yield "rectangular", case(int(rng.integers(2, 3 * high)), int(rng.integers(2, 2 * wide)))
    yield "rectangular", case(3 * high + 1, wide // 2)
    yield "sectors", case(32, wide, count=True)
    yield "sectors", case(64, 8, count=True)


def brighten_expected(image, gain, grid, block, count):
    return ... if count else (gain * image.astype(np.float64)).astype(image.dtype)


def brighten_holds(inputs, result):
    image, gain = inputs["image"], inputs["gain"]
    if inputs["count"]:
        out = result["out"]
        if np.shape(out) != image.shape or not np.allclose(out, gain * image, rtol=1e-5):
            yield "the values are wrong"
        # Rows are whole numbers of sectors here.
        least, sectors = 2 * image.nbytes // 32, result["sectors"]
        if not (isinstance(sectors, int) and sectors >= least):
            yield "fewer sectors are transferred than both images occupy"
        elif sectors > least:
            yield f"{sectors} sectors are transferred, and {least} are enough"


def brighten_wrong_axes_exchanged(image, out, gain):
    row, column = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        out[row, column] = gain * image[row, column]


def brighten_wrong_guard_exchanged(image, out, gain):
    column, row = cuda.grid(2)
    if column < image.shape[0] and row < image.shape[1]:
        out[row, column] = gain * image[row, column]


def brighten_wrong_guard_or(image, out, gain):
    column, row = cuda.grid(2)
    if row < image.shape[0] or column < image.shape[1]:
        out[row, column] = gain * image[row, column]


def brighten_wrong_down_the_columns(image, out, gain):
    # Every thread has its element, but the lanes of a warp lie a row apart.
    column, row = cuda.grid(2)
    columns_of_grid, rows_of_grid = cuda.gridsize(2)
    number = row * columns_of_grid + column
    for i in range(number, image.size, columns_of_grid * rows_of_grid):
        down, across = i % image.shape[0], i // image.shape[0]
        out[down, across] = gain * image[down, across]


def brighten_wrong_x_alone(image, out, gain):
    column = cuda.grid(1)
    if column < image.shape[1]:
        out[0, column] = gain * image[0, column]


def solve(given):
    """Goes through every thread of the launch and asks whether it has an element."""
    rows, columns, wide, high = (given[name] for name in ("rows", "columns", "wide", "high"))
    across = -(-columns // wide)
    inside_columns = np.arange(across * wide).reshape(across, wide) < columns
    idle = split = launched = 0
    for top in range(0, rows, high):
        inside_rows = np.arange(top, top + high) < rows
        # All blocks of a row of blocks, and the threads of each in the order of their numbers.
        inside = inside_rows[:, None] & inside_columns[:, None, :]
        by_warp = inside.reshape(-1, 32).sum(axis=1)
        launched += len(by_warp)
        idle += int((32 - by_warp).sum())
        split += int(((by_warp > 0) & (by_warp < 32)).sum())
    return {"idle_threads": idle, "divergent": 100 * split / launched}
