"""Builds one pruned row with real arrays and packed bits, and counts the bytes of all rows."""

from fractions import Fraction

import numpy as np

WIDTHS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}

ROWS = ("across", "middle", "fewer", "left-heavy", "one-full")


def two_of_four(row):
    """Return the kept values of a row and their packed positions."""
    groups = row.reshape(-1, 4)
    kept = np.sort(np.argsort(groups, axis=1)[:, 2:], axis=1)
    values = np.take_along_axis(groups, kept, axis=1)
    place_bits = (kept.reshape(-1, 1) >> np.arange(2)) & 1
    return values, np.packbits(place_bits.astype(np.uint8))


def csr(row, share, index):
    """Return values and columns of a row of which a share is kept."""
    columns = np.arange(0, int(len(row) * share)).astype(index)
    return row[: len(columns)], columns


def solve(given):
    """Return each part's answer, found by counting the bytes of arrays."""
    rows, columns = given["outputs"], given["inputs"]
    value, index = WIDTHS[given["value_bits"]], WIDTHS[given["index_bits"]]
    row = (np.arange(columns) * 7919 % 251 + 1).astype(value)

    structured = rows * sum(part.nbytes for part in two_of_four(row))
    dense = rows * row.nbytes
    moved = sum(
        np.empty(length, dtype=value).nbytes * given["vectors"] for length in (columns, rows)
    )

    pointers = np.zeros(rows + 1, dtype=index)
    unstructured = rows * sum(part.nbytes for part in csr(row, given["kept"], index))

    # On a row of 180 weights every break-even share falls on a whole number of nonzeros.
    short = row[:180]
    nonzeros = next(
        count
        for count in range(181)
        if sum(part.nbytes for part in csr(short, Fraction(count, 180), index)) >= short.nbytes
    )

    # The share of both sides by bisection.
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        smaller = (rows * middle) * (columns * middle) * row.itemsize < structured
        low, high = (middle, high) if smaller else (low, middle)
    return {
        "channels": 100 * low,
        "structured_size": structured / 1e6,
        "traffic_speedup": (dense + moved) / (structured + moved),
        "csr": (unstructured + pointers.nbytes) / 1e6,
        "break_even": 100 * nonzeros / 180,
        "patterns": {
            name
            for name in ROWS
            for marks in [given[name.replace("-", "_")].split()]
            if max(marks[:4].count("x"), marks[4:].count("x")) <= 2
        },
    }
