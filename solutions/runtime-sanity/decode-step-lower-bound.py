"""Lay out the caches as arrays, add up what a step reads, and try a huge batch."""

import numpy as np


def solve(given):
    """Take bytes from array shapes, times from sums, and the limit from a batch of a billion."""
    peak = given.fact(given["gpu"], "bf16_dense", "FLOP/s")
    bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/s")
    parameters = given["billions"] * 1e9
    weights = parameters / (8 / given["wbits"])

    # A broadcast view has the shape and the size of the cache without taking its memory.
    shape = (given["context"], given["kv_heads"], given["head_dim"])
    cache = 0
    for _ in range(given["layers"]):
        keys = np.broadcast_to(np.float16(0), shape)
        values = np.broadcast_to(np.float16(0), shape)
        cache += keys.nbytes + values.nbytes

    def step(batch, weight_share=1.0, cache_share=1.0, speed=1.0):
        reading = (weights * weight_share + cache * cache_share * batch) / bandwidth
        computing = batch * (parameters + parameters) / (peak * speed)
        return max(reading, computing)

    big = given["big"]
    changes = {
        "weights": step(big, weight_share=0.5),
        "cache": step(big, cache_share=0.5),
        "peak": step(big, speed=2.0),
        "graph": step(big),
    }
    huge = 10**12
    return {
        "cache": cache / 1e6,
        "steps": [[step(b) * 1e3, b / step(b)] for b in (1, 4, big)],
        "lever": min(changes, key=changes.get),
        "limit": huge / step(huge),
        "large_batch": "arithmetic" if step(huge, speed=1.1) < step(huge) else "caches",
    }
