"""Runs the loops with torch on one weight, and counts memory and steps on a small model."""

import functools
import math
import warnings

import torch

ORDER = ["clear", "backward", "unscale", "clip", "step", "update", "schedule"]

LINES = {
    "rate": [
        "torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5).step()",
        "optimizer.param_groups[0]['lr'] *= 0.5",
        "for group in optimizer.param_groups: group['lr'] *= 2",
    ],
    "replaced": [
        "model.head = torch.nn.Linear(8, 3)",
        "model.head.weight = torch.nn.Parameter(model.head.weight.clone())",
        "model.head.requires_grad_(False); model.head.zero_grad()",
    ],
    "loss-gone": ["del loss", "loss = 0 * loss", "loss = loss.detach()"],
    "evaluation": [
        "model.eval()",
        "model.requires_grad_(True)",
        "with torch.no_grad(): model(batch).sum()",
    ],
}


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
        "adam": {
            variant
            for variant, path in zip(variants, adam, strict=True)
            if same(path, correct) == (given["adam_asks"] == 1)
        },
        "memory": [[per_parameter * given["billions"]] for per_parameter in memory()],
        "steps": steps,
        "between": {
            name
            for name, codes in LINES.items()
            if changes_step(
                codes[given["first" if name in ("rate", "evaluation") else "second"] - 1]
            )
            == (given["between_asks"] == 1)
        },
    }


def same(path, other):
    return len(path) == len(other) and all(
        math.isclose(a, b, rel_tol=1e-9) for a, b in zip(path, other, strict=True)
    )


@functools.cache
def changes_step(line):
    """Whether a step of Adam moves the parameters of a small model differently after *line*."""
    return moves(line) != moves("pass")


def moves(line):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the schedule is stepped before the optimizer
        torch.manual_seed(0)
        model = torch.nn.Sequential()
        model.body, model.head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)
        optimizer = torch.optim.Adam(model.parameters())
        batch = torch.ones(2, 4)
        loss = model(batch).square().sum()
        loss.backward()
        exec(
            line,
            {"torch": torch, "model": model, "optimizer": optimizer, "batch": batch, "loss": loss},
        )
        before = [p.detach().clone() for p in model.parameters()]
        optimizer.step()
        return [
            (p.detach() - old).tolist() for p, old in zip(model.parameters(), before, strict=True)
        ]


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
