"""Lists every value that the codes stand for and searches the nearest one; counts stored bits."""

from fractions import Fraction
from itertools import pairwise


def nearest(value, codes, scale):
    """Return the code whose value lies nearest."""
    return min(codes, key=lambda code: abs(code * scale - value))


def solve(given):
    """Return each part's answer, found by search among all codes."""
    absmax, weight = Fraction(str(given["absmax"])), Fraction(str(given["weight"]))
    unsigned = range(1 << given["width"])
    offset = len(unsigned) // 2
    codes = [pattern - offset for pattern in unsigned if pattern > 0]
    scale = absmax / max(codes)

    code = nearest(weight, codes, scale)
    values = [code * scale for code in codes]
    midpoints = [(low + high) / 2 for low, high in pairwise(values)]
    worst = max(min(abs(v - middle) for v in values) for middle in midpoints[-3:])

    limit = absmax / Fraction(str(given["ratio"]))
    samples = [limit * part / 60 for part in range(-60, 61)]
    left = {round(sample / scale) for sample in samples}

    groups = 3
    stored = sum(given["width"] for _ in range(groups * given["group"]))
    stored += groups * given["scale_bits"]

    # Steps of three groups with the outlier in the first, against one scale for all.
    tops = [absmax, limit, limit]
    steps = [top / max(codes) for top in tops]
    coarse = [step == scale for step in steps]
    return {
        "read_back": float(code * scale),
        "worst_error": float(worst),
        "codes_left": len(left),
        "bits_per_weight": stored / (groups * given["group"]),
        "group_effect": "confined" if coarse == [True, False, False] else "removed",
    }
