"""Evaluates everything with 16-bit tensors of PyTorch, and searches for the limits."""

import math

import torch

INF = math.inf


def solve(given):
    return {
        "results": {name: outcome(value) for name, value in evaluated(given).items()},
        "rms": threshold(lambda a: given["width"] * a * a),
        "queries": threshold(lambda a: given["head"] * (a / given["head"] ** 0.5) * a)
        / threshold(lambda a: given["head"] * a * a),
        "gap": gap(given["mean"]),
        "masked": masked(given["mask"]),
        "clipped": clipped(given["value"]),
        "remedy": remedy(given["fault"]),
    }


def half(value):
    return torch.tensor(value, dtype=torch.float32).half()


def evaluated(given):
    inf, zero, one = half(INF), half(0.0), half(1.0)
    known = {
        "inf − inf": inf - inf,
        "0 · inf": zero * inf,
        "inf / inf": inf / inf,
        "0 / 0": zero / zero,
        "inf · 0 + 1": inf * zero + one,
        "inf + 1": inf + one,
        "2 · inf": half(2.0) * inf,
        "1 / 0": one / zero,
        "inf + inf": inf + inf,
        "inf · inf": inf * inf,
    }
    return {
        "over": half(given["over"]) * half(given["over"]),
        "under": half(given["under"]) * half(given["under"]),
        "undefined": known[given["undefined"]],
        "fine": known[given["fine"]],
        "tiny": half(given["tiny"]),
        "small": half(given["small"]),
        "exponentials": half(12.0).exp() - half(12.0).exp(),
        "log": half(given["tiny"]).log(),
    }


def outcome(value):
    if value.isnan():
        return "nan"
    if value.isinf():
        return "infinite" if value > 0 else "negative"
    return "zero" if value == 0 else "finite"


def threshold(product):
    """The smallest value for which the product is infinite after conversion, by bisection."""
    low, high = 0.0, 1e5
    for _ in range(80):
        middle = (low + high) / 2
        exact = torch.tensor(product(middle), dtype=torch.float64)
        low, high = (low, middle) if exact.half().isinf() else (middle, high)
    return high


def gap(mean):
    """The next bf16 number above that at the square of the mean, by its bits."""
    here = torch.tensor(float(mean * mean), dtype=torch.bfloat16)
    following = (here.view(torch.int16) + 1).view(torch.bfloat16)
    return float(following) - float(here)


def masked(text):
    score = -INF if text == "minus infinity" else -10000.0
    weights = torch.softmax(torch.full((8,), score, dtype=torch.bfloat16), -1)
    if weights.isnan().all():
        return "nan"
    return "uniform" if torch.allclose(weights.float(), torch.tensor(1 / 8)) else "zeros"


def clipped(text):
    gradients = torch.tensor([0.5, INF if text == "infinity" else math.nan, -2.0])
    after = gradients * (1 / gradients.norm())
    if after.isnan().all():
        return "all"
    return "one" if after[1].isnan() and (after[[0, 2]] == 0).all() else "unchanged"


def remedy(fault):
    zero, branch = half(0.0), torch.tensor(300.0)
    assert (branch.half() * branch.half()).isinf()
    repaired = {
        "gate": ("bf16_mlp", branch.bfloat16() * branch.bfloat16()),
        "scale": ("lower", half(2.0**-3 * 2.0**18)),
        "epsilon": ("larger", zero / (zero + half(1e-5)).sqrt()),
    }
    name, value = repaired[fault]
    assert value.isfinite()
    return name
