"""Quantizes, prunes, and differentiates small tensors to check the facts."""

from __future__ import annotations

from functools import cache

import torch
from torch import nn


@cache
def merged_is_one_matrix():
    torch.manual_seed(0)
    x, weight = torch.randn(5, 16), torch.randn(8, 16)
    down, up = torch.randn(2, 16), torch.randn(8, 2)
    apart = x @ weight.T + x @ down.T @ up.T
    return torch.allclose(x @ (weight + up @ down).T, apart, atol=1e-4)


@cache
def penalized(power, steps=4000, rate=0.01, strength=0.5):
    """Minimizes (w - a)²/2 plus a penalty by proximal steps; returns the share of zeros."""
    goal = torch.linspace(-1, 1, 101)
    weight = goal.clone()
    for _ in range(steps):
        weight = weight - rate * (weight - goal)
        if power == 1:
            weight = weight.sign() * (weight.abs() - rate * strength).clamp(min=0)
        else:
            weight = weight / (1 + rate * strength)
    return float((weight == 0).double().mean())


@cache
def rest_error(outlier):
    torch.manual_seed(0)
    weights = torch.rand(1000) * 2 - 1
    weights[0] = outlier
    step = weights.abs().max() / 127
    return float((weights - (weights / step).round() * step)[1:].abs().max())


@cache
def lora_gradients(start):
    down, up = (torch.full(s, start, requires_grad=True) for s in ((2, 6), (4, 2)))
    x, target = torch.randn(3, 6), torch.randn(3, 4)
    (x @ down.T @ up.T - target).square().sum().backward()
    return bool(down.grad.any() or up.grad.any())


@cache
def first_change(kind, rank, alpha=16.0, inputs=256, outputs=64):
    """How far one step of an optimizer moves the output for the input that it was made on."""
    torch.manual_seed(0)
    weight, x, target = torch.randn(outputs, inputs), torch.randn(inputs), torch.randn(outputs)
    down = torch.randn(rank, inputs, requires_grad=True)
    up = torch.zeros(outputs, rank, requires_grad=True)

    def output():
        return weight @ x + alpha / rank * (up @ (down @ x))

    before = output()
    optimizer = kind([down, up], lr=1e-5)
    (before - target).square().sum().backward()
    optimizer.step()
    return float((output() - before).detach().norm())


@cache
def unchanged_by_rank(kind, rank=256):
    return abs(first_change(kind, 2 * rank) / first_change(kind, rank) - 1) < 0.1


def entropy(temperature):
    p = torch.softmax(torch.tensor([4.0, 2.0, 1.0]) / temperature, 0)
    return float(-(p * p.log()).sum())


@cache
def share_of_weights(kept):
    full, pruned = 100, kept
    sizes = [nn.Conv2d(n, n, 3, device="meta").weight.numel() for n in (full, pruned)]
    return 100 * sizes[1] / sizes[0]


def dense_multiplications(weights, rows=4):
    """Counts what a dense kernel multiplies: every element, whatever its value."""
    return sum(1 for _ in range(rows) for line in weights for _ in line)


def claims(first):
    weights = torch.rand(10, 10)
    pruned = torch.where(weights < 0.6, 0, weights)
    same_work = dense_multiplications(weights.tolist()) == dense_multiplications(pruned.tolist())
    merged = merged_is_one_matrix()
    grows = rest_error(100.0) > 2 * rest_error(1.0)
    return {
        "scattered_zeros": [same_work is first, "multiplied"],
        "w4a16": [first, "expanded"],
        "merged_update": [merged is first, "same-shape"],
        "doubled_rank": [
            unchanged_by_rank(torch.optim.Adam if first else torch.optim.SGD),
            "scaled-gradient",
        ],
        "exact_zeros": [penalized(1 if first else 2) > 0.2, "constant-pull"],
        "one_outlier": [grows is not first, "one-step"],
        "both_factors_zero": [lora_gradients(0.0) is first, "other-factor"],
        "one_layer_at_a_time": [not first, "interact"],
        "hotter_softmax": [(entropy(4) > entropy(1)) is not first, "smaller-differences"],
    }


def claims_as_worded(given):
    """The claims, each with the wording that was drawn for it."""
    both = {first: claims(first) for first in (True, False)}
    return {name: both[given[f"{name}_first"]][name] for name in both[True]}


def solve(given):
    kept = int(given["kept"])
    shares = {"squared": kept**2 / 100, "outputs-only": kept, "fourth": kept**4 / 1e6}
    shares["removed"] = 100 - kept**2 / 100
    remains = share_of_weights(kept)
    return {
        **claims_as_worded(given),
        "apoz": "rarely-active",
        "network_slimming": "scales",
        "kept_channels": min(shares, key=lambda name: abs(shares[name] - remains)),
        "galore_memory": "moments",
        "without_training": "post-training quantization",
        "codes_of_qlora": "NF4",
        "trained_with_rounding": "quantization-aware training",
        "taught_by_a_model": "soft labels",
    }
