"""Tries every configuration, and adds up what one step reads layer by layer."""

import itertools

LOSS = {
    ("weights", 16): 0.0,
    ("weights", 8): 0.4,
    ("weights", 4): 1.8,
    ("cache", 16): 0.0,
    ("cache", 8): 0.6,
}


def solve(given):
    gpu = given["gpu"]
    memory = given.fact(gpu, "memory", "B") * 0.9
    best = None
    for weight_bits, cache_bits, tp, exponent in itertools.product(
        (16, 8, 4), (16, 8), (1, 2, 4, 8), range(9)
    ):
        batch = 2**exponent
        if LOSS["weights", weight_bits] + LOSS["cache", cache_bits] > given["loss"] + 1e-9:
            continue
        resident, cached, seconds = step(given, weight_bits, cache_bits, tp, batch)
        if resident > memory or seconds * 1000 > given["deadline"]:
            continue
        gain = batch / seconds / tp
        if best is None or gain > best[0]:
            plan = {"weight_bits": weight_bits, "cache_bits": cache_bits, "tp": tp, "batch": batch}
            best = gain, plan, resident, cached
    gain, plan, resident, cached = best
    return {"serving": {**plan, "gain": gain}, "cache_share": 100 * cached / resident}


def step(given, weight_bits, cache_bits, tp, batch):
    """The resident bytes of one GPU, those of its cache, and the seconds of a step."""
    gpu, layers = given["gpu"], given["layers"]
    resident = cached = flops = hops = 0.0
    for _ in range(layers):
        own = given["billions"] * 1e9 / layers / tp
        resident += own * weight_bits / 8
        for _ in ("keys", "values"):
            cached += batch * given["context"] * given["kv_heads"] * 128 / tp * cache_bits / 8
        flops += batch * (own + own)
        for _ in ("attention", "mlp"):
            hops += (tp - 1) + (tp - 1)
    resident += cached
    reading = resident / (given.fact(gpu, "memory_bandwidth", "B/s") * 0.85)
    arithmetic = flops / (given.fact(gpu, "bf16_dense", "FLOP/s") * 0.6)
    return resident, cached, max(reading, arithmetic) + hops * given["hop"] * 1e-6
