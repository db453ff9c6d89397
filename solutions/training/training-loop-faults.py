"""Runs the loops with torch on one weight, and counts memory and steps on a small model."""

import functools
import math

import torch

ORDER = ["clear", "backward", "unscale", "clip", "step", "update", "schedule"]


def solve(given):
    m, updates = given["m"], given["updates"]

    def train(variant):
        """The path of a weight that SGD changes, and of another that Adam changes."""
        weights = [torch.nn.Parameter(torch.zeros((), dtype=torch.float64)) for _ in range(2)]
        sgd = torch.optim.SGD(weights[:1], lr=given["rate"])
        adam = torch.optim.Adam(weights[1:], lr=given["rate"], eps=0.0)
        paths = [], []
        for i in range(updates * m):
            if variant == "cleared":
                sgd.zero_grad()
                adam.zero_grad()
            loss = given["gradient"] * (weights[0] + weights[1])
            if variant != "undivided":
                loss = loss / m
            loss.backward()
            if (i + 1) % m == 0 or variant == "stepped":
                sgd.step()
                adam.step()
                for path, weight in zip(paths, weights, strict=True):
                    path.append(weight.item())
            if (i + 1) % m == 0 and variant not in ("uncleared", "cleared"):
                sgd.zero_grad()
                adam.zero_grad()
        return paths

    variants = ["undivided", "uncleared", "cleared", "stepped"]
    _, correct = train("correct")
    moved, adam = zip(*map(train, variants), strict=True)
    steps = 0
    for _ in range(given["epochs"]):
        for i, _start in enumerate(range(0, given["samples"], given["micro"])):
            steps += (i + 1) % m == 0
    return {
        "order": ORDER,
        "moved": [[abs(path[-1])] for path in moved],
        "adam": {v for v, path in zip(variants, adam, strict=True) if same(path, correct)},
        "memory": [[per_parameter * given["billions"]] for per_parameter in memory()],
        "steps": steps,
        "between": {"rate", "replaced"},
    }


def same(path, other):
    return len(path) == len(other) and all(
        math.isclose(a, b, rel_tol=1e-9) for a, b in zip(path, other, strict=True)
    )


@functools.cache
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
