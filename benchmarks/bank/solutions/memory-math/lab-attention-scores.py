"""Lets numpy broadcast queries against keys, and asks for the size."""

import numpy as np


def solve(given):
    rows = np.empty((given["batch"], given["heads"], given["tokens"], 1), np.float16)
    scores = np.broadcast(rows, rows.swapaxes(2, 3))
    return {"scores": scores.size, "memory": 2 * scores.size * rows.itemsize / 1e6}
