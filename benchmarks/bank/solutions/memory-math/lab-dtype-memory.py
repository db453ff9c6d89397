"""Asks numpy for the size of arrays that are never touched."""

import numpy as np


def solve(given):
    shape = (given["batch"], given["tokens"], given["width"])
    half, eight = np.empty(shape, np.float16), np.empty(shape, np.int8)
    scales = np.empty(shape[:2], np.float32)
    return {"half": half.nbytes / 1e6, "eight": (eight.nbytes + scales.nbytes) / 1e6}
