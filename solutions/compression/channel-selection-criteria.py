"""Takes the steps one by one, sorts scales, and counts zeros after a batch norm of torch."""

from fractions import Fraction
from functools import cache
from statistics import NormalDist

import torch

LAYERS = {"a": "conv1", "b": "conv2"}


def soft_threshold(value, step):
    """Return the number nearest to 0 that a move of at most *step* reaches."""
    if abs(value) <= step:
        return value - value
    return value - step if value > 0 else value + step


def l2_steps(start, rate, strength, steps):
    gamma = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    for _ in range(steps):
        (slope,) = torch.autograd.grad(strength / 2 * gamma.square(), gamma)
        gamma.data -= rate * slope
    return gamma.item()


def slimmed(scales, removed):
    return set(sorted(scales, key=lambda name: abs(scales[name]))[:removed])


@cache
def quantiles(count):
    return torch.tensor([NormalDist().inv_cdf((i + 0.5) / count) for i in range(count)])


def zeros(gamma, beta, count=50_000):
    """Return the percentage of zeros after batch norm and ReLU of normal quantiles."""
    x = quantiles(count)
    norm = torch.nn.BatchNorm1d(1, eps=1e-12)
    with torch.no_grad():
        norm.weight.fill_(gamma)
        norm.bias.fill_(beta)
        return 100 * (norm(3 * x[:, None] + 1).relu() == 0).double().mean().item()


def solve(given):
    step = Fraction(str(given["rate"])) * Fraction(str(given["strength"]))
    start = Fraction(str(given["start"]))

    path = [start]
    while len(path) <= given["many"]:
        path.append(soft_threshold(path[-1], step))
    by_sign = [start]
    while len(by_sign) < 1000:
        sign = (by_sign[-1] > 0) - (by_sign[-1] < 0)
        by_sign.append(by_sign[-1] - sign * step)
    first = path.index(0)

    scales = {f"{layer}{i}": given[f"{layer}{i}"] for layer in "ab" for i in range(1, 5)}
    apoz = []
    for i in range(1, 5):
        gamma = given[f"b{i}"]
        apoz.append(round(zeros(gamma, given[f"ratio{i}"] * abs(gamma)), 1))

    convolution = torch.nn.Conv2d(2, 1, 3)
    with torch.no_grad():
        convolution.weight[:, 1] = given["weights"] / 9
    image = torch.full((1, 2, 5, 5), given["constant"])
    without = image * torch.tensor([1.0, 0.0]).view(2, 1, 1)
    difference = convolution(image) - convolution(without)

    decay = [
        [float(path[n]), l2_steps(given["start"], given["rate"], given["strength"], n)]
        for n in (given["few"], given["many"])
    ]
    return {
        "decay": decay,
        "exact_zero": first,
        "oscillation": float(max(map(abs, by_sign[first:]))),
        "slimming": slimmed(scales, given["removed"]),
        "zeros": [[each] for each in apoz],
        "first_by_apoz": f"channel{1 + apoz.index(max(apoz))}",
        "bias": difference.mean().item(),
    }
