"""Asks numpy for the size of the three arrays."""

import numpy as np


def solve(given):
    arrays = [np.empty(given["thousands"] * 1000, np.float32) for _ in "xyz"]
    traffic = sum(array.nbytes for array in arrays)
    return {"traffic": traffic / 1e6, "time": traffic / (given["bandwidth"] * 1e9) * 1e6}
