"""Admit sequences until the memory is full, and compare the throughput of every batch."""

import numpy as np


def solve(given):
    """Fill the memory, evaluate every batch that fits, and pick the first one at the top."""
    peak = given.fact(given["gpu"], "bf16_dense", "FLOP/s")
    bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/s")
    nominal = given.fact(given["gpu"], "memory", "B")
    parameters = round(given["billions"] * 1e9)
    state = round(given["state"] * 1e6)
    fixed = 2 * parameters + round(given["overhead"] * 1e9)

    used, largest = fixed, 0
    while used + state <= nominal * 9 // 10:
        used += state
        largest += 1

    batches = np.arange(1, max(largest, 1000) + 1, dtype=np.float64)
    loads = batches * state + 2 * parameters  # bytes read
    stores = batches * state  # bytes written back
    memory = (loads + stores) / bandwidth
    arithmetic = batches * parameters * 2 / peak
    step = np.maximum(memory, arithmetic)
    rate = (batches / step)[:largest]
    best = int(np.argmax(rate >= rate.max() * (1 - 1e-9))) + 1
    compute_bound = arithmetic[best - 1] >= memory[best - 1] * (1 - 1e-9)
    return {
        "by_batch": [
            [step[rows - 1] * 1e3, (fixed + rows * state) / 1e9] for rows in (4, 64, 400, 1000)
        ],
        "largest": largest,
        "best": best,
        "regime": "compute" if compute_bound else "memory",
        "throughput": float(rate[best - 1]),
    }
