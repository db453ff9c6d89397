"""Follows the number of accepted tokens as a Markov chain, and tries k and batch sizes in turn."""

import itertools


def solve(given):
    gpu, fixed = given["gpu"], given["fixed"] / 1e3
    peak = given.fact(gpu, "bf16_dense", "FLOP/s")
    bandwidth = given.fact(gpu, "memory_bandwidth", "B/s")
    drafted = given["drafted"]

    def one_pass(billions, tokens, caches=0.0):
        parameters = billions * 1e9
        reading = (parameters * 16 / 8 + caches) / bandwidth
        return max(reading, sum([2 * parameters] * tokens) / peak) + fixed

    def per_second(batch, draft, k):
        caches = sum([given["cache"] * 1e6] * batch)
        time = one_pass(given["billions"], batch * (k + 1), caches)
        for _ in range(k):
            time += one_pass(given[draft], batch)
        return batch * mean_tokens(given[f"{draft}_rate"], k) / time

    counts = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
    draft, k = max(
        itertools.product(("small", "large"), counts),
        key=lambda plan: per_second(given["batch"], *plan),
    )
    batch = 1
    while per_second(batch, "small", drafted) >= per_second(batch, "small", 0):
        batch += 1
    return {
        "tokens": mean_tokens(given["small_rate"], drafted),
        "speedup": per_second(1, "small", drafted) / per_second(1, "small", 0),
        "best": {"draft": draft, "k": k, "gain": per_second(given["batch"], draft, k)},
        "limit_batch": batch,
    }


def mean_tokens(rate, k):
    """The mean over the outcomes of a round: so many accepted, and then the target's own token."""
    mean, alive = 0.0, 1.0
    for accepted in range(k):
        mean += (accepted + 1) * alive * (1 - rate)
        alive *= rate
    return mean + (k + 1) * alive
