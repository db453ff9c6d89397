"""An ordered dictionary of lines plays the cache; the code goes along the rows."""

from collections import OrderedDict

import numpy as np


def solve(given):
    width, rows, columns = given["width"], given["rows"], given["columns"]
    room = given["cache"] * 1024 // 64
    along = misses((width * n for n in range(rows * columns)), room)
    down = misses((width * (i * columns + j) for j in range(columns) for i in range(rows)), room)
    cycles = (rows * columns - down) * given["hit"] + down * (given["hit"] + given["penalty"])
    return {
        "by_rows": along,
        "by_columns": down,
        "average": cycles / (rows * columns),
        "held_lines": held(given["large"], given["l2_size"] * 1024, given["ways"]),
    }


def misses(accesses, room):
    """Lines that are fetched into a fully associative cache of some lines."""
    lines, found, last = OrderedDict(), 0, None
    for address in accesses:
        line = address // 64
        if line == last:
            continue
        last = line
        if line in lines:
            lines.move_to_end(line)
            continue
        found += 1
        lines[line] = None
        if len(lines) > room:
            lines.popitem(last=False)
    return found


def held(rows, size, ways):
    """Lines of the first column that are in the cache after the column was read."""
    sets = size // 64 // ways
    lines = {number: [] for number in range(sets)}
    for row in range(rows):
        line = row * 4096 * 4 // 64
        lines[line % sets] = [*lines[line % sets], line][-ways:]
    return sum(len(one) for one in lines.values())


def spread(x):
    return x.max(axis=0) - x.min(axis=0)


def spread_right_rows(x):
    high, low = x[0].copy(), x[0].copy()
    for row in x:
        np.maximum(high, row, out=high)
        np.minimum(low, row, out=low)
    return high - low


def spread_right_blocks(x):
    out = np.empty(x.shape[1], dtype=x.dtype)
    for start in range(0, x.shape[1], 512):
        block = x[:, start : start + 512]
        out[start : start + 512] = np.ptp(block, axis=0)
    return out


def spread_slow_as_given(x):
    out = np.empty(x.shape[1], dtype=x.dtype)
    for j in range(x.shape[1]):
        out[j] = x[:, j].max() - x[:, j].min()
    return out


def spread_slow_copy(x):
    turned = np.ascontiguousarray(x.T)
    out = np.empty(x.shape[1], dtype=x.dtype)
    for j, column in enumerate(turned):
        out[j] = column.max() - column.min()
    return out


def spread_slow_copied_columns(x):
    columns = [np.ascontiguousarray(x[:, j]) for j in range(x.shape[1])]
    return np.array([c.max() - c.min() for c in columns], dtype=x.dtype)


def spread_cases(rng, given):
    yield "edge", {"x": np.array([[3.0]], dtype=np.float32)}
    yield "edge", {"x": rng.normal(size=(1, 6))}
    yield "edge", {"x": rng.normal(size=(7, 1)).astype(np.float32)}
    yield "edge", {"x": np.zeros((3, 0), dtype=np.float32)}
    yield "edge", {"x": -np.abs(rng.normal(size=(6, 4))) - 5}
    yield "random", {"x": (rng.normal(size=(9, 700)) + 40).astype(np.float32)}
    for dtype in (np.float32, np.float64, np.float32, np.float64):
        rows, columns = (int(n) for n in rng.integers(3, 40, size=2))
        yield "random", {"x": rng.normal(size=(rows, columns)).astype(dtype)}


def spread_wrong_rows_instead(x):
    return x.max(axis=1) - x.min(axis=1)


def spread_wrong_from_zero(x):
    high, low = np.zeros(x.shape[1], x.dtype), np.zeros(x.shape[1], x.dtype)
    for row in x:
        np.maximum(high, row, out=high)
        np.minimum(low, row, out=low)
    return high - low


def spread_wrong_double(x):
    return x.max(axis=0).astype(np.float64) - x.min(axis=0)


def spread_wrong_neighbours(x):
    return np.abs(np.diff(x, axis=0)).max(axis=0, initial=0).astype(x.dtype)


def spread_wrong_of_magnitudes(x):
    return np.abs(x).max(axis=0) - np.abs(x).min(axis=0)
