"""Runs the optimizers of PyTorch in double precision."""

import functools

import torch
from torch.optim import SGD, Adadelta, Adagrad, Adam


def solve(given):
    alpha, times = given["alpha"], (given["early"], given["late"])
    adagrad = {"lr": alpha, "eps": 0}
    adam = {"lr": alpha, "eps": 0, "betas": (0.9, given["beta"])}
    steady = [constant(Adagrad), constant(Adam, betas=adam["betas"])]
    gradients = [given[f"g{k}"] for k in (1, 2, 3, 4)]
    limit = {"lr": alpha, "eps": 0, "betas": (0.0, 1 - 1e-9)}
    first = updates(Adadelta, [1e6], lr=1, rho=given["rho"], eps=1e-6)[0]
    return {
        "constant": [[alpha * each[t - 1] for each in steady] for t in times],
        "rare": rare_ratio(given["period"]),
        "memory": forgetting(given["beta"], given["drop"]),
        "adagrad_fourth": updates(Adagrad, gradients, **adagrad)[-1],
        "adam_limit": updates(Adam, gradients, **limit)[-1],
        "turns": ["beta-one", "beta-two", "anneal"],
        "gamma": updates(Adam, [1e6], **adam)[0] / first,
        "scaled": [name for name, kind, how in OPTIMIZERS if unchanged(kind, how, gradients)],
    }


OPTIMIZERS = [
    ("adagrad", Adagrad, {"lr": 0.01}),
    ("adam", Adam, {"lr": 0.01}),
    ("adadelta", Adadelta, {"lr": 1}),
    ("sgd", SGD, {"lr": 0.01}),
    ("momentum", SGD, {"lr": 0.01, "momentum": 0.9}),
]


@functools.cache
def constant(kind, **options):
    """The updates under a constant gradient, for a learning rate of 1."""
    return updates(kind, [0.7] * 2500, lr=1, eps=0, **options)


@functools.cache
def rare_ratio(period):
    """The last update of a gradient that comes once a period, over one that always comes."""
    steps = range(4 * period)
    rare = updates(Adagrad, [1.0 * (step % period == 0) for step in steps], lr=1, eps=0)
    often = updates(Adagrad, [1.0 for _ in steps], lr=1, eps=0)
    return [value for value in rare if value][-1] / often[-1]


def updates(kind, gradients, **options):
    """What the optimizer subtracts in each step."""
    weight = torch.zeros(1, dtype=torch.float64)
    optimizer = kind([weight], **options)
    found = []
    for gradient in gradients:
        weight.zero_()
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        optimizer.step()
        found.append(-weight.item())
    return found


def unchanged(kind, how, gradients):
    """Whether gradients that are 100 times as large lead to nearly the same updates."""
    plain, large = (updates(kind, [c * g for g in gradients], **how) for c in (1, 100))
    return all(abs(a / b - 1) < 0.01 for a, b in zip(plain, large, strict=True))


def forgetting(beta, drop):
    """The time at which the root of the average of squares is twice the new gradient."""
    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        old = beta**middle  # the weight of all squares before the drop
        still = drop**2 * old + (1 - old) > 4
        low, high = (middle, high) if still else (low, middle)
    return high
