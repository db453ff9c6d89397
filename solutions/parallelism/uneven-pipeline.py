"""Plays every division as a flow shop: a stage starts when it and its micro-batch are free."""

import itertools


def solve(given):
    best = None
    for first, second, third, micro in itertools.product(
        range(5, 10), range(7, 12), range(7, 12), (4, 8, 16, 32, 64)
    ):
        stages = [first, second, third, given["layers"] - first - second - third]
        if stages[-1] < 1 or max(memories(given, stages, micro)) > given["memory"] + 1e-9:
            continue
        times = [layers * given["layer_time"] / micro for layers in stages]
        times[0] += given["input_layers"] * given["layer_time"] / micro
        times[-1] += given["head_layers"] * given["layer_time"] / micro
        cost = flow([time + given["overhead"] for time in times], micro)
        if best is None or cost < best[0] * (1 - 1e-9):
            best = cost, {"first": first, "second": second, "third": third, "micro": micro}
    cost, plan = best
    stages = [plan["first"], plan["second"], plan["third"], 0]
    return {
        "division": {**plan, "cost": cost},
        "first_stage": memories(given, stages, plan["micro"])[0],
    }


def memories(given, stages, micro):
    """The GB of each stage, with the micro-batches counted that a 1F1B schedule has under way."""
    found = []
    for stage, layers in enumerate(stages):
        under_way = len(stages) - stage
        state = layers * given["weights"] + (given["head_state"] if stage in (0, 3) else 0)
        found.append(state + sum(layers * given["saved"] / micro for _ in range(under_way)))
    return found


_KNOWN = {}


def flow(times, count):
    """The time until *count* micro-batches have passed through stages of these times in order."""
    key = (*times, count)
    if key not in _KNOWN:
        ends = [0.0] * len(times)
        for _ in range(count):
            ready = 0.0
            for stage, time in enumerate(times):
                ready = ends[stage] = max(ready, ends[stage]) + time
        _KNOWN[key] = ends[-1]
    return _KNOWN[key]
