"""Simulates one step of every layout: a 1F1B schedule stage by stage, and rings hop by hop."""

import itertools


def solve(given):
    best = None
    for tp, pp, zero, checkpoint, micro in itertools.product(
        (1, 2, 4, 8), (1, 2, 4, 8), (0, 1), ("none", "full"), (1, 2, 4)
    ):
        plan = {"tp": tp, "pp": pp, "zero": zero, "checkpoint": checkpoint, "micro": micro}
        found = simulate(given, **plan)
        if found is not None and (best is None or found["cost"] < best[1]["cost"]):
            best = plan, found
    plan, found = best
    return {
        "layout": {**plan, "cost": found["cost"]},
        "activations_saved": found["activations"] / 1e9,
    }


def simulate(given, tp, pp, zero, checkpoint, micro):
    """The cost in s and the first stage's activations in bytes; None if the layout does not fit."""
    replicas, rest = divmod(given["gpus"], tp * pp)
    if rest or given["batch"] % (replicas * micro) or given["batch"] < replicas * micro:
        return None
    count = given["batch"] // (replicas * micro)
    schedule = one_f_one_b(pp, count)
    token_width = given["length"] * micro * given["hidden"]
    own_layers = given["layers"] / pp
    inner = 34 * token_width / tp
    saved = 2 * token_width / tp if checkpoint == "full" else inner
    held = schedule["held"] * own_layers * saved + (inner if checkpoint == "full" else 0)
    own = given["billions"] * 1e9 / (tp * pp)
    state = own * 2 + own * 2 + sum(own * 4 / (replicas if zero else 1) for _ in "mva")
    if state + held > given["memory"] * 1e9:
        return None
    passes = 4 if checkpoint == "full" else 3  # forwards, of which a backward costs two
    tokens = micro * given["length"]
    work = passes * 2 * own * tokens / (given["rate"] * 1e12)
    all_reduces = 2 * (passes - 1)
    sent = ring_bytes(tp, 2 * token_width) * all_reduces * own_layers
    slot = work + sent / (given["fast"] * 1e9)  # one micro-batch, forward and backward
    pipeline = slot * schedule["length"]
    gradients = ring_bytes(replicas, 2 * own) / (given["slow"] * 1e9)
    return {"cost": pipeline + gradients, "activations": held}


def ring_bytes(ranks, buffer):
    """What a rank sends in a reduce-scatter and an all-gather, one chunk per step."""
    return sum(buffer / ranks for _ in ("reduce-scatter", "all-gather") for _ in range(ranks - 1))


_KNOWN = {}


def one_f_one_b(stages, count):
    """The length of a 1F1B schedule in micro-batches, and how many the first stage holds at most.

    A forward takes 1/3 of a slot and a backward 2/3.
    """
    if (stages, count) in _KNOWN:
        return _KNOWN[stages, count]
    orders = []
    for stage in range(stages):
        warm = min(stages - 1 - stage, count)
        order = ["F"] * warm
        for _ in range(count - warm):
            order += ["F", "B"]
        orders.append(order + ["B"] * warm)
    done = {}
    clock = [0.0] * stages
    position = [0] * stages
    numbers = [{"F": 0, "B": 0} for _ in range(stages)]
    while any(position[s] < len(orders[s]) for s in range(stages)):
        for s in range(stages):
            while position[s] < len(orders[s]):
                kind = orders[s][position[s]]
                n = numbers[s][kind]
                source = s - 1 if kind == "F" else s + 1
                if 0 <= source < stages and (source, kind, n) not in done:
                    break
                start = max(clock[s], done.get((source, kind, n), 0.0))
                clock[s] = done[s, kind, n] = start + (1 if kind == "F" else 2) / 3
                numbers[s][kind] += 1
                position[s] += 1
    held = most = 0
    for kind in orders[0]:
        held += 1 if kind == "F" else -1
        most = max(most, held)
    _KNOWN[stages, count] = {"length": max(clock), "held": most}
    return _KNOWN[stages, count]
