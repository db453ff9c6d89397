"""Tests superposition with PyTorch's layers, and builds the matrices and counts their entries."""

import itertools
import math

import torch
from torch import nn


def solve(given):
    widths = [given[f"w{i}"] for i in range(5)]
    f = fitted(given["at_zero"], given["at_x"], given["at_y"])
    nonzero, distinct = as_matrix(given["side"], given["kernel"])
    layer = nn.Conv2d(given["channels"], given["outputs"], given["kernel"], bias=False)
    assert distinct == layer.weight[0, 0].numel()
    return {
        "linear": linear(given),
        "null_space": widths[0] - rank(widths),
        "fewest_weights": fewest(widths) / 1e6,
        "nonzero": 100 * nonzero,
        "distinct": layer.weight.numel(),
        "affine": f(given["alpha"], given["beta"]),
        "claim": holds(given["claim_text"]),
    }


def linear(given):
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(2).train(given["normalization"] == "training")
    if given["shift"] != "equal to 0":
        nn.init.normal_(norm.bias)
        norm.running_mean.normal_()
    convolution = nn.Conv2d(2, 3, 3, bias=given["bias"] != "without")
    query, key = torch.randn(2, 4, 2, 8, 8)
    added = torch.randn(8)
    layers = {
        "convolution": convolution,
        "pool": nn.AvgPool2d(2) if given["pooling"] == "average" else nn.MaxPool2d(2),
        "norm": norm,
        "attention": lambda v: nn.functional.scaled_dot_product_attention(query, key, v),
        "dropout": nn.Dropout(0.5).eval(),
        "rms": nn.RMSNorm(8),
        "positions": lambda x: x + added,
    }
    x, y = torch.randn(2, 4, 2, 8, 8)
    with torch.no_grad():
        return [
            name
            for name, f in layers.items()
            if torch.allclose(f(2 * x - 3 * y), 2 * f(x) - 3 * f(y), atol=1e-4)
        ]


def rank(widths):
    """The rank of a product of random matrices whose sides are smaller by a common divisor."""
    unit = math.gcd(*widths)
    sides = [each // unit for each in widths]
    generator = torch.Generator().manual_seed(0)
    product = torch.eye(sides[0], dtype=torch.float64)
    for before, after in itertools.pairwise(sides):
        draws = torch.randn(after, before, dtype=torch.float64, generator=generator)
        product = draws @ product / before**0.5
    return unit * int(torch.linalg.matrix_rank(product))


def fewest(widths):
    """The shortest path from the first width to the last, over any of those between."""
    best = [0] + [math.inf] * (len(widths) - 1)
    for end in range(1, len(widths)):
        best[end] = min(best[start] + widths[start] * widths[end] for start in range(end))
    return best[-1]


def as_matrix(side, kernel):
    """The matrix of a convolution with one channel: its density, and its distinct weights."""
    weights = torch.arange(1.0, kernel**2 + 1).view(1, 1, kernel, kernel)
    images = torch.eye(side**2).view(side**2, 1, side, side)
    matrix = nn.functional.conv2d(images, weights)
    nonzero = matrix[matrix != 0]
    return nonzero.numel() / matrix.numel(), nonzero.unique().numel()


def fitted(at_zero, at_x, at_y):
    """The affine function on the plane with these values at 0, at x = (1, 0), and at y = (0, 1)."""
    rows = torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, 0, 1]], dtype=torch.float64)
    found = torch.linalg.solve(rows, torch.tensor([at_zero, at_x, at_y], dtype=torch.float64))
    return lambda a, b: float(torch.tensor([1.0, a, b], dtype=torch.float64) @ found)


def holds(claim):
    """By the data-processing inequality, and by the merging of linear layers."""
    if "information" in claim or "deeper network" in claim:
        return False
    if "separable" in claim:  # XOR is separable after |a - b|
        points = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
        return all((abs(a - b) > 0.5) == bool(label) for a, b, label in points)
    return "ReLU" in claim
