"""Plays the rings of every configuration step by step, and fills the memory item by item."""

import itertools


def solve(given):
    best = None
    for group, size, reshard in itertools.product(
        (1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8), ("yes", "no")
    ):
        plan = {"group": group, "layers_per_unit": size, "reshard": reshard}
        seconds = step_time(given, **plan)
        if seconds is not None and (best is None or seconds < best[1]):
            best = plan, seconds
    plan, seconds = best
    units = given["layers"] // plan["layers_per_unit"]
    at_once = (2 if plan["reshard"] == "yes" else units) if plan["group"] > 1 else 0
    gathered = sum(2 * given["billions"] / units for _ in range(at_once + 1))
    # From what the documentation says: who holds a copy, and whether weights are freed in between.
    group, frees = {
        "full": (given["gpus"], True),
        "kept": (given["gpus"], False),
        "hybrid": (8, True),
        "none": (1, True),
    }[given["named"]]
    if group == 1:
        strategy = "no_shard"
    elif given["gpus"] // group > 1:
        strategy = "hybrid_shard"
    else:
        strategy = "full_shard" if frees else "shard_grad_op"
    return {
        "sharding": {**plan, "cost": 1000 * seconds},
        "gathered": gathered,
        "strategy": strategy,
    }


def step_time(given, group, layers_per_unit, reshard):
    """The time of a step in s; None if the configuration does not fit."""
    parameters = given["billions"] * 1e9
    units = given["layers"] // layers_per_unit
    unit = parameters / units
    memory = [parameters * each / group for each in (2, 2, 12)]
    if group > 1:
        memory += [2 * unit] * (2 if reshard == "yes" else units)
    memory.append(2 * unit)
    if sum(memory) > given["memory"] * 1e9:
        return None
    inside = (given["fast"] if group <= 8 else given["slow"]) * 1e9
    across = given["slow"] * 1e9
    latency = given["latency"] * 1e-6
    replicas = given["gpus"] // group
    gather = ring(group, 2 * unit, inside, latency)
    scatter = ring(group, 2 * unit, inside, latency)
    reduce = sum(ring(replicas, 2 * unit / group, across, latency) for _ in ("scatter", "gather"))
    rate = given["rate"] * 1e12
    forward = sum(2 * unit * given["tokens"] / rate for _ in range(units))
    gathers = [gather] * units
    ahead = gathers.pop(0)
    forward_time = ahead + max(forward, sum(gathers))
    traffic = 0.0
    for _ in range(units):
        traffic += gather if reshard == "yes" else 0.0
        traffic += scatter + reduce
    return forward_time + max(2 * forward, traffic) + scatter + reduce


def ring(ranks, buffer, bandwidth, latency):
    """The time of the steps of a ring all-gather or reduce-scatter."""
    return sum(latency + buffer / ranks / bandwidth for _ in range(ranks - 1))
