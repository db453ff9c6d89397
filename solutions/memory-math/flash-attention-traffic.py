"""Reads and writes tile by tile, and counts the products of a real backward pass."""

import torch
from torch.utils.flop_counter import FlopCounterMode


def solve(given):
    length, width, step = given["length"], given["width"], given["rows"]
    pairs = given["heads"] * given["batch"]
    peak = given.fact(given["gpu"], "bf16_dense", "FLOP/s")
    bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/s")
    sms = round(given.fact(given["gpu"], "sms"))
    small, large = 2 * length * width, 2 * length * length
    kernels = [
        ({"queries": small, "keys": small}, {"scores": large}),
        ({"scores": large}, {"probabilities": large}),
        ({"probabilities": large, "values": small}, {"output": small}),
    ]
    standard = sum(sum(reads.values()) + sum(writes.values()) for reads, writes in kernels)
    flash, computed = tiled(length, width, step, given["causal"] == "yes")
    low, high = 1.0, float(length) * 1000
    for _ in range(200):
        middle = (low + high) / 2
        traffic = 2 * (2 * length * width + 2 * length * width * length / middle)
        if traffic / bandwidth > 4 * length**2 * width / peak:
            low = middle
        else:
            high = middle
    launches = [pairs, pairs * len(range(0, length, step))]
    batch = 1
    while len(set(range(batch * given["heads"]))) < sms:
        batch += 1
    share = computed / length**2
    return {
        "standard_traffic": standard * pairs / 1e9,
        "flash_traffic": flash * pairs / 1e9,
        "rows_needed": high,
        "thread_blocks": [
            [count, 100 * len({block % sms for block in range(count)}) / sms] for count in launches
        ],
        "batch_needed": batch,
        "backward": backward(length, width) * share * pairs / 1e12,
    }


def tiled(length, width, step, causal):
    """Bytes of one head, and the number of scores that its tiles compute."""
    moved = computed = 0
    for first in range(0, length, step):
        moved += 2 * step * width  # queries
        for key in range(0, length, step):
            if causal and key > first + step - 1:
                continue
            moved += 2 * (2 * step * width)  # keys and values
            computed += step * step
        moved += 2 * step * width  # output
    return moved, computed


def backward(length, width):
    """The FLOPs of one head without a mask: those of autograd, and the scores once more."""
    q, k, v = (torch.empty(length, width, device="meta", requires_grad=True) for _ in "qkv")
    output = (q @ k.T).softmax(-1) @ v
    with FlopCounterMode(display=False) as counter:
        output.sum().backward()
        q.detach() @ k.detach().T
    return counter.get_total_flops()
