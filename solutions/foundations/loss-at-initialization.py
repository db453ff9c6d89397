"""Evaluates PyTorch's cross-entropy, integrates over the logits, and runs a backward pass."""

import math

import torch
from torch.nn.functional import cross_entropy


def solve(given):
    size = given["vocabulary"]
    logits = torch.zeros(1, size, dtype=torch.float64)
    target = torch.tensor([7])
    uniform = float(cross_entropy(logits, target))
    probabilities = torch.zeros(1, size, dtype=torch.float64)
    probabilities[0, 7] = 1
    printed = round(uniform + given["deviation"] ** 2 / 2, 2)
    tokens, parts, later = given["tokens"], given["micro_batches"], given["later"]
    causes = {
        "sum": (uniform * tokens, None),
        "divided": (uniform / parts, later / parts),
        "checkpoint": (later + 0.1, later),
        "shift": (uniform, 0.01),
        "frozen": (uniform, uniform),
    }
    return {
        "first_loss": uniform,
        "perplexity": math.exp(uniform) / math.exp(later),
        "spread": deviation(printed - uniform),
        "logs": {item: cause(causes[name], given) for item, name in NAMES.items()},
        "double_softmax": float(cross_entropy(probabilities, target)),
        "gradient": [[ratio(slope, given["weight"], given["depth"])] for slope in (0.25, 1)],
        "remedies": remedies(given["weight"], given["depth"]),
    }


NAMES = {
    "summed": "sum",
    "scaled": "divided",
    "trained": "checkpoint",
    "leaked": "shift",
    "constant": "frozen",
}


def cause(log, given):
    """What makes the loss of an untrained model, ln V, look like this."""
    first, last = log
    uniform = math.log(given["vocabulary"])
    if first > 100 * uniform:
        return "sum"
    if abs(first - uniform) < 0.01:
        return "frozen" if last == first else "shift"
    return "divided" if last < first / 2 and first < uniform / 2 else "checkpoint"


def deviation(excess):
    """The σ for which ln E[exp(z)] is this, with the mean as an integral over the density."""

    width = 24 / 4000
    points = -12 + width * (torch.arange(4000, dtype=torch.float64) + 0.5)

    def log_mean(sigma):
        total = torch.exp(sigma * points - points * points / 2).sum()
        return math.log(float(total) * width / math.sqrt(2 * math.pi))

    low, high = 0.0, 6.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if log_mean(middle) < excess else (low, middle)
    return high


def ratio(slope, scale, depth, residual=False, size=16):
    """log10 of the gradient's norm at the input over that at the output, by a backward pass."""
    generator = torch.Generator().manual_seed(depth)
    x = torch.zeros(size, dtype=torch.float64, requires_grad=True)
    values = x
    for _ in range(depth):
        draws = torch.randn(size, size, dtype=torch.float64, generator=generator)
        matrix = scale * torch.linalg.qr(draws).Q
        product = matrix @ values
        changed = torch.sigmoid(product) - 0.5 if slope == 0.25 else torch.tanh(product)
        values = values + changed if residual else changed
    seed = torch.randn(size, dtype=torch.float64, generator=generator)
    (gradient,) = torch.autograd.grad(values, x, seed)
    return float(torch.log10(gradient.norm() / seed.norm()))


def remedies(scale, depth):
    now = ratio(0.25, scale, depth)
    changed = {
        "residual": ratio(0.25, scale, depth, residual=True),
        "tanh": ratio(1, scale, depth),
        "shallower": ratio(0.25, scale, depth // 2),
    }
    return [name for name, found in changed.items() if found > now + 0.1]
