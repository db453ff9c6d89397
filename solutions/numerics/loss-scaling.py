"""Tries scales one after the other with real fp16 numbers, and steps through the scaler."""

import numpy as np


def fp16(value):
    """Return the value as fp16 stores it."""
    with np.errstate(over="ignore"):
        return np.float16(value)


def solve(given):
    """Return each part's answer, found by trial."""
    exponent = 0
    while fp16(2.0**exponent * given["scale"]) != 0:
        exponent -= 1

    least = 1
    while fp16(least * given["smallest"]) == 0:
        least *= 2
    most = 1
    while np.isfinite(fp16(2 * most * given["largest"])):
        most *= 2

    scale, clean = given["first_scale"], 0
    for step in range(1, given["steps"] + 1):
        if step in (given["first_skip"], given["second_skip"]):
            scale, clean = scale / 2, 0
            continue
        clean += 1
        if clean == 2000:
            scale, clean = scale * 2, 0

    # Each fault with a small and with a large scale: which one goes away?
    def faults(factor):
        return {
            "zero-gradients": fp16(1e-9 * factor) == 0,
            "forward-overflow": not np.isfinite(fp16(128 * 25.0 * 25.0)),
            "absorbed-updates": fp16(fp16(1.5) + fp16(1e-4 * factor / factor)) == fp16(1.5),
            "gradient-overflow": not np.isfinite(fp16(1000.0 * factor)),
        }

    before, after = (faults(1), faults(10_000)) if given["larger"] else (faults(100), faults(1))
    (cured,) = (name for name in before if before[name] and not after[name])
    return {
        "lost_below": exponent,
        "smallest_scale": least,
        "largest_scale": most,
        "scale_at_the_end": int(scale),
        "cured": cured,
    }
