"""Uses autograd and small computations to check the facts."""

from __future__ import annotations

import copy
import math
from functools import cache

import torch
import torch.fx
from torch import nn


@cache
def one_matrix():
    torch.manual_seed(0)
    one, two = nn.Linear(6, 9), nn.Linear(9, 4)
    x = torch.randn(5, 6)
    weight = two.weight @ one.weight
    bias = two.weight @ one.bias + two.bias
    return torch.allclose(two(one(x)), x @ weight.T + bias, atol=1e-5)


def depends_on_input(which):
    """Whether the gradient of the weight or of the input changes with the input."""
    torch.manual_seed(0)
    weight, upstream = torch.randn(3, 4), torch.randn(2, 3)
    found = []
    for _ in range(2):
        x, w = torch.randn(2, 4, requires_grad=True), weight.clone().requires_grad_()
        (x @ w.T).backward(upstream)
        found.append((w if which == "weight" else x).grad)
    return not torch.allclose(*found)


def is_linear(pool):
    torch.manual_seed(0)
    x, y = torch.randn(2, 1, 1, 8, 8)
    return torch.allclose(pool(2 * x + y), 2 * pool(x) + pool(y), atol=1e-5)


@cache
def attention_sums():
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(1, 5, 8)
    weights = layer(x, x, x, average_attn_weights=False)[1][0]  # head, query, key

    def is_one(sums):
        return torch.allclose(sums, torch.ones_like(sums), atol=1e-4)

    return {"keys": is_one(weights.sum(-1)), "heads": is_one(weights.sum(0))}


@cache
def prints_of_traced_graph(runs=100):
    printed = []

    def doubled(x):
        printed.append("text")
        return 2 * x

    graph = torch.fx.symbolic_trace(doubled)
    for _ in range(runs):
        graph(torch.ones(2))
    return len(printed)


@cache
def initial_loss(classes):
    logits = torch.zeros(1, classes, dtype=torch.float64)
    return float(nn.functional.cross_entropy(logits, torch.tensor([0])))


@cache
def gradients_differ():
    """Whether two optimizers get different gradients; also checks who changes the weights."""
    torch.manual_seed(0)
    x, target = torch.randn(8, 5), torch.randn(8, 3)
    start = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))
    found, weights = [], []
    for kind in (torch.optim.SGD, torch.optim.Adam):
        model = copy.deepcopy(start)
        optimizer = kind(model.parameters(), lr=0.1)
        (model(x) - target).square().mean().backward()
        pairs = zip(model.parameters(), start.parameters(), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)  # not moved yet
        found.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
        optimizer.step()
        weights.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    assert not torch.allclose(*weights)
    return not torch.equal(*found)


@cache
def layers_of_classifier(hidden):
    """Builds MLPs, and returns the numbers of linear layers and ReLUs of the one that fits."""
    torch.manual_seed(0)
    found = []
    for linear in range(1, hidden + 3):
        for relus in (linear - 1, linear):
            layers = []
            for at in range(linear):
                layers += [nn.Linear(8, 8), nn.ReLU()] if at < relus else [nn.Linear(8, 8)]
            inner = sum(isinstance(layer, nn.ReLU) for layer in layers[:-1])
            signed = bool((nn.Sequential(*layers)(torch.randn(200, 8)) < 0).any())
            if inner == hidden and signed:
                found.append((linear, relus))
    (counts,) = found
    return counts


def levels(width, length):
    needs = {"A": []}
    for chain in range(width):
        for at in range(length):
            needs[chain, at] = [(chain, at - 1) if at else "A"]
    needs["Z"] = [(chain, length - 1) for chain in range(width)]
    ends = {}
    for name, before in needs.items():
        ends[name] = 1 + max((ends[b] for b in before), default=0)
    return ends["Z"]


def loop_time(size, bandwidth, latency, *, prefetched):
    """Time of a loop whose reads are in flight together: prefetching removes only the first wait."""
    return size / bandwidth + (0 if prefetched else latency)


def claims(first):
    sums = attention_sums()
    gain = loop_time(1e9, 1e11, 1e-7, prefetched=False) / loop_time(
        1e9, 1e11, 1e-7, prefetched=True
    )
    printed = prints_of_traced_graph()
    return {
        "two_linear_layers": [one_matrix() is first, "product"],
        "linear_backward": [depends_on_input("weight" if first else "input"), "bilinear"],
        "linear_pooling": [is_linear(nn.AvgPool2d(2) if first else nn.MaxPool2d(2)), "sums"],
        "softmax_of_heads": [sums["keys" if first else "heads"], "per-head"],
        "traced_print": [printed == (100 if first else 1), "only-operations"],
        "two_optimizers": [gradients_differ() is first, "afterward"],
        "one_memory": [not first, "compete"],
        "with_prefetching": [(gain < 1.001) is not first, "same-bytes"],
        "numa_node": [not first, "distances"],
    }


def claims_as_worded(given):
    """The claims, each with the wording that was drawn for it."""
    both = {first: claims(first) for first in (True, False)}
    return {name: both[given[f"{name}_first"]][name] for name in both[True]}


def solve(given):
    classes, width, length = (int(given[name]) for name in ("classes", "width", "length"))
    losses = {"natural": math.log(classes), "binary": math.log2(classes)}
    losses |= {"decimal": math.log10(classes), "share": 1 - 1 / classes}
    loss = initial_loss(classes)
    hidden = int(given["hidden"])
    built = {"one-more": (hidden + 1, hidden), "each-hidden": (hidden, hidden)}
    built |= {"also-output": (hidden + 1, hidden + 1), "between": (hidden, hidden - 1)}
    counts = layers_of_classifier(hidden)
    steps = {"levels": length + 2, "work": width * length + 2, "chains": width + 2, "inner": length}
    return {
        **claims_as_worded(given),
        "first_loss": min(losses, key=lambda name: abs(losses[name] - loss)),
        "compiled_before": "cython",
        "linear_and_relu": next(name for name, pair in built.items() if pair == counts),
        "steps_of_graph": next(name for name, n in steps.items() if n == levels(width, length)),
        "other_accelerator": "xla",
        "same_address": "temporal",
        "items_in_system": "Little",
        "mean_of_ratios": "geometric",
        "hidden_positions": "causal mask",
    }
