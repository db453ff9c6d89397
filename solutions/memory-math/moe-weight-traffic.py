"""Follows the number of distinct experts token by token, as a distribution, and sums matrices."""

from functools import cache
from math import comb


def solve(given):
    experts, chosen = given["experts"], given["chosen"]
    matrices = [(given["hidden"], given["ffn"])] * 2 + [(given["ffn"], given["hidden"])]
    expert = sum(rows * columns for rows, columns in matrices)
    shared = given["shared"] * 1e9
    bandwidth = peak = 0.0
    for _ in range(given["gpus"]):
        bandwidth += given.fact(given["chip"], "memory_bandwidth", "B/s")
        peak += given.fact(given["chip"], "bf16_dense", "FLOP/s")

    def weights(per_layer):
        return shared + sum(per_layer * expert for _ in range(given["layers"]))

    def step(sequences):
        return weights(distinct(experts, chosen, sequences)) * given["width"] / bandwidth

    fewest = 1
    while distinct(experts, chosen, fewest) < given["goal"] / 100 * experts:
        fewest += 1

    def arithmetic(sequences):  # of one expert
        return 2 * expert * sequences * chosen / experts / peak

    reading, low, high = expert * given["width"] / bandwidth, 0.0, 1.0
    while arithmetic(high) < reading:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if arithmetic(middle) < reading else (low, middle)

    reduced = {
        "training-flops": 6 * weights(chosen) / (6 * weights(experts)),
        "one-sequence": step(1) / (weights(experts) * given["width"] / bandwidth),
        "some-sequences": weights(distinct(experts, chosen, given["some"])) / weights(experts),
        "memory": 1.0,
        "optimizer": 1.0,
        "gradients": 1.0,
    }
    return {
        "stored": weights(experts) * given["width"] / 1e9,
        "active": weights(chosen) / 1e9,
        "batches": [
            [distinct(experts, chosen, given[n]), 1e3 * step(given[n])]
            for n in ("first", "second", "third")
        ],
        "nearly_all": fewest,
        "compute_bound": high,
        "compared": [name for name, share in reduced.items() if share < 0.5],
    }


def distinct(experts, chosen, tokens):
    """The expected number of experts read, from the probability of each number."""
    return sum(read * likely for read, likely in numbers(experts, chosen, tokens).items())


@cache
def numbers(experts, chosen, tokens):
    """The probability of each number of experts that the tokens read, one token after the other."""
    if tokens == 0:
        return {0: 1.0}
    after, all_ways = {}, comb(experts, chosen)
    for read, likely in numbers(experts, chosen, tokens - 1).items():
        for new in range(chosen + 1):
            ways = comb(experts - read, new) * comb(read, chosen - new)
            if ways:
                after[read + new] = after.get(read + new, 0) + likely * ways / all_ways
    return after
