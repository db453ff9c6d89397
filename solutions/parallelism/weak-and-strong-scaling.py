"""Count what every node gets done in an hour, and compare it with the node that works alone.

The road differs from the formulas: both series become exact rates of sequences per node and second,
so efficiency is one ratio of rates for both; cost comes from training a fixed number of
sequences on each number of nodes, the factor of the steps from two runs that end together, and
Gustafson's serial share from bisecting a step that is played on one node.
"""

from fractions import Fraction

BATCH = 256  # any batch of one node


def exact(value):
    return Fraction(repr(value))


def rate(batch, milliseconds):
    """Return the sequences per second."""
    return exact(batch) / (exact(milliseconds) / 1000)


def alone_for(share, nodes):
    """Return the time on one node of what *nodes* nodes do in one unit of time."""
    return share + sum((1 - share) for _ in range(nodes))


def gustafson(speedup, nodes):
    """Return the serial share with which one node takes *speedup* times as long."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if alone_for(middle, nodes) > speedup else (low, middle)
    return low


def solve(given):
    base = given["base_time"]
    middle, large = given["middle_nodes"], given["large_nodes"]
    times = {
        ("fixed", middle): round(base / (middle * given["strong_middle"]), 1),
        ("fixed", large): round(base / (large * given["strong_large"]), 1),
        ("growing", middle): round(base / given["weak_middle"], 1),
        ("growing", large): round(base / given["weak_large"], 1),
    }
    alone = rate(BATCH, base)

    def efficiency(series, nodes):
        total = BATCH if series == "fixed" else nodes * BATCH
        each = rate(total, times[series, nodes]) / nodes
        return float(100 * each / alone)

    sequences = 10**9
    hours_alone = sequences / alone
    hours_large = sequences / rate(BATCH, times["fixed", large])
    deadline = 10**9  # ms
    steps = {series: deadline / exact(times[series, large]) for series in ("fixed", "growing")}
    scaled = rate(large * BATCH, times["growing", large]) / alone
    names = {"finish": "fixed", "per_gpu": "growing", "amdahl": "fixed", "gustafson": "growing"}
    kinds = {"fixed": "strong", "growing": "weak"}
    return {
        "efficiencies": [[efficiency(s, n) for s in ("fixed", "growing")] for n in (middle, large)],
        "cost": float(large * hours_large / hours_alone),
        "break_even": float(steps["fixed"] / steps["growing"]),
        "serial_share": 100 * gustafson(float(scaled), large),
        "names": {**{k: kinds[v] for k, v in names.items()}, "batch_sweep": "neither"},
    }
