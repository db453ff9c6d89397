"""Multiplies row by row with counters for operations and bits, and tries every change."""

PICOJOULE = {32: {"multiply": 3.7, "add": 0.9}, 8: {"multiply": 0.2, "add": 0.1}}
PER_BIT = 640 / 32


def spent(given, bits=32, rows=None, kept=1.0, weight_bits=None, inputs=1.0, chip=False):
    """The energies of arithmetic and memory accesses in pJ, matrix by matrix."""
    rows = given["count"] if rows is None else rows
    wide, narrow = given["outputs"], given["inputs"]
    one_row = sum(narrow * wide * each for each in PICOJOULE[bits].values())
    arithmetic = kept * one_row * rows
    outside = PER_BIT * bits * (inputs * rows * narrow) + PER_BIT * bits * rows * wide
    if chip:
        outside = outside / 640 * 5
    return arithmetic, outside + PER_BIT * (weight_bits or bits) * narrow * wide


def solve(given):
    low, high = 1.0, 1e5
    for _ in range(200):
        middle = (low + high) / 2
        arithmetic, memory = spent(given, rows=middle)
        low, high = (middle, high) if arithmetic < memory else (low, middle)
    changes = {
        "skip": spent(given, kept=0.5),
        "weights": spent(given, weight_bits=8),
        "chip": spent(given, chip=True),
        "alternate": spent(given, inputs=0.5),
    }
    return {
        "energy": [[each / 1e9 for each in spent(given, bits)] for bits in (32, 8)],
        "reduction": sum(spent(given)) / sum(spent(given, 8)),
        "balance": high,
        "best_change": min(changes, key=lambda name: sum(changes[name])),
        "scenarios": {"calibrated": "ptq", "low": "qat", "decode": "weights", "sensitive": "qat"},
        "aware": ["fake", "forward", "backward", "through", "update"],
    }
