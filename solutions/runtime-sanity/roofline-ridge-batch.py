"""Walk up the roofline and count the layer's work output by output, instead of solving for the knee."""

HALF = 2  # bytes of an fp16 number


def solve(given):
    """Bisect for the ridge, add up one call, and search the batches one power of two at a time."""
    peak = given.fact(given["gpu"], "fp16_dense", "FLOP/s")
    bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/s")
    d_in, d_out = given["d_in"], given["d_out"]

    def times(batch, weight_bytes=HALF, with_activations=True):
        flops = moved = 0
        for _ in range(d_out):  # one output column: a dot product a row, one column of weights
            flops += batch * 2 * d_in
            moved += d_in * weight_bytes
            moved += batch * HALF if with_activations else 0
        moved += batch * d_in * HALF if with_activations else 0
        return flops / peak, moved / bandwidth

    arithmetic, memory = times(given["batch"])
    stored = given["wbits"] / 8
    before = first(lambda b: is_compute_bound(times(b, HALF, with_activations=False)))
    after = first(lambda b: is_compute_bound(times(b, stored, with_activations=False)))
    shrink = {"same": 1.0, "half": 0.5, "quarter": 0.25, "larger": 16 / given["wbits"]}
    return {
        "ridge": ridge_of(peak, bandwidth),
        "call_time": (arithmetic if arithmetic >= memory else memory) * 1e6,
        "bound": "compute" if arithmetic >= memory else "memory",
        "knee": first(lambda b: is_compute_bound(times(b))),
        "quantised": min(shrink, key=lambda name: abs(after / before - shrink[name])),
    }


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
