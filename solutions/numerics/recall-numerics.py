"""Checks the facts by computing with the formats, where that is possible."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch


@cache
def sum_of_ones(count):
    total = torch.zeros((), dtype=torch.float16)
    for _ in range(count):
        total = total + torch.ones((), dtype=torch.float16)
    return float(total)


def online_softmax(row, tile):
    top, total = -math.inf, 0.0
    for start in range(0, len(row), tile):
        part = row[start : start + tile]
        new = max(top, part.max())
        total = total * math.exp(top - new) + np.exp(part - new).sum()
        top = new
    return np.exp(row - top) / total


@cache
def positive_e2m1():
    values = []
    for bits in range(1, 8):
        exponent, fraction = bits >> 1, bits & 1
        values.append((1 + fraction / 2) * 2 ** (exponent - 1) if exponent else fraction / 2)
    return ", ".join(f"{value:g}" for value in values)


@cache
def largest_error(dtype, low, high, scale=1.0):
    """Largest relative error of rounding, over a fine grid of fp32 numbers of all magnitudes."""
    grid = torch.logspace(math.log10(low), math.log10(high), 200_001, dtype=torch.float64)
    exact = grid.float().clamp(low, high)
    rounded = (exact * scale).to(dtype).double() / scale
    return float(((rounded - exact.double()) / exact.double()).abs().max())


@cache
def bit_patterns_of_fp16():
    """The gap above 1, the largest number, and the smallest one, among all 65,536 patterns."""
    values = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float64)
    values = np.unique(values[np.isfinite(values) & (values > 0)])
    return values[values > 1].min() - 1, values.max(), values.min()


def claims(first):
    smaller = torch.finfo(torch.bfloat16).max < torch.finfo(torch.float32).max
    scaled = torch.tensor(100.0 * 2**16, dtype=torch.float16).isinf().item()
    below = sum_of_ones(5000) < 5000
    step = 0.7 / 7
    zero = round(0.0 / step) * step == 0.0
    nan = float("nan")
    numbers = np.array([1e8, 1.0, -1e8], np.float32)
    reordered = (numbers[0] + numbers[1]) + numbers[2] != (numbers[0] + numbers[2]) + numbers[1]
    tiny = {
        kind: torch.tensor(1e-8).to(kind).item() == 0 for kind in (torch.float16, torch.bfloat16)
    }
    low, high = (0.01, 100) if first else (1e-12, 1)
    half, brain = (largest_error(kind, low, high) for kind in (torch.float16, torch.bfloat16))
    plain, lifted = (largest_error(torch.bfloat16, 1e-20, 1, scale) for scale in (1.0, 1024.0))
    row = np.random.default_rng(0).normal(size=64) * 5
    exact = np.exp(row) / np.exp(row).sum()
    same = all(np.allclose(online_softmax(row, tile), exact) for tile in (1, 8, 32))
    return {
        "largest_value": [smaller is first, "fewer-fraction-bits"],
        "scaled_overflow": [scaled is first, "multiplied"],
        "sum_of_ones": [below is first, "spacing"],
        "value_of_zero": [zero is first, "code-zero"],
        "closer_in_fp16": [half < brain, "trade"],
        "scaled_by_1024": [lifted < plain if first else lifted == plain, "within-range"],
        "nan_comparison": [(nan == nan) is first, "unordered"],
        "order_of_sum": [bool(reordered) is not first, "rounded-each"],
        "tiny_gradient": [tiny[torch.bfloat16 if first else torch.float16], "smallest"],
        "tiles_of_softmax": [same is not first, "rescaled"],
    }


def choices(given):
    options = {
        "0.5, 1, 1.5, 2, 3, 4, 6": "right",
        "0.5, 1, 1.5, 2, 2.5, 3, 3.5": "even-steps",
        "1, 2, 3, 4, 5, 6, 7": "integers",
        "0.25, 0.5, 1, 2, 4, 8, 16": "powers",
    }
    # Codes from both ends of the range, one step apart.
    grid = np.linspace(-1, given["top"], 256)
    step = grid[1] - grid[0]
    steps = {
        "range": (given["top"] + 1) / 255,
        "codes": (given["top"] + 1) / 256,
        "positive": given["top"] / 255,
        "symmetric": given["top"] / 127,
    }
    half = {
        "right": (2**-10, 65504, 2**-24),
        "no-leading-zeros": (2**-10, 65504, 2**-14),
        "fewer-fraction-bits": (2**-7, 65504, 2**-24),
        "unsigned": (2**-10, 65535, 2**-24),
    }
    return {
        "three_numbers": next(n for n, three in half.items() if three == bit_patterns_of_fp16()),
        "four_bit_values": options[positive_e2m1()],
        "symmetric_weights": "sum-inputs",
        "min_max_step": min(steps, key=lambda name: abs(steps[name] - step)),
        "block_scale": "power",
    }


TERMS = {
    "gap_above_one": "machine epsilon",
    "no_hidden_bit": "subnormal",
    "unbiased_rule": "stochastic rounding",
    "rounding_gradient": "straight-through estimator",
}


def claims_as_worded(given):
    """The claims, each with the wording that was drawn for it."""
    both = {first: claims(first) for first in (True, False)}
    return {name: both[given[f"{name}_first"]][name] for name in both[True]}


def solve(given):
    return {**claims_as_worded(given), **choices(given), **TERMS}
