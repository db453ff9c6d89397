"""Builds a layer and what each method trains without memory, and counts elements."""

import torch
from torch import nn


def solve(given):
    width, depth = given["hidden"], given["layers"]
    with torch.device("meta"):
        layer = nn.ModuleList(
            [nn.Linear(width, width) for _ in range(4)]
            + [nn.Linear(width, 4 * width), nn.Linear(4 * width, width)]
            + [nn.LayerNorm(width) for _ in range(2)]
        )
        adapter = nn.ModuleList(
            [nn.Linear(width, given["bottleneck"]), nn.Linear(given["bottleneck"], width)]
        )
        factors = [nn.Linear(width, given["rank"], bias=False) for _ in range(2)]
        head = elements(nn.Linear(width, given["classes"]))
        tokens = nn.Embedding(given["virtual"], width)
    biases = sum(p.numel() for name, p in layer.named_parameters() if name.endswith("bias"))
    adapters = sum(elements(adapter) for _ in range(depth) for _ in ("attention", "mlp"))
    counts = [
        biases * depth,
        adapters,
        elements(tokens),
        sum(elements(tokens) for _ in range(depth) for _ in ("key", "value")),
        sum(elements(f) for _ in range(depth) for _ in ("query", "value") for f in factors),
    ]
    backbone, tasks = given["millions"] * 10**6, given["tasks"]
    frozen, trained = backbone * 4, sum((adapters + head) * each for each in (4, 4, 4, 4))
    full = sum(backbone + head for _ in range(tasks))
    shared = backbone + sum(adapters + head for _ in range(tasks))
    plain = matrices(layer) * given["tokens"]
    longer = matrices(layer) * (given["tokens"] + given["virtual"])
    return {
        "counts": [[each / 1e3] for each in counts],
        "state": (frozen + trained) / 1e9,
        "storage": full / shared,
        "adapter_flops": 100 * 2 * matrices(adapter) / matrices(layer),
        "prompt_flops": 100 * (longer / plain - 1),
        "step": [[100 * step(depth, k) / (3 * depth)] for k in (depth, depth // given["part"], 0)],
        "families": {
            "bitfit": "selective",
            "adapter": "additive",
            "prefix": "additive",
            "lora": "reparametrization",
            "last": "selective",
        },
        "qlora": ["dequantize", "low-rank", "merge"],
    }


def elements(module):
    return sum(p.numel() for p in module.parameters())


def matrices(module):
    """The elements of the matrices alone."""
    return sum(p.numel() for p in module.parameters() if p.dim() == 2)


def step(depth, adapted):
    """Counts what autograd computes, per layer, if the last layers have a trained tensor."""
    trained = [index >= depth - adapted for index in range(depth)]
    work, needs_gradient = 0, False
    for index in range(depth):
        work += 1  # forward
        needs_gradient = needs_gradient or trained[index]
        work += needs_gradient  # the gradient passes through this layer
    return work
