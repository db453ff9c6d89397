"""Evaluates PyTorch's cross-entropy, trains small models, and runs a backward pass."""

import functools
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
    logs = {
        "summed": (uniform * tokens, None),
        "scaled": (uniform / parts, later / parts),
        "trained": (later + 0.1, later),
        "leaked": (uniform, 0.01),
        "constant": (uniform, uniform),
    }
    return {
        "first_loss": uniform,
        "perplexity": math.exp(uniform) / math.exp(later),
        "spread": deviation(printed - uniform),
        "logs": {item: cause(log, uniform) for item, log in logs.items()},
        "double_softmax": float(cross_entropy(probabilities, target)),
        "gradient": [[ratio(slope, given["weight"], given["depth"])] for slope in (0.25, 1)],
        "remedies": remedies(given["weight"], given["depth"]),
    }


def look(first, last, uniform):
    """How a log looks: its first loss beside that of a uniform guess, and its last one."""
    start = "above" if first > 4 * uniform else "at" if first > 0.95 * uniform else "below"
    if last is None or start == "above":
        return start, None
    if last > 1.5 * first:
        return start, "higher"
    end = "same" if last > 0.9 * first else "zero" if last < 0.05 * first else "lower"
    return start, end


def cause(log, uniform):
    """The run among those of a small model whose log looks like this one."""
    return next(name for name, kind in runs().items() if kind == look(*log, uniform))


@functools.cache
def runs():
    """Trains a model of the next token in each of the faulty ways, and looks at the losses."""
    size, count, parts = 32, 256, 4
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(size, (count,), generator=generator)
    noise = torch.randint(size, (count,), generator=generator)
    keep = torch.rand(count, generator=generator) < 0.7
    following = torch.where(keep, (3 * tokens + 1) % size, noise)  # can't be predicted exactly

    def train(weight, targets=following, reduction="mean", divisor=1, other=False, rate=0.1):
        trained = torch.zeros_like(weight, requires_grad=True) if other else weight
        optimizer = (torch.optim.SGD if rate > 1 else torch.optim.Adam)([trained], lr=rate)
        losses = []
        for _ in range(200):
            loss = cross_entropy(weight[tokens], targets, reduction=reduction) / divisor
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        return look(losses[0], losses[-1], math.log(size))

    def new():
        return torch.zeros(size, size, requires_grad=True)

    checkpoint = new()
    train(checkpoint)
    found = {
        "sum": train(new(), reduction="sum"),
        "divided": train(new(), divisor=parts),
        "checkpoint": train(checkpoint),
        "shift": train(new(), targets=tokens),
        "frozen": train(new(), other=True),
        "rate": train(new(), rate=10_000.0),
    }
    assert len(set(found.values())) == len(found)
    return found


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


def ratio(slope, scale, depth, residual=False, size=16, dtype=torch.float64, factor=1.0):
    """log10 of the gradient's norm at the input over that at the output, by a backward pass.

    *factor* multiplies the gradient of the output, as a scale of the loss does.
    """
    generator = torch.Generator().manual_seed(depth)
    x = torch.zeros(size, dtype=dtype, requires_grad=True)
    values = x
    for _ in range(depth):
        draws = torch.randn(size, size, dtype=torch.float64, generator=generator)
        matrix = (scale * torch.linalg.qr(draws).Q).to(dtype)
        product = matrix @ values
        changed = torch.sigmoid(product) - 0.5 if slope == 0.25 else torch.tanh(product)
        values = values + changed if residual else changed
    seed = factor * torch.randn(size, dtype=torch.float64, generator=generator).to(dtype)
    (gradient,) = torch.autograd.grad(values, x, seed)
    return float(torch.log10(gradient.double().norm() / seed.double().norm()))


@functools.cache
def remedies(scale, depth):
    now = ratio(0.25, scale, depth)
    changed = {
        "residual": ratio(0.25, scale, depth, residual=True) - now,
        "tanh": ratio(1, scale, depth) - now,
        "shallower": ratio(0.25, scale, depth // 2) - now,
        "loss-scale": ratio(0.25, scale, depth, factor=1024.0) - now,
        # Clipping multiplies all gradients by one factor; the rate comes after the gradients.
        "clipping": ratio(0.25, scale, depth, factor=0.01) - now,
        "bf16": ratio(0.25, scale, depth, dtype=torch.float32)
        - ratio(0.25, scale, depth, dtype=torch.bfloat16),
    }
    return [name for name, more in changed.items() if more > 0.1]
