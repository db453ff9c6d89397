"""Runs the loops with torch on one weight, and counts memory and steps on a small model."""

import math

import torch

ORDER = ["clear", "backward", "unscale", "clip", "step", "update", "schedule"]


def solve(given):
    m, updates = given["m"], given["updates"]

    def train(variant, optimizer):
        weight = torch.nn.Parameter(torch.zeros((), dtype=torch.float64))
        optimizer = optimizer([weight])
        path = []
        for i in range(updates * m):
            if variant == "cleared":
                optimizer.zero_grad()
            loss = given["gradient"] * weight
            if variant != "undivided":
                loss = loss / m
            loss.backward()
            if (i + 1) % m == 0 or variant == "stepped":
                optimizer.step()
                path.append(weight.item())
            if (i + 1) % m == 0 and variant not in ("uncleared", "cleared"):
                optimizer.zero_grad()
        return path

    def sgd(weights):
        return torch.optim.SGD(weights, lr=given["rate"])

    def adam(weights):
        return torch.optim.Adam(weights, lr=given["rate"], eps=0.0)

    variants = ["undivided", "uncleared", "cleared", "stepped"]
    correct = train("correct", adam)
    steps = 0
    for _ in range(given["epochs"]):
        for i, _start in enumerate(range(0, given["samples"], given["micro"])):
            steps += (i + 1) % m == 0
    return {
        "order": ORDER,
        "moved": [[abs(train(variant, sgd)[-1])] for variant in variants],
        "adam": {variant for variant in variants if same(train(variant, adam), correct)},
        "memory": [[per_parameter * given["billions"]] for per_parameter in memory()],
        "steps": steps,
        "between": {"rate", "replaced"},
    }


def same(path, other):
    return len(path) == len(other) and all(
        math.isclose(a, b, rel_tol=1e-9) for a, b in zip(path, other, strict=True)
    )


def memory():
    """Bytes per parameter after each call, without the step counters."""
    model = torch.nn.Linear(64, 64)
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters)

    def held():
        tensors = [*parameters, *(p.grad for p in parameters if p.grad is not None)]
        tensors += [t for s in optimizer.state.values() for k, t in s.items() if k != "step"]
        return sum(t.nbytes for t in tensors) / sum(p.numel() for p in parameters)

    found = [held()]
    model(torch.ones(1, 64)).sum().backward()
    found.append(held())
    optimizer.step()
    found.append(held())
    optimizer.zero_grad()
    return [*found, held()]
