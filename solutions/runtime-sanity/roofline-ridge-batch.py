"""Climb to the ridge by bisection, size the layer's arrays, and search for the knee."""

import numpy as np


def solve(given):
    """Bytes from array shapes, FLOPs from output elements, the knee from trying batches."""
    peak = given.fact(given["gpu"], "fp16_dense", "FLOP/s")
    bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/s")
    d_in, d_out = given["d_in"], given["d_out"]

    def times(batch, bits=16, with_activations=True):
        weights, rows, outputs = array(d_in, d_out), array(batch, d_in), array(batch, d_out)
        flops = outputs.size * (d_in + d_in)  # a dot product: multiplications and additions
        moved = weights.nbytes * bits / 16
        if with_activations:
            moved += rows.nbytes + outputs.nbytes
        return flops / peak, moved / bandwidth

    arithmetic, memory = times(given["batch"])
    growth = max(times(2 * given["batch"])) / max(arithmetic, memory)
    before = first(lambda b: is_compute_bound(times(b, 16, with_activations=False)))
    after = first(lambda b: is_compute_bound(times(b, given["wbits"], with_activations=False)))
    shrink = {"same": 1.0, "half": 0.5, "quarter": 0.25, "larger": 16 / given["wbits"]}
    return {
        "ridge": ridge_of(peak, bandwidth),
        "call_time": max(arithmetic, memory) * 1e6,
        "twice": "same" if growth < 1.2 else "between" if growth < 1.8 else "double",
        "smallest_batch": first(lambda b: is_compute_bound(times(b))),
        "quantized": min(shrink, key=lambda name: abs(after / before - shrink[name])),
    }


def array(*shape):
    """An fp16 array of this shape that takes no memory."""
    return np.broadcast_to(np.float16(0), shape)


def is_compute_bound(times):
    """True when the arithmetic takes at least as long as the traffic."""
    return times[0] >= times[1]


def ridge_of(peak, bandwidth):
    """The intensity at which the slanted roof meets the flat one, by bisection."""
    low, high = 0.0, 1e6
    for _ in range(80):
        middle = (low + high) / 2
        if middle * bandwidth < peak:
            low = middle
        else:
            high = middle
    return high


def first(holds):
    """The smallest batch for which *holds*, which once true stays true."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high
