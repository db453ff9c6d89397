"""Allocates the saved tensors of a step one by one and follows the peak."""

from fractions import Fraction


def solve(given):
    def megabytes(name):
        return Fraction(str(given[name]))

    widths = {"half": (4, 2), "kept": (4, 4), "masks": (1, 1)}
    state = sum(Fraction(given["millions"]) * each for each in (4, 4, 4, 4))

    def peak(samples, low, checkpoint):
        """The largest sum of live tensors in a forward and a backward pass, in MB."""
        layer = sum(
            megabytes(name) / old * (new if low else old) for name, (old, new) in widths.items()
        )
        saved = [samples * (megabytes("stream") if checkpoint else layer)] * given["layers"]
        most = sum(saved)
        for _ in range(given["layers"]):
            if checkpoint:
                most = max(most, sum(saved) + samples * layer)
            saved.pop()
        return most

    samples, micro = given["samples"], given["micro"]
    table = [peak(samples, *how) for how in ((0, 0), (1, 0), (0, 1), (1, 1))]
    parts = 1
    while state + peak(-(-samples // parts), True, False) > megabytes("memory") * 1000:
        parts += 1
    return {
        "activations": [[float(each) / 1000] for each in table],
        "fits": parts,
        "factor": float((state + table[0]) / (state + peak(Fraction(samples, micro), 1, 1))),
        "time": 100 * step_time(given, 3, 1) / step_time(given, 1, 0),
        "effects": {
            "autocast": "faster",
            "checkpointing": "slower",
            "accumulation": "same",
            "offload": "state",
            "zero": "state",
        },
    }


def step_time(given, measures, repeated):
    """The time of a step in forward passes of fp32: forward, backward, and what is repeated."""
    faster = given["speedup"] if measures == 3 else 1
    share = given["percent"] / 100
    passes = [1, 2, *[1] * repeated]
    return sum(share * each / faster + (1 - share) * each for each in passes)
