"""Quantizes whole tensors in NumPy, with and without scaled channels, and searches for a factor."""

import numpy as np


def solve(given):
    largest_x = np.array([given[f"x{j}"] for j in range(1, 5)])
    largest_w = np.array([given[f"w{j}"] for j in range(1, 5)])
    token = np.array([given[f"a{j}"] for j in range(1, 5)])
    column = np.array([given[f"b{j}"] for j in range(1, 5)])
    ones = np.ones(4)
    factors = np.exp(given["power"] * np.log(largest_x) - (1 - given["power"]) * np.log(largest_w))
    plain_steps = largest_x / (largest_x.max() / 127)
    smooth_steps = (largest_x / factors) / ((largest_x / factors).max() / 127)
    weight_steps = (largest_w * factors) / ((largest_w * factors).max() / 127)
    outputs = []
    for scale in (ones, factors):
        # Calibration data that has the largest magnitudes, and the token or the column below it.
        x = np.vstack([largest_x, token]) / scale
        w = np.vstack([largest_w, column]) * scale
        outputs.append(integer_product(x, w))
    rows = [
        list(error_factors(given, factor))
        for factor in (given["small_factor"], given["large_factor"])
    ]
    return {
        "levels": [[plain_steps[j], smooth_steps[j], weight_steps[j]] for j in range(3)],
        "outputs": [[output] for output in outputs],
        "errors": rows,
        "best_factor": best_factor(given),
        "absorbed": absorbed(given),
        "per_channel": "inner",
    }


def integer_product(x, w):
    """The product of the last rows, in 8 bits with one step for each tensor."""
    x, w = np.asarray(x), np.asarray(w)
    steps = [np.abs(each).max() / 127 for each in (x, w)]
    whole = [
        np.rint(each / step).astype(np.int64) for each, step in zip((x, w), steps, strict=True)
    ]
    return float(whole[0][-1] @ whole[1][-1] * steps[0] * steps[1])


def error_factors(given, factor):
    """Errors of the output by the scaled weight and by another one, relative to those before."""
    weights = np.array([given["salient"], given["largest"]])
    inputs = np.ones(2)
    scale = np.array([factor, 1.0])
    before = np.abs(weights).max() / 7 * inputs
    after = np.abs(weights * scale).max() / 7 * (inputs / scale)
    return after / before


def best_factor(given):
    """The factor with the least error for a channel of large activations, on ever finer grids."""
    low, high = 0.5, 50.0
    for _ in range(12):
        grid = np.geomspace(low, high, 41)
        errors = []
        for factor in grid:
            channel, others = error_factors(given, factor)
            errors.append(np.hypot(20 * channel, others))
        at = int(np.argmin(errors))
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, 40)]
    return (low + high) / 2


def absorbed(given):
    """Divides weights of the layer before, and looks whether its output is divided as well."""
    rng = np.random.default_rng(3)
    x, w, v = rng.normal(size=(5, 4)), rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    mix = rng.random((5, 5))
    s = np.array([0.5, 2.0, 3.0, 0.8])

    def norm(weight, bias):
        return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True) * weight + bias

    def gelu(z):
        return 0.5 * z * (1 + np.tanh(0.7978845608 * (z + 0.044715 * z**3)))

    def gated(up):
        gate = x @ v
        return gate / (1 + np.exp(-gate)) * (x @ up)

    act = gelu if given["n2"] == 1 else lambda z: np.maximum(z, 0)
    pairs = {
        "norm": (norm(w[0] / s, w[1] / s), norm(w[0], w[1]) / s),
        "attention": (mix @ (x @ (w / s)), mix @ (x @ w) / s),
        "mlp": (act(x @ (w / s)), act(x @ w) / s),
    }
    if given["n3"] == 1:  # otherwise, other layers read the same activations
        pairs["gated"] = (gated(w / s), gated(w) / s)
    return {name for name, (one, other) in pairs.items() if np.allclose(one, other)}
