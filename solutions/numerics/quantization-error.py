"""Lists every value that the codes stand for and searches the nearest one; goes through a row."""

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
    midpoints = [(low + high) / 2 for low, high in pairwise(values[-4:])]
    worst = max(min(abs(v - middle) for v in values) for middle in midpoints)

    limit = absmax / Fraction(str(given["ratio"]))
    samples = [limit * part / 60 for part in range(-60, 61)]
    left = {round(sample / scale) for sample in samples}

    # A whole row, weight by weight: the largest magnitude that determines each weight's scale.
    groups = given["inputs"] // given["group"]
    tops = [absmax if g == 1 else limit for g in range(groups) for _ in range(given["group"])]
    square = {top: (top / max(codes)) ** 2 / 12 for top in (absmax, limit)}
    squares = sum(square[top] for top in tops)
    return {
        "dequantized": float(code * scale),
        "worst_error": float(worst),
        "codes_left": len(left),
        "coarse_share": 100 * tops.count(absmax) / len(tops),
        "gain": float(len(tops) * scale**2 / 12 / squares),
    }
