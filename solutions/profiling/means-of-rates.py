"""Plays the seconds of each window and shard, and adds up; means of ratios by their logarithms."""

import math


def solve(given):
    delivered = sum(given[f"w{i}"] for i in range(1, 5) for _second in range(60))
    images = seconds = 0.0
    for shard in range(1, 4):
        left = given[f"n{shard}"]
        images += left
        while left > 0:
            second = min(1.0, left / given[f"v{shard}"])
            left -= second * given[f"v{shard}"]
            seconds += second
    old = [given[f"t{i}"] for i in range(1, 5)]
    new = [given[f"t{i}"] / given[f"s{i}"] for i in range(1, 5)]
    table = []
    for above, below in [(old, new), (new, old)]:
        ratios = [a / b for a, b in zip(above, below, strict=True)]
        logarithms = [math.log(a) - math.log(b) for a, b in zip(above, below, strict=True)]
        table.append([sum(ratios) / 4, math.exp(sum(logarithms) / 4)])
    # The GPU that each mean calls the faster one, from the first row and from the second.
    arithmetic = [table[0][0] > 1, table[1][0] < 1]
    geometric = [table[0][1] > 1, table[1][1] < 1]
    if arithmetic[0] == arithmetic[1]:
        verdict = "candidate" if all(arithmetic + geometric) else "current"
    else:
        verdict = "split-candidate" if all(geometric) else "split-current"
    totals = [
        sum(time for i, time in enumerate(times) for _run in range(given[f"c{i + 1}"]))
        for times in (old, new)
    ]
    return {
        "loader": delivered / 240,
        "epoch": images / seconds,
        "suite": table,
        "verdict": verdict,
        "job": totals[0] / totals[1],
    }
