"""Takes first steps with autograd, on an input whose projections repeat a pattern at every rank."""

import math

import torch

PATTERN = torch.tensor([0.5, -1.25, 0.75, -1.0], dtype=torch.float64)
OPTIMIZERS = ("SGD", "clipped SGD", "Adam")


def change(optimizer, scale, rank, deviation=1.0, rate=1.0):
    """Return the norm of the change of the output after one step from B = 0."""
    x = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    a = torch.zeros(rank, 3, dtype=torch.float64)
    a[:, 0] = deviation * PATTERN.repeat(rank // len(PATTERN))
    b = torch.zeros(5, rank, dtype=torch.float64, requires_grad=True)
    before = torch.linspace(-1, 2, 5, dtype=torch.float64)
    target = torch.tensor([0.3, -0.4, 1.0, 0.2, -2.0], dtype=torch.float64)

    def output():
        return before + scale * (b @ (a @ x))

    (output() - target).square().sum().backward()
    if optimizer == "SGD":
        step = b.grad
    elif optimizer == "clipped SGD":
        step = b.grad / b.grad.norm()
    else:
        step = b.grad.sign()
    with torch.no_grad():
        b -= rate * step
        return (output() - before).norm().item()


def power(optimizer, divisor):
    """Return the exponent of the rank if the variance of A is proportional to 1/r."""
    found = [change(optimizer, 1 / divisor(rank), rank, rank**-0.5) for rank in (16, 64)]
    return round(math.log2(found[1] / found[0])) / 2


def bisect(function, target):
    low, high = 0.0, 1e4
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < target else (low, middle)
    return high


def solve(given):
    first, second = given["rank"], given["rank"] * given["times"]
    alpha = given["alpha"] * given["alpha_times"]
    shares = [given[f"{name}_percent"] for name in ("sgd", "clipped", "adam")]
    measured = dict(zip(OPTIMIZERS, shares, strict=True))
    before = {name: change(name, given["alpha"] / first, first) for name in OPTIMIZERS}
    table = [
        [
            measured[name] * change(name, scale, second) / before[name]
            for scale in (alpha / second, alpha / second**0.5)
        ]
        for name in OPTIMIZERS
    ]
    rate = bisect(lambda rate: change("SGD", alpha / second, second, rate=rate), before["SGD"])
    alpha_for_adam = bisect(lambda a: change("Adam", a / second**0.5, second), before["Adam"])
    names = {-2: "square", -1: "inverse", -0.5: "inverse-root", 0: "constant", 0.5: "root"}
    divisors = {"plain": lambda r: r, "root": lambda r: r**0.5}
    short = {"sgd": "SGD", "clipped": "clipped SGD", "adam": "Adam"}
    items = ("sgd-plain", "sgd-root", "clipped-root", "adam-plain", "adam-root")
    matched = {}
    for item in items:
        optimizer, scale = item.split("-")
        matched[item] = names[power(short[optimizer], divisors[scale])]
    return {
        "second_run": table,
        "rate_factor": rate,
        "alpha_for_adam": alpha_for_adam,
        "other_initialization": matched,
    }
