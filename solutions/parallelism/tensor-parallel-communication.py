"""Walk through the layers operation by operation, and let every all-reduce send its chunks.

The road differs from the formulas: which split needs which collective is tried out on a small MLP
in numpy, collectives and FLOPs are counted along a recorded forward and its backward, and what the
ratio depends on is found by changing one number at a time.
"""

import numpy as np

WIDTH = 4  # of the MLP, in units of the hidden width


def splits():
    """Return the role of both MLP matrices that keeps the forward exact with one sum at its end."""
    rng = np.random.default_rng(7)
    x, a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 6)), rng.normal(size=(6, 4))
    whole = np.tanh(x @ a) @ b
    halves = slice(0, 3), slice(3, 6)
    columns_first = sum(np.tanh(x @ a[:, i]) @ b[i] for i in halves)
    inputs = slice(0, 2), slice(2, 4)
    rows_first = sum(np.tanh(x[:, i] @ a[i]) @ b for i in inputs)
    good = [
        pair
        for pair, result in {
            ("column", "row"): columns_first,
            ("row", "column"): rows_first,
        }.items()
        if np.allclose(result, whole)
    ]
    assert len(good) == 1
    return good[0]


def layer(hidden):
    """Return the matrices of one layer: name, inputs, outputs, and how it is split."""
    first, second = splits()
    return [
        ("qkv", hidden, 3 * hidden, first),
        ("attention_out", hidden, hidden, second),
        ("mlp_up", hidden, WIDTH * hidden, first),
        ("mlp_down", WIDTH * hidden, hidden, second),
    ]


def one_layer(hidden, tokens, tensor, forwards=1):
    """Return all-reduces, bytes sent, and FLOPs of one GPU for one layer, forward and backward."""
    collectives, sent, flops = 0, 0.0, 0
    tape = layer(hidden)
    for _, inputs, outputs, split in tape * forwards:
        flops += 2 * tokens * inputs * outputs // tensor
        if split == "row":  # partial sums of the output
            collectives += 1
            sent += ring_bytes(tokens * outputs * 2, tensor)
    for _, inputs, outputs, split in reversed(tape):
        flops += 2 * tokens * inputs * outputs // tensor  # gradient of the input
        flops += 2 * tokens * inputs * outputs // tensor  # gradient of the weight
        if split == "column":  # partial sums of the input's gradient
            collectives += 1
            sent += ring_bytes(tokens * inputs * 2, tensor)
    return collectives, sent, flops


def ring_bytes(size, ranks):
    """Return what one rank sends: a chunk in every step of both phases."""
    sent = 0.0
    for _phase in range(2):
        for _step in range(ranks - 1):
            sent += size / ranks
    return sent


def whole(hidden, layers, tokens, tensor, forwards=1):
    counted = [one_layer(hidden, tokens, tensor, forwards)] * layers
    return tuple(map(sum, zip(*counted, strict=True)))


def percent(hidden, layers, tokens, tensor, both_ways, achieved, forwards=1):
    _, sent, flops = whole(hidden, layers, tokens, tensor, forwards)
    return 100 * (sent / (both_ways * 1e9 / 2)) / (flops / (achieved * 1e12))


def solve(given):
    hidden, layers, tensor = given["hidden"], given["layers"], given["tensor"]
    tokens = given["micro_batch"] * given["sequence"]
    peak = given.fact(given["gpu"], "bf16_dense", "TFLOP/s")
    machine = given.fact(given["gpu"], "nvlink", "GB/s"), round(peak * given["reached"])
    count, sent, _ = whole(hidden, layers, tokens, tensor)
    now = percent(hidden, layers, tokens, tensor, *machine)
    changed = {
        "wider": percent(2 * hidden, layers, tokens, tensor, *machine),
        "more_tokens": percent(hidden, layers, 2 * tokens, tensor, *machine),
        "more_gpus": percent(hidden, layers, tokens, 2 * tensor, *machine),
        "deeper": percent(hidden, 2 * layers, tokens, tensor, *machine),
        "recomputed": percent(hidden, layers, tokens, tensor, *machine, forwards=2),
    }
    sign = 1 if given["lowered"] else -1
    lower = {name for name, value in changed.items() if sign * (value - now) < -0.01 * now}
    roles = {name: split for name, _, _, split in layer(hidden)}
    return {
        "split": {**roles, "norm": "whole"},
        "all_reduces": count,
        "sent": sent / 1e9,
        "ratio": now,
        "lower": lower,
    }
