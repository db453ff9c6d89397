"""Count what every node gets done in an hour, and compare it with the node that works alone.

The road differs from the formulas: both series become exact rates of sequences per node and second,
so efficiency is one ratio of rates for both; cost comes from training a fixed number of
sequences on each number of nodes.
"""

from fractions import Fraction


def exact(value):
    return Fraction(repr(value))


def rate(batch, milliseconds):
    """Return the sequences per second."""
    return exact(batch) / (exact(milliseconds) / 1000)


def solve(given):
    base, batch = given["base_time"], given["node_batch"]
    middle, large = given["middle_nodes"], given["large_nodes"]
    times = {
        ("F", middle): round(base / (middle * given["strong_middle"]), 1),
        ("F", large): round(base / (large * given["strong_large"]), 1),
        ("G", middle): round(base / given["weak_middle"], 1),
        ("G", large): round(base / given["weak_large"], 1),
    }
    alone = rate(batch, base)

    def efficiency(series, nodes):
        total = batch if series == "F" else nodes * batch
        each = rate(total, times[series, nodes]) / nodes
        return float(100 * each / alone)

    sequences = 10**9
    hours_alone = sequences / alone
    hours_large = sequences / rate(batch, times["F", large])
    names = {"finish": "F", "per_gpu": "G", "amdahl": "F", "gustafson": "G"}
    kinds = {"F": "strong", "G": "weak"}
    return {
        "efficiencies": [[efficiency("F", n), efficiency("G", n)] for n in (middle, large)],
        "cost": float(large * hours_large / hours_alone),
        "throughput": float(rate(large * batch, times["G", large])),
        "names": {**{k: kinds[v] for k, v in names.items()}, "batch_sweep": "neither"},
    }
