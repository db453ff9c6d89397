"""Runs optimizers and counts operations to check the facts."""

from __future__ import annotations

from functools import cache

import torch
from torch import nn


@cache
def displacement(kind, scale, steps=30):
    """How far an optimizer moves a weight under constant gradients, multiplied by *scale*."""
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = kind([weight], lr=0.01)
    for _ in range(steps):
        weight.grad = torch.full_like(weight, 0.3 * scale)
        optimizer.step()
    return abs(float(weight.detach()))


@cache
def clipped_after_unscaling():
    """Whether a gradient below the threshold survives only if it is unscaled first."""
    scale, threshold = 2.0**16, 1.0
    true = torch.tensor([0.3, 0.4])

    def clip(g):
        return g * min(1.0, threshold / float(g.norm()))

    first = clip(true * scale / scale)
    last = clip(true * scale) / scale
    return torch.allclose(first, true) and not torch.allclose(last, true)


@cache
def stable(rate, delay, steps=400):
    path = [1.0] * (delay + 1)
    for _ in range(steps):
        path.append(path[-1] - rate * path[-1 - delay])
    return abs(path[-1]) < 1


@cache
def decays_alike():
    weights = [torch.ones(1, requires_grad=True) for _ in range(2)]
    optimizer = torch.optim.AdamW(weights, lr=0.1, weight_decay=0.1)
    plain = [torch.ones(1, requires_grad=True) for _ in range(2)]
    other = torch.optim.AdamW(plain, lr=0.1, weight_decay=0.0)
    for group, one in ((weights, optimizer), (plain, other)):
        for weight, size in zip(group, (100.0, 0.01), strict=True):
            weight.grad = torch.full_like(weight, size)
        one.step()
    lost = [float(p.detach() - w.detach()) for w, p in zip(weights, plain, strict=True)]
    return abs(lost[0] - lost[1]) < 1e-6


@cache
def last_step(kind):
    return displacement(kind, 1, 200) - displacement(kind, 1, 199)


@cache
def means_agree(sizes):
    torch.manual_seed(0)
    groups = [torch.randn(n) for n in sizes]
    means = torch.stack([g.mean() for g in groups])
    return bool(torch.isclose(means.mean(), torch.cat(groups).mean()))


@cache
def rank_of_updates(rank=2, refreshes=3):
    torch.manual_seed(0)
    total = torch.zeros(12, 12)
    for _ in range(refreshes):
        gradient = torch.randn(12, 12)
        basis = torch.linalg.svd(gradient).U[:, :rank]
        total += basis @ (basis.T @ gradient)
    return int(torch.linalg.matrix_rank(total))


@cache
def first_adam_step(gradient=1e-3, rate=0.02):
    weight = nn.Parameter(torch.zeros(1))
    weight.grad = torch.full_like(weight, gradient)
    torch.optim.Adam([weight], lr=rate).step()
    moved = abs(float(weight.detach()))
    sizes = {"rate": rate, "times-gradient": rate * gradient, "tenth": rate / 10}
    sizes["over-gradient"] = rate / gradient
    return min(sizes, key=lambda name: abs(sizes[name] - moved))


@cache
def without_loss_scaling(size=1e-9, rows=4, width=8):
    """The change that lets gradients of this size update a weight."""

    def gradient(dtype):
        weight = torch.zeros(width, requires_grad=True)  # a master copy in fp32
        output = torch.ones(rows, width, dtype=dtype) @ weight.to(dtype)
        output.backward(torch.full_like(output, size / rows))
        return weight.grad

    # Even if the contributions were exact, their fp32 sum would be stored in fp16.
    wide = torch.full((rows, width), size / rows).sum(0).half().float()
    updates = {"bf16": gradient(torch.bfloat16), "master": gradient(torch.float16)}
    updates |= {"accumulate": wide, "rate": 1e6 * gradient(torch.float16)}
    (right,) = (name for name, update in updates.items() if update.any())
    return right


def products_per_weight():
    """Multiplications and additions per weight and row: output, input gradient, weight gradient."""
    rows, inputs, outputs = 3, 5, 7
    products = [(rows, inputs, outputs), (rows, outputs, inputs), (outputs, rows, inputs)]
    return sum(2 * a * b * c for a, b, c in products) / (rows * inputs * outputs)


def claims(given, first):
    steps = int(given["steps"])
    kind = torch.optim.SGD if first else torch.optim.Adam
    grows = displacement(kind, steps) / displacement(kind, 1) > 0.9 * steps
    shrinking = torch.optim.Adam if first else torch.optim.Adagrad
    shrinks = last_step(shrinking) < 0.5 * displacement(shrinking, 1, 1)
    narrower = stable(1.5, 0) and not stable(1.5, 1)
    return {
        "undivided_sum": [grows, "normalized"],
        "order_of_clipping": [clipped_after_unscaling() is first, "true-norm"],
        "old_gradients": [narrower is first, "overshoot"],
        "examples_in_prompt": [first, "context"],
        "decay_of_weights": [decays_alike() is not first, "direct"],
        "shrinking_steps": [shrinks, "sum-of-squares"],
        "mean_of_means": [means_agree((4, 12) if first else (8, 8)), "equal-weights"],
        "rank_of_sum": [(rank_of_updates() > 2) is not first, "subspaces"],
    }


def claims_as_worded(given):
    """The claims, each with the wording that was drawn for it."""
    both = {first: claims(given, first) for first in (True, False)}
    return {name: both[given[f"{name}_first"]][name] for name in both[True]}


def solve(given):
    names = {2: "two", 4: "four", 6: "six", 8: "eight"}
    return {
        **claims_as_worded(given),
        "first_adam_step": first_adam_step(),
        "projection": "svd",
        "lost_gradients": without_loss_scaling(),
        "training_operations": names[round(products_per_weight())],
        "state_too_large": "shard",
        "look_ahead": "Nesterov",
        "first_steps": "warmup",
        "updates_since_read": "staleness",
        "inserted_layers": "adapter",
    }
