"""Works in long floats, where nothing overflows, and lets fp32 overflow by itself."""

import numpy as np


def solve(given):
    logits = np.array([given["top"], given["top"] - given["gap"]], np.float64)
    powers = np.exp(logits)
    with np.errstate(over="ignore"):
        overflows = np.isinf(np.exp(np.float32(given["top"])))
    return {"probability": powers[0] / powers.sum(), "overflow": "yes" if overflows else "no"}
