"""Launches every thread of the grid: indices are written out thread by thread and looked up."""

import numpy as np


def solve(given):
    """Return each part's answer, found by enumerating threads."""
    n, block_size = given["elements"], given["block_size"]
    blocks = covered = 0
    while covered < n:
        blocks += 1
        covered += block_size

    # One row a block, as the hardware sees it; warps are cut from a block by dealing threads out.
    thread = np.arange(block_size)
    warp_of, lane_of, warp, lane = [], [], 0, 0
    for _ in range(block_size):
        warp_of.append(warp)
        lane_of.append(lane)
        lane += 1
        if lane == 32:
            warp, lane = warp + 1, 0
    index = np.arange(blocks)[:, None] * block_size + thread
    works = index < n

    split = 0
    for members in range(max(warp_of) + 1):
        of_warp = works[:, np.array(warp_of) == members]
        split += int((of_warp.any(axis=1) & ~of_warp.all(axis=1)).sum())

    (block,), (inside,) = np.nonzero(index == given["first_element"])
    place = [[int(block), int(inside), warp_of[inside], lane_of[inside]]]
    return {
        "blocks": blocks,
        "idle_threads": int((~works).sum()),
        "warps": blocks * len(set(warp_of)),
        "place": place,
        "guard": {0: "no-warp", 1: "one-warp"}[split],
        "unguarded": "beyond"
        if index.max() >= (index.size if given["exact"] else n)
        else "nothing",
    }
