"""Draws the grid and counts its empty cells; the least number is found by trying."""

import numpy as np


def idle(stages, micro_batches):
    """Return the empty cells and all cells of the grid."""
    grid = np.zeros((stages, stages + micro_batches - 1), bool)
    for stage in range(stages):
        grid[stage, stage : stage + micro_batches] = True
    return int((~grid).sum()), grid.size


def solve(given):
    stages = given["stages"]
    empty, cells = idle(stages, given["micro_batches"])
    needed = 1
    while 10 * idle(stages, needed)[0] > idle(stages, needed)[1]:
        needed += 1
    return {"bubble": 100 * empty / cells, "needed": needed}
