"""Admit sequences until the memory is full, and compare the throughput of every batch."""

import numpy as np

ROWS = (8, 128, 1024)


def solve(given):
    now, small = served(given, 1), served(given, 2)
    if small["throughput"] > now["throughput"] * 1.001:
        change = "more-larger" if small["best"] > now["best"] else "more-smaller"
    else:
        change = "same-same" if small["best"] == now["best"] else "same-smaller"
    return now | {"smaller_state": change, "deviation": explained(given, now["by_batch"])}


def explained(given, model):
    """Which one-parameter change of the model passes through both measurements."""
    bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/ms")
    weights = 2e9 * given["billions"] / bandwidth
    state = 2e6 * given["state"] / bandwidth
    (few, _), (many, _), _ = model
    measured = [
        given["constant"] + given["ratio"] * (weights + batch * given["state_factor"] * state)
        for batch in ROWS[:2]
    ]
    # Each parameter is fitted to the first measurement and predicts the second.
    predicted = {
        "launch": many + (measured[0] - few),
        "bandwidth": many * (measured[0] / few),
        "state": many + (measured[0] - few) * ROWS[1] / ROWS[0],
    }
    return min(predicted, key=lambda name: abs(predicted[name] - measured[1]))


def served(given, shrunk):
    """Fill the memory, evaluate every batch that fits, and pick the first one at the top."""
    peak = given.fact(given["gpu"], "bf16_dense", "FLOP/s")
    bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/s")
    nominal = given.fact(given["gpu"], "memory", "B")
    parameters = round(given["billions"] * 1e9)
    state = round(given["state"] * 1e6) // shrunk
    fixed = 2 * parameters + round(given["overhead"] * 1e9)

    used, largest = fixed, 0
    while used + state <= nominal * 9 // 10:
        used += state
        largest += 1

    batches = np.arange(1, max(largest, *ROWS) + 1, dtype=np.float64)
    loads = batches * state + 2 * parameters  # bytes read
    stores = batches * state  # bytes written back
    memory = (loads + stores) / bandwidth
    arithmetic = batches * parameters * 2 / peak
    step = np.maximum(memory, arithmetic)
    rate = (batches / step)[:largest]
    best = int(np.argmax(rate >= rate.max() * (1 - 1e-9))) + 1
    return {
        "by_batch": [[step[row - 1] * 1e3, (fixed + row * state) / 1e9] for row in ROWS],
        "largest": largest,
        "best": best,
        "throughput": float(rate[best - 1]),
    }
