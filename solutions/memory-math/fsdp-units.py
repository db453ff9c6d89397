"""Runs every plan step by step, and allocates and frees the buffers of the units."""

import itertools


def solve(given):
    parameters = (given["blocks"] * given["millions"] + given["root"]) * 1e6
    shard = sum(4 * parameters / given["gpus"] for _ in ("weights", "gradients", "m", "v"))
    root = given["root"] * 1e6 * (2 + 2)
    rows = []
    for size in (1, given["middle"], 8, given["blocks"]):
        peak, calls = play(given, size)
        rows.append([(root + peak) / 1e9, calls])
    left, buckets = 4 * parameters, 0
    while left > 0:
        left, buckets = left - 25 * 2**20, buckets + 1
    best = None
    plans = itertools.product((1, 2, 4, 8), ("yes", "no"), ("none", "full"), (1, 2, 4))
    for size, reshard, checkpoint, sequences in plans:
        peak, _ = play(given, size, reshard == "yes")
        needed = shard + root + peak + saved(given, checkpoint, sequences)
        if needed > given["memory"] * 1e9:
            continue
        cost = step(given, size, reshard == "yes", checkpoint, sequences) / sequences
        if best is None or cost < best[0] * (1 - 1e-9):
            best = cost, (size, reshard, checkpoint, sequences)
    cost, (size, reshard, checkpoint, sequences) = best
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        _, backward, send = times(given, size, checkpoint, middle)
        hides = backward >= send + (send if reshard == "yes" else 0)
        low, high = (low, middle) if hides else (middle, high)
    return {
        "persistent": shard / 1e9,
        "policies": rows,
        "ddp": buckets,
        "grouping": {
            "g": size,
            "reshard": reshard,
            "checkpoint": checkpoint,
            "sequences": sequences,
            "cost": 1e3 * cost,
        },
        "hidden_by": high,
    }


def play(given, size, reshard=True):
    """The peak of gathered weights and gradients of the blocks, and the collectives of a step."""
    weights = 2 * given["millions"] * 1e6 * size
    units = list(range(given["blocks"] // size))
    alive, calls, peak = {}, 2, 0
    if len(units) == 1:  # it is the root unit
        return 2 * weights, 2
    order = [("forward", unit) for unit in units] + [("backward", unit) for unit in units[::-1]]
    for at, (phase, unit) in enumerate(order):
        wanted = [unit]
        if at + 1 < len(order) and order[at + 1][0] == phase:
            wanted.append(order[at + 1][1])
        for each in wanted:
            if ("weights", each) not in alive:
                alive["weights", each] = weights
                calls += 1
        if phase == "backward":
            alive["gradients", unit] = weights
        peak = max(peak, sum(alive.values()))
        if phase == "backward":  # reduced while the next unit computes
            alive.pop(("gradients", unit + 1), None)
            calls += 1
        if reshard:
            del alive["weights", unit]
    return peak, calls


def saved(given, checkpoint, sequences):
    """The activations at the peak, block by block."""
    block = 34 * given["tokens"] * given["hidden"]
    entry = 2 * given["tokens"] * given["hidden"]
    if checkpoint == "full":
        return sequences * (sum(entry for _ in range(given["blocks"])) + block)
    return sequences * sum(block for _ in range(given["blocks"]))


def times(given, size, checkpoint, sequences):
    """Forward and backward pass of a unit, and one of its collectives, in seconds."""
    weights = size * given["millions"] * 1e6
    forward = 2 * weights * given["tokens"] * sequences / (given["rate"] * 1e12)
    backward = forward + forward + (forward if checkpoint == "full" else 0)
    part = 2 * weights / given["gpus"]
    ring = sum(part for _ in range(given["gpus"] - 1)) / (given["bandwidth"] * 1e9)
    return forward, backward, given["latency"] / 1e3 + ring


def step(given, size, reshard, checkpoint, sequences):
    forward, backward, send = times(given, size, checkpoint, sequences)
    units = given["blocks"] // size
    clock = send
    for unit in range(units):
        clock += max(forward, send if unit + 1 < units else 0)
    clock += send if reshard else 0
    for unit in range(units):
        traffic = send if reshard and unit + 1 < units else 0
        traffic += send if unit > 0 else 0
        clock += max(backward, traffic)
    return clock + send
