"""Lays out the record of one parameter byte by byte, shards the records, and runs a backward pass."""

import struct

# Unpadded: bf16 weight, gradient, fp32 master weight, and two moments.
WIDTHS = {1: "b", 2: "e", 4: "f"}
FP32 = struct.Struct("=ffff")


def backward_peak(shard, layers, weights, gradients):
    """The highest level while blocks are prefetched, used, reduced, and freed one after the other."""
    level = peak = shard + weights  # the last block has been gathered
    for block in reversed(range(layers)):
        if block > 0:
            level += weights  # prefetch
        level += gradients
        peak = max(peak, level)
        level -= gradients + weights
    return peak


def solve(given):
    moment = WIDTHS[given["moment_bytes"]]
    record = struct.Struct("=e" + WIDTHS[given["gradient_bytes"]] + "f" + 2 * moment)
    records, gpus = round(given["billions"] * 1e9), given["gpus"]
    shares = [records // gpus + (rank < records % gpus) for rank in range(gpus)]
    shard = max(shares) * record.size

    block = records / given["layers"]
    peak = backward_peak(shard, given["layers"], 2 * block, given["gradient_bytes"] * block)
    free = given.fact(given["gpu"], "memory", "GB") - given["other"] - peak / 1e9
    change = FP32.size - record.size
    return {
        "per_gpu": shard / 1e9,
        "peak": peak / 1e9,
        "fits": "yes" if free >= 0 else "no",
        "fp32": "grows" if change > 0 else "shrinks" if change < 0 else "same",
    }
